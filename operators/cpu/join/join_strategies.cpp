#include "operators/cpu/join/join_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "operators/contract/offers/costs.hpp"
#include "operators/cpu/join/bitmap_join.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {
namespace {

/// Share of different keys from which on all are taken to be different.
constexpr double kUniqueShare = 0.9;
/// A table whose keys repeat, beside one with unique keys: its rows are counted and placed in runs, which takes so much
/// more of a cache and of time (AMD EPYC, Zen 4, 2 threads, 2^20 rows of 0.63 × 2^20 keys in 2^6 partitions,
/// 2026-11-21).
constexpr double kRunsBytes = 2.5;
constexpr double kRunsShare = 2.2;
constexpr double kDenseRunsShare = 1.1;
/// Cost of keys of 64 bits in a table, in that of keys of 32.
constexpr double kWideKeyShare = 1.25;
/// Most slots a row, and slots beside, of a table that keys address directly; the same of one in a second-level cache,
/// and its slots.
constexpr double kDirectFill = 4;
constexpr double kDirectSlack = 1024;
constexpr double kCachedFill = 32;
constexpr double kCachedSlots = 1 << 18;
/// Bits of a bitmap in a slot of such a table.
constexpr double kBitsOfSlot = 32;
/// Bytes that a probe row's match takes, and that marking a build row is worth.
constexpr double kFoundBytes = 4;
/// A build row of a table that one thread makes for all lanes, for each other thread: its lines come out of their
/// caches, and they wait (16 threads of an Intel Xeon, tables of 390 K rows, 2026-11-25: 13 ns a row).
constexpr double kSharedRowNs = 0.8;
constexpr double kBuildMarkBytes = 8;

Side build_side(contract::JoinShape const& shape, JoinStrategy const& strategy) {
  return contract::build_side(strategy.build, contract::smaller_side(shape));
}

/// Values of a column for all rows of the result that are found by row ids, which lie in `id_bytes` bytes. `rows`: of
/// the column's table, 0 where they are found in their order.
double by_row_ns(contract::JoinShape const& shape, contract::OutputShape const& column, double id_bytes, double rows,
                 rates::HostRates const& host) {
  auto const ids = contract::taken_ns(contract::matches(shape), contract::row_id_bytes(shape), id_bytes, host);
  auto const values = contract::column_ns(contract::matches(shape), column, rows, host);
  return ids + values * (column.is_plain ? 1 : contract::kGathererShare);
}

/// Probe rows of a task of the CPU path: lanes end together when there are several a lane.
double task_probe_rows(double probe, rates::HostRates const& host) {
  auto const fair = probe / static_cast<double>(host.threads * contract::kTasksPerLane);
  return std::min(std::max(fair, static_cast<double>(contract::kSmallestTaskRows)), std::max(probe, 1.0));
}

/// Rows of the CPU path's result that a task brings.
double task_rows(contract::JoinShape const& shape, rates::HostRates const& host) {
  auto const probe = std::max(contract::probe_rows(shape), 1.0);
  return task_probe_rows(probe, host) * std::max(contract::matches(shape) / probe, 1.0 / 16);
}

/// The CPU path's result, made in its lanes.
double cpu_gather_ns(contract::JoinShape const& shape, JoinStrategy const& strategy, rates::HostRates const& host) {
  auto ns = contract::matches(shape) * 16 / host.copy_bytes_per_s * contract::kNs;  // pairs, made and read in the cache
  auto const parts = contract::partitions(strategy.radix_bits);
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    auto const is_probe = column.side != build_side(shape, strategy);
    auto const part_rows = is_probe ? 0 : contract::rows_of(shape, column.side) / parts;
    if (column.is_key || (is_probe && column.is_plain && strategy.radix_bits == 0))
      ns += contract::taken_ns(contract::matches(shape), column.bytes, 0, host);
    else if (strategy.carries(c) && !column.is_plain)
      // The cell, and then the value in its order.
      ns += contract::taken_ns(contract::matches(shape), column.cell_bytes, part_rows * column.cell_bytes, host) +
            contract::taken_ns(contract::matches(shape), column.bytes, 0, host);
    else if (strategy.carries(c) || (column.is_plain && strategy.radix_bits == 0))
      ns += contract::taken_ns(contract::matches(shape), column.bytes, part_rows * column.bytes, host);
    else
      ns += by_row_ns(shape, column, part_rows * contract::row_id_bytes(shape),
                      is_probe && strategy.radix_bits == 0 ? 0 : contract::rows_of(shape, column.side), host);
  }
  auto const rows = std::min(task_rows(shape, host), static_cast<double>(strategy.chunk_rows));
  return ns + contract::batches_ns(shape, rows, host);
}

/// Bytes that partitioning moves of a row of `side`.
double moved_bytes(contract::JoinShape const& shape, JoinStrategy const& strategy, Side side) {
  auto bytes = contract::key_bytes(shape);
  // Marks become those of the table's rows by row ids, unless the keys are columns as they are.
  bool wants_ids = !shape.output.empty() && contract::is_marked(shape, side) && shape.encoded_bytes > 0;
  // Words of a condition are found by row.
  wants_ids = wants_ids || shape.of(side).tested_columns > 0;
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key) continue;
    if (strategy.carries(c))
      bytes += column.carried_bytes();
    else
      wants_ids = wants_ids || shape.parts.pairs;
  }
  return bytes + (wants_ids ? contract::row_id_bytes(shape) : 0);
}

/// The tables of the CPU path: keys to look up in how many, how large they are, and what they cost beside unique keys.
struct Tables {
  double build = 0;
  double probe = 0;
  double rows = 0;        ///< of a table with unique keys that takes as much of a cache
  double share = 1;       ///< of the time of such a table
  bool is_dense = false;  ///< keys address them
};

Tables tables_of(contract::JoinShape const& shape, JoinStrategy const& strategy) {
  auto const side = build_side(shape, strategy);
  auto const parts = contract::partitions(strategy.radix_bits);
  auto const range = static_cast<double>(shape.of(side).key_range);
  Tables tables;
  tables.build = contract::rows_of(shape, side);
  tables.probe = contract::rows_of(shape) - tables.build;
  tables.rows = tables.build / parts;
  auto const most_direct =
      std::max(kDirectFill * tables.rows + kDirectSlack, std::min(kCachedFill * tables.rows, kCachedSlots));
  tables.is_dense = strategy.by_bitmap || (range > 0 && range / parts < most_direct);
  if (strategy.by_bitmap) {
    tables.rows = std::max(range / kBitsOfSlot, 1.0);
  } else if (contract::distinct_of(shape, side) < kUniqueShare * tables.build) {
    tables.rows *= kRunsBytes;
    tables.share *= tables.is_dense ? kDenseRunsShare : kRunsShare;
  }
  if (shape.key_bits == 64) tables.share *= kWideKeyShare;
  return tables;
}

/// Whether all lanes look up in one table, which one of them makes.
bool is_shared(Tables const& tables, JoinStrategy const& strategy, double parts) {
  return !strategy.by_bitmap && tables.build / parts > static_cast<double>(contract::kLaneTableRows);
}

/// Cost of building, in builds of all tables by all threads at once: one thread builds a table. Lanes wait for
/// large ones, which are made one at a time; small ones are made by every lane that has a task of their partition.
double build_shares(Tables const& tables, double parts, rates::HostRates const& host) {
  double const threads = host.threads;
  if (tables.build / parts > static_cast<double>(contract::kLaneTableRows)) return threads;
  auto const tasks = std::max(tables.probe / parts / task_probe_rows(tables.probe, host), 1.0);  // of a partition
  return threads * std::min(tasks, threads) / std::min(threads, parts * tasks);
}

/// Cost of marks: a probe row's match becomes a bit; for build rows every probe row sets a byte first.
double cpu_mark_ns(contract::JoinShape const& shape, JoinStrategy const& strategy, rates::HostRates const& host) {
  double bytes = 0;
  for (auto const side : {Side::left, Side::right}) {
    if (!contract::is_marked(shape, side)) continue;
    bool const is_build = side == build_side(shape, strategy);
    bytes += is_build ? kBuildMarkBytes * contract::rows_of(shape) : kFoundBytes * contract::rows_of(shape, side);
  }
  return bytes / host.copy_bytes_per_s * contract::kNs;
}

constexpr std::uint32_t kBitsStep = 2;
/// Fewest build rows of a partition that is worth its table.
constexpr std::uint64_t kSmallestPartitionRows = 512;

std::vector<std::uint32_t> radix_bits(contract::JoinShape const& shape, JoinTuning const& tuning) {
  if (tuning.radix_bits >= 0) return {static_cast<std::uint32_t>(tuning.radix_bits)};
  auto const rows = shape.smaller_rows();
  std::vector<std::uint32_t> bits{0};
  for (auto b = kBitsStep; b < partition::kMaxRadixBits && (rows >> b) >= kSmallestPartitionRows; b += kBitsStep)
    bits.push_back(b);
  return bits;
}

double price(contract::JoinShape const& shape, JoinStrategy const& strategy, rates::HostRates const& host) {
  return contract::total_ns(cpu_join_costs(shape, strategy, host));
}

/// Adds the columns of `side` that may be carried and are not there yet: a column that the result has twice is carried
/// once.
std::vector<std::size_t> with_side(contract::JoinShape const& shape, std::vector<std::size_t> carried, Side side) {
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key || column.carried_bytes() == 0) continue;
    auto const is_same = [&](std::size_t other) {
      return shape.output[other].side == side && shape.output[other].column == column.column;
    };
    if (std::ranges::none_of(carried, is_same)) carried.push_back(c);
  }
  return carried;
}

std::vector<std::size_t> all_columns(contract::JoinShape const& shape) {
  return with_side(shape, with_side(shape, {}, Side::left), Side::right);
}

/// The columns that are carried at least cost: of each side those that pay alone, or all of them, which saves the row
/// ids.
std::vector<std::size_t> carried_columns(contract::JoinShape const& shape, JoinStrategy strategy,
                                         rates::HostRates const& host) {
  auto best = price(shape, strategy, host);
  auto const try_carrying = [&](std::vector<std::size_t> carried) {
    auto other = strategy;
    other.carried = std::move(carried);
    auto const ns = price(shape, other, host);
    if (ns >= best) return;
    best = ns;
    strategy = std::move(other);
  };
  for (auto const column : all_columns(shape)) {
    auto carried = strategy.carried;
    carried.push_back(column);
    try_carrying(std::move(carried));
  }
  for (auto const side : {Side::left, Side::right}) try_carrying(with_side(shape, strategy.carried, side));
  std::ranges::sort(strategy.carried);
  return strategy.carried;
}

/// The larger side may be the better one to build on: when the smaller one's keys repeat.
BuildSide cheapest_build(contract::JoinShape const& shape, JoinStrategy strategy, rates::HostRates const& host) {
  auto best = BuildSide::automatic;
  auto least = price(shape, strategy, host);
  for (auto const side : {BuildSide::left, BuildSide::right}) {
    strategy.build = side;
    if (auto const ns = price(shape, strategy, host); ns < least) {
      best = side;
      least = ns;
    }
  }
  return best;
}

/// The strategies by tables that `tuning` leaves open and `most_host_bytes` (0: no limit) allows: radix bits from 0 in
/// steps of two while partitions keep some rows; with each, columns gathered by row id or carried through the
/// partitioning, as far as that costs less; the cheapest side to build on. Never empty: when carrying is asked for and
/// not allowed, columns are gathered.
std::vector<JoinStrategy> by_tables(contract::JoinShape const& shape, JoinTuning const& tuning,
                                    rates::HostRates const& host, std::uint64_t most_host_bytes) {
  std::vector<JoinStrategy> strategies;
  auto const add = [&](JoinStrategy strategy) {
    if (tuning.build == BuildSide::automatic) strategy.build = cheapest_build(shape, strategy, host);
    strategies.push_back(std::move(strategy));
  };
  // Carried payload leaves half of the memory to tables and the result.
  auto const fits = [&](JoinStrategy const& strategy) {
    auto const moved = contract::partitioned_bytes(shape, strategy.radix_bits, strategy.carried);
    return most_host_bytes == 0 || shape.encoded_bytes + moved <= most_host_bytes / 2;
  };
  for (auto const bits : radix_bits(shape, tuning)) {
    JoinStrategy const gathering{.radix_bits = bits, .build = tuning.build};
    auto carrying = gathering;
    if (bits > 0 && tuning.payload != Payload::gather)
      carrying.carried =
          tuning.payload == Payload::carry ? all_columns(shape) : carried_columns(shape, gathering, host);
    auto const carries = !carrying.carried.empty() && fits(carrying);
    if (carries) add(carrying);
    if (!carries || tuning.payload != Payload::carry) add(gathering);
  }
  return strategies;
}

/// Whether bits over the range of the right keys say which left rows have a match, in no more memory than the keys.
bool can_use_bitmap(contract::JoinShape const& shape, JoinTuning const& tuning, std::uint64_t most_host_bytes) {
  auto const& right = shape.right;
  bool const is_tested = shape.tested_pairs > 0 || shape.left.tested_columns > 0 || right.tested_columns > 0;
  if (shape.parts.pairs || is_tested || tuning.radix_bits > 0 || tuning.build == BuildSide::left) return false;
  auto const key_bytes = right.rows * (shape.key_bits / 8);
  if (most_host_bytes != 0 && shape.encoded_bytes + 2 * key_bytes > most_host_bytes / 2) return false;
  return right.rows == 0 || (right.key_range > 0 && right.key_range <= kBitmapFill * right.rows);
}

/// "radix_bits=8,payload=carry,chunk_rows=524288".
std::string to_string(JoinStrategy const& strategy) {
  JoinTuning tuning;
  tuning.radix_bits = static_cast<std::int32_t>(strategy.radix_bits);
  if (strategy.radix_bits > 0) tuning.payload = strategy.carried.empty() ? Payload::gather : Payload::carry;
  tuning.chunk_rows = static_cast<std::uint32_t>(strategy.chunk_rows);
  tuning.build = strategy.build;
  if (strategy.by_bitmap) tuning.method = JoinMethod::bitmap;
  return garuda::to_string(tuning);
}

contract::JoinOffer offer_of(contract::JoinInquiry const& inquiry, JoinStrategy strategy) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  // A task makes no more rows of a batch than it has.
  strategy.chunk_rows = tuning.chunk_rows != 0
                            ? tuning.chunk_rows
                            : contract::cheapest_chunk(shape, task_rows(shape, inquiry.host), inquiry.host);
  contract::JoinOffer offer;
  offer.candidate.path = Path::cpu;
  offer.candidate.device = "cpu";
  offer.candidate.choices = to_string(strategy);
  offer.candidate.reason = contract::source_of_host(inquiry.machine, shape.threads);
  contract::set_phases(offer.candidate, cpu_join_costs(shape, strategy, inquiry.host));
  offer.tuning = tuning;
  offer.tuning.build = strategy.build;
  if (strategy.by_bitmap) offer.tuning.method = JoinMethod::bitmap;
  offer.key_bits = shape.key_bits;
  offer.radix_bits = strategy.radix_bits;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  if (tuning.slice_rows != 0) offer.slice_rows = tuning.slice_rows;
  offer.chunk_rows = strategy.chunk_rows;
  offer.carried = std::move(strategy.carried);
  return offer;
}

}  // namespace

contract::PhaseCosts cpu_join_costs(contract::JoinShape const& shape, JoinStrategy const& strategy,
                                    rates::HostRates const& host) {
  auto const parts = contract::partitions(strategy.radix_bits);
  auto const tables = tables_of(shape, strategy);
  auto const& built = tables.is_dense ? host.built_dense_rows : host.built_rows;
  auto const& probed = tables.is_dense ? host.probed_dense_rows : host.probed_rows;
  // A partition of many pairs is cut up, one of few costs a slice all the same.
  auto const building = std::min<double>(host.threads, parts);
  // All threads set bits of one bitmap.
  auto const shares = strategy.by_bitmap ? 1 : build_shares(tables, parts, host);
  auto const shared_ns = is_shared(tables, strategy, parts) ? tables.build * kSharedRowNs * (host.threads - 1.0) : 0;
  bool const is_kept = shape.right.is_built && !strategy.by_bitmap;
  auto const build_ns =
      is_kept ? 0 : tables.build / built.at(tables.rows) * contract::kNs * tables.share * shares + shared_ns;
  auto const found = std::max(tables.probe, contract::pairs_made(shape));
  double moved_ns = 0;
  double encoded_rows = 0;
  for (auto const side : {Side::left, Side::right}) {
    if (shape.of(side).is_built) continue;
    encoded_rows += contract::rows_of(shape, side);
    moved_ns += contract::partition_ns(contract::rows_of(shape, side), moved_bytes(shape, strategy, side),
                                       strategy.radix_bits, host);
  }
  return {{"start", host.query_ns},
          {"encode", contract::encode_ns(encoded_rows, host)},
          {"partition", moved_ns},
          {"build", build_ns + parts / building * host.slice_ns},
          {"probe", found / probed.at(tables.rows) * contract::kNs * tables.share},
          {"condition", contract::condition_ns(shape, host)},
          {"mark", cpu_mark_ns(shape, strategy, host)},
          {"gather", cpu_gather_ns(shape, strategy, host) + contract::unmatched_ns(shape, host)}};
}

Result<contract::JoinOffers> cpu_join_offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  auto const most_host_bytes = contract::most_host_bytes(shape, inquiry.options);
  bool const is_forced = tuning.method == JoinMethod::bitmap;
  contract::JoinOffers offers;
  if (can_use_bitmap(shape, tuning, most_host_bytes) && (is_forced || tuning.method == JoinMethod::automatic))
    offers.list.push_back(offer_of(inquiry, JoinStrategy{.build = BuildSide::right, .by_bitmap = true}));
  if (is_forced && offers.list.empty())
    return fail(
        ErrorCode::usage,
        fmt::format("method=bitmap on path cpu is of joins semi, anti and mark without a condition, built on the "
                    "right without partitions, by keys in a range of at most {} values a right row",
                    kBitmapFill));
  if (is_forced) return offers;
  for (auto& strategy : by_tables(shape, tuning, inquiry.host, most_host_bytes))
    offers.list.push_back(offer_of(inquiry, std::move(strategy)));
  return offers;
}

}  // namespace garuda::cpu
