#include "operators/compute/join/resident_join_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "expr/sides.hpp"
#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/vulkan/pass_context.hpp"

namespace garuda::compute {
namespace {

constexpr double kRowNumberBytes = 4;
constexpr double kFlagBytes = 4;
constexpr double kWordBytes = 4;
/// Costs of dictionary-encoding a key: words written and read in order, its slot, whether it is the first of its key,
/// the sum of these and its number among them; reads of its slot, twice, and of that sum.
constexpr double kNumberingWords = 8;
constexpr double kNumberingReads = 3;
/// Bytes that the cached and the other random accesses of a calibration fall on.
constexpr double kCachedBytes = 4.0 * rates::kCachedWords;
constexpr double kLargeBytes = 4.0 * (1 << 25);
/// Submissions that are waited for: of any join, and where the bounds of the keys are read first.
constexpr double kWaits = 1;
constexpr double kBoundsWaits = 2;
/// Unmatched rows are counted before they are written, which is one wait more.
constexpr double kUnmatchedWaits = 1;
/// Random reads: of a look-up an entry of the index, and a key where there is a match; of a row of the result the
/// number of its build row.
constexpr double kLookUpReads = 1;
constexpr double kMatchReads = 1;
constexpr double kRowReads = 1;
/// Random reads of a marked build row, whose key's first row is searched: the last steps of the search miss caches.
constexpr double kMarkReads = 3;
/// Cost of passes over partitions, in that of their bytes: joins of 2^24 and 2^26 rows a side on an H200, 1.2 to 1.5
/// with one to four columns of 4 and 8 bytes (2026-11-21).
constexpr double kPartitionShare = 1.3;
/// Passes that scatter keys and set bits piece by piece, beside the one that sets them directly, and the cost of one.
constexpr double kPiecePasses = 6;
constexpr double kPassNs = 5e3;

Side build_side(ResidentJoinShape const& shape, ResidentJoinStrategy const& way) {
  if (way.build) return *way.build;
  if (shape.left.rows == shape.right.rows && !shape.parts.pairs) return Side::right;
  return shape.left.rows <= shape.right.rows ? Side::left : Side::right;
}

/// Random accesses to a table of so many bytes, which caches hold or not; `cached_per_s` 0: not known.
double access_ns(double accesses, double table_bytes, double cached_per_s, double large_per_s) {
  auto rate = large_per_s;
  if (cached_per_s > 0) {
    auto const share = std::log(table_bytes / kCachedBytes) / std::log(kLargeBytes / kCachedBytes);
    rate = cached_per_s * std::pow(large_per_s / cached_per_s, std::clamp(share, 0.0, 1.0));
  }
  return accesses / rate * contract::kNs;
}

double read_table_ns(double reads, double table_bytes, rates::DeviceRates const& rates) {
  return access_ns(reads, table_bytes, rates.cached_reads_per_s, rates.random_reads_per_s);
}

/// A pass that scatters rows: a histogram reads the keys, the scatter reads and writes all.
double pass_bytes(double key_bytes, double payload_bytes) { return key_bytes + 2 * (key_bytes + payload_bytes); }

double passes_of(std::uint32_t bits, ComputeTuning const& tuning) {
  return static_cast<double>(bits_of_passes(bits, partition_bits(tuning)).size());
}

/// Cost of fetching a side's columns for the rows of the result, by row numbers in no order.
double gather_ns(ResidentSideShape const& side, double matches, rates::DeviceRates const& rates) {
  if (side.payload_columns == 0) return 0;
  auto const column_bytes = side.rows * side.payload_bytes / side.payload_columns;
  return read_table_ns(matches * side.payload_columns, column_bytes, rates) +
         contract::stream_ns(matches * (kRowNumberBytes + side.payload_bytes), rates);
}

double waits_of(ResidentJoinStrategy const& way) { return kWaits + (way.marks.any() ? kUnmatchedWaits : 0); }

bool writes(ResidentJoinStrategy const& way) {
  return way.parts == JoinedParts::columns || way.parts == JoinedParts::numbers;
}

/// Cost of rows without a partner: their marks are read twice.
double unmatched_ns(ResidentJoinShape const& shape, ResidentJoinStrategy const& way, rates::DeviceRates const& rates) {
  double ns = 0;
  for (auto const which : {Side::left, Side::right}) {
    auto const& side = shape.of(which);
    if (way.marks.of(which)) ns += contract::stream_ns(2 * side.rows / 8, rates);
    if (shape.counts || shape.parts.rows(which) == contract::SideRows::none) continue;
    auto const rows = contract::num_side_rows(shape.parts.rows(which), side.rows, std::min(side.rows, shape.matches));
    bool const gathers = way.gathers && side.payload_columns > 0;
    ns += contract::stream_ns(rows * 2 * (shape.key_bytes + (gathers ? 0 : side.payload_bytes)), rates);
    if (gathers) ns += gather_ns(side, rows, rates);
    // Which side is not there is said by a word a row.
    if (shape.parts.pairs) ns += contract::stream_ns((shape.matches + rows) * kFlagBytes, rates);
  }
  return ns;
}

/// Tests of pairs, and their columns.
double test_ns(ResidentJoinShape const& shape, rates::DeviceRates const& rates) {
  if (shape.tested_reads == 0) return 0;
  return read_table_ns(shape.matches * shape.tested_reads, 4 * std::max(shape.left.rows, shape.right.rows), rates);
}

contract::PhaseCosts partitioned_costs(ResidentJoinShape const& shape, ResidentJoinStrategy const& way,
                                       rates::DeviceRates const& rates, ComputeTuning const& tuning) {
  auto const& build = shape.of(build_side(shape, way));
  auto const passes = passes_of(join_radix_bits(static_cast<std::uint64_t>(std::max(build.rows, 1.0)), tuning), tuning);
  double partition = 0;
  double read = 0;
  double written = way.parts == JoinedParts::columns ? shape.key_bytes : 0;
  double gathers = 0;
  for (auto const* side : {&shape.left, &shape.right}) {
    bool const gathers_side = way.gathers && side->payload_columns > 0;
    auto const moved = gathers_side ? kRowNumberBytes : side->payload_bytes;
    partition += contract::stream_ns(passes * side->rows * pass_bytes(shape.key_bytes, moved), rates);
    read += side->rows * (shape.key_bytes + (writes(way) ? moved : 0));
    written += writes(way) ? moved : 0;
    if (gathers_side && writes(way)) gathers += gather_ns(*side, shape.matches, rates);
  }
  if (shape.is_scattered) partition = 0;
  return {{"device partition", kPartitionShare * partition},
          {"join", kPartitionShare * contract::stream_ns(read + shape.matches * written, rates)},
          {"gather", gathers},
          {"unmatched rows", unmatched_ns(shape, way, rates)},
          {"test pairs", test_ns(shape, rates)},
          {"submissions", waits_of(way) * rates.submission_ns}};
}

contract::PhaseCosts indexed_costs(ResidentJoinShape const& shape, ResidentJoinStrategy const& way,
                                   rates::DeviceRates const& rates, ComputeTuning const& tuning) {
  auto const side = build_side(shape, way);
  auto const& build = shape.of(side);
  auto const& probe = shape.of(side == Side::left ? Side::right : Side::left);
  auto const most_bits = static_cast<std::uint32_t>(8 * shape.key_bytes);
  auto const passes = passes_of(build.key_bits != 0 ? std::min(build.key_bits, most_bits) : most_bits, tuning);
  bool const has_index = uses_index(shape, way);
  auto const sorted_rows = has_index ? 0 : build.rows;
  auto const index_bytes = build.rows * (shape.key_bytes + 4);
  auto const look_ups = read_table_ns(kLookUpReads * probe.rows + kMatchReads * shape.matches, index_bytes, rates);
  auto const written = way.parts == JoinedParts::columns ? shape.key_bytes : 0;
  auto const row_bytes = written + build.payload_bytes + probe.payload_bytes;
  double expanded = 0;
  if (writes(way)) {
    expanded = contract::stream_ns(4 * probe.rows + shape.matches * (8 + row_bytes), rates) +
               gather_ns(build, shape.matches, rates) +
               read_table_ns(kRowReads * shape.matches, build.rows * 4, rates) +
               contract::stream_ns(shape.matches * probe.payload_bytes, rates);
  }
  auto marked = way.marks.of(side) ? read_table_ns(kMarkReads * build.rows, index_bytes, rates) : 0;
  if (way.marks.of(other_side(side))) marked += contract::stream_ns(4 * probe.rows, rates);
  bool const searches_bounds = build.key_bits == 0 && !has_index;
  auto const bounds = !searches_bounds ? 0 : contract::stream_ns(2 * build.rows * shape.key_bytes, rates);
  return {{"bounds", bounds},
          {"sort", contract::stream_ns(passes * sorted_rows * pass_bytes(shape.key_bytes, kRowNumberBytes), rates)},
          {"match", look_ups + contract::stream_ns(probe.rows * (shape.key_bytes + 8), rates)},
          {"sum matches", contract::stream_ns(8 * probe.rows, rates)},
          {"expand", expanded},
          {"mark", marked},
          {"unmatched rows", unmatched_ns(shape, way, rates)},
          {"test pairs", test_ns(shape, rates)},
          {"submissions", (waits_of(way) + (searches_bounds ? kBoundsWaits : 0)) * rates.submission_ns}};
}

/// A bit is set for each build row, in a table of the bitmap's size, or in pieces by keys that were scattered first,
/// and read for each probe row; the other way round, too, where build rows that have no match are counted and probe
/// keys may repeat.
contract::PhaseCosts bitmap_costs(ResidentJoinShape const& shape, ResidentJoinStrategy const& way,
                                  rates::DeviceRates const& rates) {
  auto const side = build_side(shape, way);
  auto const& build = shape.of(side);
  auto const& probe = shape.of(other_side(side));
  auto const bytes = static_cast<double>(bitmap_bytes(static_cast<std::uint64_t>(build.key_span.value_or(0))));
  auto const test_ns = [&](double rows) {
    return read_table_ns(rows, bytes, rates) + contract::stream_ns(rows * shape.key_bytes, rates);
  };
  auto const set_ns = [&](double rows) {
    if (way.scattered_by != 0)
      return kPartitionShare * contract::stream_ns(rows * (pass_bytes(shape.key_bytes, 0) + shape.key_bytes), rates) +
             contract::stream_ns(2 * bytes, rates) + kPiecePasses * kPassNs;
    return contract::stream_ns(bytes, rates) + test_ns(rows) +
           access_ns(rows, bytes, rates.cached_atomics_per_s, rates.atomics_per_s);
  };
  bool const is_twice = way.marks.of(side) && !probe.is_unique;
  return {{"set key bits", set_ns(build.rows) + (is_twice ? set_ns(probe.rows) : 0)},
          {"test key bits", test_ns(probe.rows) + (is_twice ? test_ns(build.rows) : 0)},
          {"unmatched rows", unmatched_ns(shape, way, rates)},
          {"submissions", (waits_of(way) + (is_twice ? kUnmatchedWaits : 0)) * rates.submission_ns}};
}

/// Key columns are read and written as keys; numbered ones word by word, entered in a table by compare-and-swap, and
/// compared there with the first row that has the same.
contract::PhaseCosts composed_key_costs(ComposedKeyShape const& keys, rates::DeviceRates const& rates) {
  if (keys.rows == 0) return {};
  auto const written = keys.numbered_words > 0 ? keys.numbered_words : keys.key_words;
  auto const encoded = contract::stream_ns(keys.rows * (keys.column_bytes + kWordBytes * written), rates);
  if (keys.numbered_words == 0) return {{"encode", encoded}};
  auto const slots = static_cast<double>(hash_table_slots(static_cast<std::uint64_t>(keys.rows)));
  auto const streamed = kWordBytes * (slots + keys.rows * (keys.numbered_words + kNumberingWords));
  return {{"encode", encoded},
          {vulkan::phase::kHash, contract::stream_ns(streamed, rates) + contract::atomic_ns(keys.rows, rates) +
                                     contract::read_ns(keys.rows * (keys.numbered_words + kNumberingReads), rates) +
                                     kBoundsWaits * rates.submission_ns}};
}

bool can_use_bitmap(ResidentJoinShape const& shape, Side build) {
  auto const& side = shape.of(build);
  return may_use_bitmap(shape, build) && side.key_span && *side.key_span <= double{kMostBitmapSpan} &&
         (!shape.parts.pairs || side.is_unique);
}

/// Sets where the rows of such parts come from, and which sides are marked.
void take_parts(contract::JoinParts const& parts, bool counts, ResidentJoinStrategy& way) {
  auto const marks = [&](contract::SideRows rows) {
    return rows != contract::SideRows::none && !(rows == contract::SideRows::all && counts);
  };
  way.marks = {marks(parts.left), marks(parts.right)};
  way.parts = !parts.pairs ? JoinedParts::marks : counts ? JoinedParts::none : JoinedParts::columns;
}

/// Sets what the kind of join wants of every strategy. Rows are marked while they are probed, rather than built from.
void take_parts(ResidentJoinShape const& shape, ResidentJoinStrategy& way) {
  take_parts(shape.parts, shape.counts, way);
  if (shape.build) way.build = shape.build;
  if (!shape.parts.pairs) way.build = build_side(shape, way);
}

/// Leaves those whose rows come in order: by an index over the right side, or, of left rows alone, by a bitmap.
Result<void> keep_ordered(std::vector<ResidentJoinStrategy>& ways, ResidentJoinShape const& shape) {
  std::erase_if(ways, [](ResidentJoinStrategy const& way) { return way.method != JoinMethod::bitmap; });
  auto const method = shape.asked.method;
  if (method == JoinMethod::bitmap) return {};
  if (method != JoinMethod::automatic && method != JoinMethod::global)
    return fail(ErrorCode::usage, fmt::format("ordered rows of a join on a device come of method=global: {}",
                                              to_string(forcing({method}))));
  ResidentJoinStrategy way{JoinMethod::global, false, Side::right};
  take_parts(shape, way);
  way.build = Side::right;
  ways.push_back(way);
  return {};
}

/// Ways that are weighed against each other.
std::vector<ResidentJoinStrategy> candidates(ResidentJoinShape const& shape, ComputeTuning const& tuning) {
  std::vector<ResidentJoinStrategy> ways;
  auto const [method, payload] = std::pair(shape.asked.method, shape.asked.payload);
  auto const bitmap_bits = shape.asked.radix_bits;
  if (method == JoinMethod::automatic || method == JoinMethod::partitioned) {
    if (payload != Payload::gather) ways.push_back({JoinMethod::partitioned, false});
    if (payload != Payload::carry) ways.push_back({JoinMethod::partitioned, true});
  }
  for (auto const side : {Side::right, Side::left}) {
    if (!can_use_bitmap(shape, side)) continue;
    ResidentJoinStrategy way{JoinMethod::bitmap, false, side};
    if (!shape.of(side).may_have_null_keys)
      way.scattered_by = piece_bits(static_cast<std::uint64_t>(*shape.of(side).key_span), bitmap_bits, tuning);
    ways.push_back(way);
    if (way.scattered_by == 0 || bitmap_bits >= 0) continue;
    way.scattered_by = 0;
    ways.push_back(way);
  }
  // A payload that is to be carried or gathered is one of partitions.
  bool const is_free = method == JoinMethod::automatic && payload == Payload::automatic;
  auto const probe_rows = std::max(shape.left.rows, shape.right.rows);
  if (method == JoinMethod::global || (is_free && probe_rows <= static_cast<double>(kMaxScanElements))) {
    if (shape.build || !shape.of(build_side(shape, {})).has_index) ways.push_back({JoinMethod::global});
    for (auto const side : {Side::left, Side::right})
      if (!shape.build && shape.of(side).has_index) ways.push_back({JoinMethod::global, false, side});
  }
  for (auto& way : ways) take_parts(shape, way);
  return ways;
}

/// A side whose rows come out as numbers. Its keys' range says in how many bits they differ.
ResidentSideShape side_shape(std::uint64_t rows, std::uint64_t key_range) {
  return {static_cast<double>(rows), sizeof(std::uint32_t), 0, static_cast<std::uint32_t>(std::bit_width(key_range))};
}

}  // namespace

bool may_use_bitmap(ResidentJoinShape const& shape, Side build) {
  bool const is_open = shape.asked.method == JoinMethod::automatic && shape.asked.payload == Payload::automatic;
  if ((!is_open && shape.asked.method != JoinMethod::bitmap) || shape.tested_reads > 0) return false;
  if (shape.build && *shape.build != build) return false;
  return shape.parts.pairs ? shape.counts && !shape.nulls_equal : build == Side::right;
}

bool uses_index(ResidentJoinShape const& shape, ResidentJoinStrategy const& way) {
  return way.method == JoinMethod::global && way.build && shape.of(*way.build).has_index;
}

double composed_key_bytes(ComposedKeyShape const& keys) noexcept {
  if (keys.numbered_words == 0) return kWordBytes * keys.rows * keys.key_words;
  auto const slots = static_cast<double>(hash_table_slots(static_cast<std::uint64_t>(keys.rows)));
  return kWordBytes * (slots + keys.rows * (keys.numbered_words + kNumberingWords));
}

ResidentSideShape shape_of(DeviceRows const& rows) noexcept {
  ResidentSideShape shape;
  shape.rows = static_cast<double>(rows.rows);
  for (auto const& column : rows.payload) shape.payload_bytes += 4.0 * column.words;
  shape.payload_columns = static_cast<double>(rows.payload.size());
  return shape;
}

contract::PhaseCosts resident_join_costs(ResidentJoinShape const& shape, ResidentJoinStrategy const& way,
                                         rates::DeviceRates const& rates, ComputeTuning const& tuning) {
  GARUDA_EXPECTS(way.method != JoinMethod::automatic);
  auto costs = composed_key_costs(shape.composed, rates);
  if (shape.converted_bytes > 0) costs.emplace_back("encode", contract::stream_ns(shape.converted_bytes, rates));
  for (auto const& strings : shape.strings) {
    auto const numbered = string_number_costs(strings, rates);
    costs.insert(costs.end(), numbered.begin(), numbered.end());
  }
  auto const joined = way.method == JoinMethod::bitmap        ? bitmap_costs(shape, way, rates)
                      : way.method == JoinMethod::partitioned ? partitioned_costs(shape, way, rates, tuning)
                                                              : indexed_costs(shape, way, rates, tuning);
  costs.insert(costs.end(), joined.begin(), joined.end());
  return costs;
}

Result<std::vector<ResidentJoinStrategy>> resident_join_strategies(ResidentJoinShape const& shape,
                                                                   rates::DeviceRates const& rates,
                                                                   ComputeTuning const& tuning) {
  auto ways = candidates(shape, tuning);
  if (shape.asked.method == JoinMethod::bitmap && ways.empty())
    return fail(
        ErrorCode::usage,
        fmt::format("method=bitmap on a device is of joins semi, anti and mark, built on the right, and of counts, "
                    "built on a side that has no key twice; without a condition, by keys of up to 64 bits in a "
                    "range of at most {}",
                    kMostBitmapSpan));
  if (shape.ordered) GARUDA_TRY(keep_ordered(ways, shape));
  std::ranges::stable_sort(ways, {}, [&](ResidentJoinStrategy const& way) {
    return contract::total_ns(resident_join_costs(shape, way, rates, tuning));
  });
  return ways;
}

JoinTuning forcing(ResidentJoinStrategy const& way, JoinTuning tuning) {
  tuning.method = way.method;
  if (way.method == JoinMethod::bitmap) tuning.radix_bits = static_cast<std::int32_t>(way.scattered_by);
  if (way.build) tuning.build = *way.build == Side::left ? BuildSide::left : BuildSide::right;
  if (way.method == JoinMethod::partitioned) tuning.payload = way.gathers ? Payload::gather : Payload::carry;
  return tuning;
}

ResidentJoinStrategy forced(JoinTuning const& tuning, contract::JoinParts const& parts, bool counts) {
  ResidentJoinStrategy way{tuning.method,
                           tuning.method == JoinMethod::partitioned && tuning.payload == Payload::gather};
  if (tuning.build != BuildSide::automatic) way.build = tuning.build == BuildSide::left ? Side::left : Side::right;
  if (tuning.method == JoinMethod::bitmap) way.scattered_by = static_cast<std::uint32_t>(tuning.radix_bits);
  take_parts(parts, counts, way);
  return way;
}

contract::PhaseCosts compute_join_costs(contract::JoinShape const& shape, contract::DeviceCut const& cut,
                                        rates::DeviceRates const& rates, rates::HostRates const& host,
                                        JoinMethod method, std::uint32_t scattered_bits) {
  auto const rows = contract::rows_of(shape);
  // Its pairs are in the order of probe rows while the host has not partitioned them.
  bool const is_global = method == JoinMethod::global && cut.radix_bits == 0;
  contract::PhaseCosts costs{
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::partition_ns(rows, contract::join_row_bytes(shape), cut.radix_bits, host) +
                        contract::partition_ns(rows, contract::join_row_bytes(shape), scattered_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(rows * contract::key_bytes(shape), cut, rates)},
      {"wait", contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
      {"mark", contract::mark_ns(shape, cut, rates)},
      {"condition", contract::condition_ns(shape, host)},
      {"download", contract::pairs_made(shape) * 8 / rates.download_bytes_per_s * contract::kNs},
      {"gather", contract::consumed_ns(shape, cut, host, is_global)}};
  ResidentJoinShape joined{side_shape(shape.left.rows, shape.left.key_range),
                           side_shape(shape.right.rows, shape.right.key_range)};
  joined.key_bytes = contract::key_bytes(shape);
  joined.matches = contract::pairs_made(shape);
  joined.is_scattered = scattered_bits > 0;
  ResidentJoinStrategy const way{method, false, std::nullopt, JoinedParts::numbers};
  auto const passes = resident_join_costs(joined, way, rates, {});
  costs.insert(costs.end() - 2, passes.begin(), passes.end());
  // Rows of partitions go through tables in shared memory: what their bytes cost says little of a software device,
  // where 2^18 rows a side take 50 ms of 86 there (2026-11). Tasks are counted, and waited for, besides rows.
  if (method == JoinMethod::partitioned)
    costs.insert(costs.end() - 2, {"tables", contract::atomic_ns(contract::build_rows(shape), rates) +
                                                 contract::read_ns(contract::probe_rows(shape), rates) +
                                                 contract::submissions_ns(1, cut, rates)});
  return costs;
}

}  // namespace garuda::compute
