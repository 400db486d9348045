#include "operators/plan/join_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "keys/samples/key_counts.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::plan {
namespace {

constexpr std::uint64_t kSmallestSliceRows = 4096;

/// Shrinks the slices of a path that has tables on the host, then its lanes, until their tables take at most half of
/// `free_bytes`. Returns what they take then.
std::uint64_t bound_tables(contract::JoinFeeding const& feeding, contract::JoinShape const& shape,
                           std::uint64_t free_bytes, Plan& plan) {
  if (feeding.host_bytes == nullptr) return 0;
  auto const rows = std::max<std::uint64_t>(shape.larger_rows(), 1);
  auto const bytes = [&] {
    auto const slice = std::min(plan.slice_rows, rows);
    return feeding.host_bytes(slice, slice, shape.key_bits) * plan.lanes;
  };
  while (bytes() > free_bytes / 2 && plan.slice_rows > kSmallestSliceRows) plan.slice_rows /= 2;
  while (bytes() > free_bytes / 2 && plan.lanes > 1) plan.lanes /= 2;
  return bytes();
}

double output_row_bytes(contract::JoinShape const& shape) {
  double bytes = 0;
  for (auto const& column : shape.output) bytes += column.bytes;
  return bytes;
}

/// Host memory: partitioned keys must fit; what is left decides the rows of a chunk.
Result<void> size_host_memory(contract::JoinShape const& shape, JoinOptions const& options,
                              contract::JoinOffer const& offer, Plan& plan) {
  auto const& feeding = feeding_of(*find_path(plan.path), shape.is_non_equi());
  auto const limit = contract::most_host_bytes(shape, options);
  auto const moved = shape.is_non_equi() ? 0 : contract::partitioned_bytes(shape, plan.radix_bits, offer.carried);
  auto const keys = shape.encoded_bytes + moved;
  if (limit != 0 && keys > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the {} of {} rows need {} bytes of host memory, over the limit: {}",
                            shape.is_non_equi() ? "compared words" : "partitioned keys",
                            shape.left.rows + shape.right.rows, keys, limit));
  auto free_bytes = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit - keys;
  auto const tables = bound_tables(feeding, shape, free_bytes, plan);
  free_bytes -= std::min(tables, free_bytes);
  auto const row_bytes = static_cast<std::uint64_t>(output_row_bytes(shape)) + 1;
  // Per row of a chunk: gathered columns, once more while they are written; pairs waiting, being made and being read.
  // Lanes that make batches have columns, not pairs: each a chunk, with row ids, beside those that wait and one being
  // read.
  auto const chunks = plan.lanes + contract::waiting_chunks(options.memory_limit_bytes, plan.lanes) + 1;
  auto const per_row = feeding.makes_batches ? (row_bytes + 12) * chunks : 3 * row_bytes + 24 * chunks;
  // Batches wait for those of the lanes before them: the more lanes, the more of them at a time.
  auto const most_bytes = contract::kLargestBatchBytes * std::max<std::uint64_t>(plan.lanes / 2, 1);
  auto const most_rows = feeding.makes_batches
                             ? std::min(offer.chunk_rows, std::max(most_bytes / row_bytes, contract::kSmallestTaskRows))
                             : offer.chunk_rows;
  plan.chunk_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows
                                                   : contract::chunk_rows_for(free_bytes, per_row, most_rows);
  plan.host_bytes = keys + tables + plan.chunk_rows * per_row;
  return {};
}

constexpr bool is_non_equi(JoinMethod method) {
  return method == JoinMethod::nested_loops || method == JoinMethod::sorted_ranges;
}

/// Refuses methods that do not join with keys, or without.
Result<void> check_method(contract::JoinShape const& shape, JoinOptions const& options) {
  auto const method = options.tuning.method;
  if (method != JoinMethod::automatic && is_non_equi(method) != shape.is_non_equi()) {
    JoinTuning asked;
    asked.method = method;
    return fail(ErrorCode::usage, fmt::format("a join {} keys is not done by {}",
                                              shape.is_non_equi() ? "without" : "with", to_string(asked)));
  }
  if (!shape.is_non_equi()) return {};
  if (options.tuning.placement == Placement::device)
    return fail(ErrorCode::usage, "placement=device is of joins with keys");
  auto const* const asked = find_path(options.path);
  if (asked == nullptr || asked->condition_join.offers != nullptr) return {};
  std::string names;
  for (auto const* row : paths())
    if (row->condition_join.offers != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", row->name);
  return fail(ErrorCode::usage, fmt::format("joins without keys are done by paths {}, not by {}", names, asked->name));
}

using JoinNode = OperatorNode<contract::JoinOffer, contract::JoinShape, JoinOptions>;

/// A run of a cache line or two.
constexpr std::uint64_t kRunKeys = 16;

template <class Word>
std::vector<Word> sampled(std::span<Word const> words) {
  if (words.size() <= kSampledKeys) return {words.begin(), words.end()};
  std::vector<Word> keys;
  keys.reserve(kSampledKeys);
  auto const runs = kSampledKeys / kRunKeys;
  auto const stride = words.size() / runs;
  for (std::uint64_t run = 0; run < runs; ++run) {
    auto const first = words.begin() + static_cast<std::ptrdiff_t>(run * stride);
    keys.insert(keys.end(), first, first + kRunKeys);
  }
  return keys;
}

/// The content of a sample of so many keys.
struct Sample {
  std::uint64_t keys = 0;
  keys::Frequencies frequencies;
};

template <class Word>
Sample sample(std::span<Word const> words) {
  auto const keys = sampled(words);
  return {keys.size(), keys::KeyCounts<Word>(std::span<Word const>(keys)).frequencies()};
}

double range_of(keys::EncodedKeys const& keys) { return static_cast<double>(keys.max - keys.min) + 1; }

constexpr std::size_t kPartitions = 4;
constexpr std::uint64_t kKeysOfPartition = 2'048;
constexpr std::uint64_t kMarks = std::uint64_t{1} << 18;
/// Repeats that chance may put between two sides that have none: about 8 a partition are keys that share a mark.
constexpr std::uint32_t kChance = 8;

/// How many of the keys a mark finds taken.
template <class Word>
std::uint32_t repeats(std::span<Word const> keys) {
  std::array<std::uint64_t, kMarks / 64> taken{};
  std::uint32_t found = 0;
  for (auto const key : keys) {
    // Not the leading bits, which keys of a partition may share.
    auto const mark = keys::mix(key) % kMarks;
    auto& word = taken[mark / 64];
    auto const bit = std::uint64_t{1} << mark % 64;
    found += (word & bit) != 0 ? 1 : 0;
    word |= bit;
  }
  return found;
}

std::uint32_t repeats(partition::PartitionedKeys const& side, std::size_t partition, std::uint64_t rows) {
  auto const first = side.offsets[partition];
  return side.key_bits == 32 ? repeats(side.keys32().subspan(first, rows))
                             : repeats(side.keys64().subspan(first, rows));
}

}  // namespace

Result<JoinPlan> plan_join(contract::JoinShape const& shape, contract::Machine const& machine,
                           JoinOptions const& options) {
  GARUDA_TRY(check_method(shape, options));
  JoinNode const node(
      shape, options,
      shape.is_non_equi() ? +[](contract::PathRow const& path) { return path.condition_join.offers; }
                          : +[](contract::PathRow const& path) { return path.join.offers; });
  GARUDA_TRY_ASSIGN(auto chosen, choose_offer(node, machine));
  JoinPlan result{std::move(static_cast<contract::JoinOffer&>(*chosen.offer)), std::move(chosen.plan), std::nullopt};
  auto& [offer, plan, rates] = result;
  plan.operation = "join";
  plan.tuning = to_string(offer.tuning);
  plan.estimated_rows = contract::result_rows(shape);
  plan.details.emplace_back("estimate",
                            fmt::format("{:.3f} ms, {:.0f} rows", plan.estimated_ns * 1e-6, plan.estimated_rows));
  plan.details.insert(plan.details.end(), offer.details.begin(), offer.details.end());
  if (!offer.takes_whole() && !shape.is_unseen) GARUDA_TRY(size_host_memory(shape, options, offer, plan));
  if (offer.device) rates = machine.devices[*offer.device].measured;
  return result;
}

KeyStatistics sample_keys(keys::EncodedKeys const& keys) {
  if (keys.num_rows == 0) return {};
  auto const [sampled, found] = keys.key_bits == 32 ? sample(keys.words32()) : sample(keys.words64());
  auto const rows = static_cast<double>(keys.num_rows);
  auto const is_whole = sampled == keys.num_rows;
  KeyStatistics statistics;
  statistics.distinct = static_cast<double>(found.distinct);
  if (!is_whole && found.heaviest == 1) {
    statistics.distinct = rows;
  } else if (!is_whole) {
    // Keys that rows may have been drawn from, and those of them that rows did draw.
    auto const drawn_from = found.drawn_from();
    statistics.distinct = drawn_from * -std::expm1(-rows / drawn_from);
  }
  statistics.distinct = std::max(std::min({statistics.distinct, rows, range_of(keys)}), 1.0);
  if (found.heaviest > 1)
    statistics.heaviest_share = static_cast<double>(found.heaviest) / static_cast<double>(sampled);
  return statistics;
}

std::optional<Side> less_repeated_side(partition::PartitionedKeys const& left,
                                       partition::PartitionedKeys const& right) {
  GARUDA_EXPECTS(left.offsets.size() == right.offsets.size() && left.key_bits == right.key_bits);
  auto const rows_of = [](partition::PartitionedKeys const& side, std::size_t p) {
    return side.offsets[p + 1] - side.offsets[p];
  };
  std::size_t const partitions = left.num_partitions();
  auto const step = (partitions + kPartitions - 1) / kPartitions;
  std::uint32_t of_left = 0;
  std::uint32_t of_right = 0;
  for (std::size_t p = 0; p < partitions; p += step) {
    auto const rows = std::min({rows_of(left, p), rows_of(right, p), kKeysOfPartition});
    of_left += repeats(left, p, rows);
    of_right += repeats(right, p, rows);
  }
  auto const [less, more] = std::minmax({of_left, of_right});
  if (more - less <= kChance + (less + more) / 4) return std::nullopt;
  return of_left < of_right ? Side::left : Side::right;
}

}  // namespace garuda::plan
