#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "cuda_backend/radix_sort.hpp"
#include "cuda_backend/resident.hpp"
#include "cuda_backend/resident_aggregates.hpp"

namespace garuda::cuda {
namespace {

/// Groups that a block's shared memory holds at half load.
constexpr std::uint64_t kSharedGroups = 2048;
/// Partitions of one sorting pass, and of two.
constexpr std::uint32_t kOnePassBits = 8;
constexpr std::uint32_t kTwoPassBits = 16;
/// Rows of a chunk: few enough that all multiprocessors have several, so many that a chunk has many rows of a group.
constexpr std::uint32_t kChunksEach = 16;
constexpr std::uint32_t kSmallestChunk = 8192;
constexpr std::uint32_t kLargestChunk = 1U << 17;
/// Table of groups that several chunks have: at first, and at most.
constexpr std::uint64_t kFewestSlots = 1U << 14;
constexpr std::uint32_t kMostLog2Slots = 31;

std::uint32_t log2_at_least(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(value, 2) - 1));
}

std::uint32_t bits_for(std::uint64_t groups) {
  if (groups <= kSharedGroups) return 0;
  return groups <= kSharedGroups << kOnePassBits ? kOnePassBits : kTwoPassBits;
}

}  // namespace

ResidentGroupBy::ResidentGroupBy(Lane& lane, std::uint32_t const* keys, std::int32_t const* values, std::uint32_t rows,
                                 std::uint64_t expected_groups)
    : lane_(lane),
      launch_{lane.stream(), lane.device().traits().multiprocessors},
      keys_(keys),
      values_(values),
      rows_(rows),
      bits_(bits_for(expected_groups)),
      capacity_(std::min<std::uint64_t>(rows, expected_groups + expected_groups / 8 + 1024)) {
  // After two passes nearly all partitions are one chunk, whose groups never reach the table.
  auto const in_table = bits_ == kTwoPassBits ? expected_groups / 64 : expected_groups;
  log2_slots_ = log2_at_least(std::max(4 * in_table, kFewestSlots));
}

Result<ResidentGroupBy::Partitioned> ResidentGroupBy::partition() {
  Partitioned rows;
  rows.keys = keys_;
  rows.values = values_;
  if (bits_ == 0) return rows;
  GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
  GARUDA_TRY_ASSIGN(rows.mixed, needs_mixing(lane_, launch_, keys_, rows_, bits_));
  GARUDA_TRY(lane_.step("partition", 0, rows_));
  auto const bytes = std::uint64_t{rows_} * 4;
  Buffer mixed;
  if (rows.mixed) {
    GARUDA_TRY_ASSIGN(mixed, lane_.allocate(bytes, "mixed keys"));
    GARUDA_CUDA_TRY(mix_keys(launch_, keys_, rows_, mixed.as<std::uint32_t>(), nullptr));
    rows.keys = mixed.as<std::uint32_t>();
  }
  GARUDA_TRY_ASSIGN(rows.owned_keys, lane_.allocate(bytes, "partitioned keys"));
  GARUDA_TRY_ASSIGN(rows.owned_values, lane_.allocate(bytes, "partitioned values"));
  GARUDA_TRY(sort_column(lane_, rows.keys, rows.owned_keys.as<std::uint32_t>(),
                         reinterpret_cast<std::uint32_t const*>(values_), rows.owned_values.as<std::uint32_t>(), rows_,
                         bits_));
  rows.keys = rows.owned_keys.as<std::uint32_t>();
  rows.values = rows.owned_values.as<std::int32_t>();
  return rows;
}

Result<std::uint32_t> ResidentGroupBy::list_all_chunks(Partitioned const& rows, Buffer& tasks) {
  auto const partitions = 1U << bits_;
  GARUDA_TRY(lane_.step("tasks", 0, partitions));
  GARUDA_TRY_ASSIGN(auto const starts, lane_.allocate((partitions + 1ULL) * 4, "partitions"));
  GARUDA_CUDA_TRY(find_partitions(launch_, rows.keys, rows_, bits_, starts.as<std::uint32_t>()));
  TaskShape shape;
  shape.build_starts = starts.as<std::uint32_t>();
  shape.partitions = partitions;
  shape.build_chunk = std::clamp(rows_ / (launch_.multiprocessors * kChunksEach), kSmallestChunk, kLargestChunk);
  GARUDA_TRY_ASSIGN(auto const counts, lane_.allocate((partitions + 1ULL) * 4, "chunks of partitions"));
  GARUDA_TRY_ASSIGN(auto const offsets, lane_.allocate((partitions + 1ULL) * 8, "first chunks of partitions"));
  auto* const offset_words = offsets.as<std::uint64_t>();
  GARUDA_CUDA_TRY(count_tasks(launch_, shape, counts.as<std::uint32_t>()));
  std::size_t temp_bytes = 0;
  GARUDA_CUDA_TRY(
      scan_to_u64(nullptr, temp_bytes, counts.as<std::uint32_t>(), offset_words, partitions + 1, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane_.allocate(temp_bytes, "prefix sums"));
  GARUDA_CUDA_TRY(scan_to_u64(temp.as<void>(), temp_bytes, counts.as<std::uint32_t>(), offset_words, partitions + 1,
                              lane_.stream()));
  std::uint64_t total = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&total, 1)), offset_words + partitions));
  GARUDA_TRY_ASSIGN(tasks, lane_.allocate(total * sizeof(JoinTask), "chunks"));
  GARUDA_TRY(lane_.step("tasks", total * sizeof(JoinTask), total));
  GARUDA_CUDA_TRY(list_tasks(launch_, shape, offset_words, tasks.as<JoinTask>()));
  return static_cast<std::uint32_t>(total);
}

Result<void> ResidentGroupBy::take_room() {
  // Sums of the slots and of the one more, then their keys, then two flags.
  auto const slots = (std::uint64_t{1} << log2_slots_) + 1;
  if (table_.bytes() != slots * 12 + 8) {
    table_.reset();
    GARUDA_TRY_ASSIGN(table_, lane_.allocate(slots * 12 + 8, "group table"));
  }
  if (keys_out_.bytes() == capacity_ * 4) return {};
  keys_out_.reset();
  sums_out_.reset();
  GARUDA_TRY_ASSIGN(keys_out_, lane_.allocate(capacity_ * 4, "keys of groups"));
  GARUDA_TRY_ASSIGN(sums_out_, lane_.allocate(capacity_ * 8, "sums of groups"));
  return {};
}

Result<bool> ResidentGroupBy::aggregate(Partitioned const& rows, Buffer const& tasks, std::uint32_t num_tasks,
                                        std::uint64_t& groups) {
  GARUDA_TRY(take_room());
  GARUDA_TRY(lane_.step("aggregate", std::uint64_t{rows_} * 8, rows_));
  auto const slots = (std::uint64_t{1} << log2_slots_) + 1;
  ResidentGroupPass pass;
  pass.table.sums = table_.as<std::uint64_t>();
  pass.table.keys = reinterpret_cast<std::uint32_t*>(pass.table.sums + slots);
  pass.table.used = pass.table.keys + slots;
  pass.table.overflow = pass.table.used + 1;
  pass.table.log2_slots = log2_slots_;
  GARUDA_CUDA_TRY(cudaMemsetAsync(pass.table.sums, 0, slots * 8, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(pass.table.keys, 0xff, slots * 4, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(pass.table.used, 0, 8, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.as<void>(), 0, 8, lane_.stream()));
  pass.keys = rows.keys;
  pass.values = rows.values;
  pass.tasks = tasks.as<JoinTask>();
  pass.num_tasks = num_tasks;
  pass.mixed = rows.mixed;
  pass.keys_out = keys_out_.as<std::uint32_t>();
  pass.sums_out = sums_out_.as<std::int64_t>();
  pass.cursor = cursor.as<std::uint64_t>();
  pass.capacity = capacity_;
  GARUDA_CUDA_TRY(aggregate_chunks(launch_, pass));
  GARUDA_CUDA_TRY(write_groups(launch_, pass));
  std::uint32_t overflow = 0;
  GARUDA_CUDA_TRY(cudaMemcpyAsync(&overflow, pass.table.overflow, 4, cudaMemcpyDeviceToHost, lane_.stream()));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&groups, 1)), cursor.as<void>()));
  if (overflow != 0) {
    if (log2_slots_ >= kMostLog2Slots) return fail(ErrorCode::limit_exceeded, "too many groups for a table");
    log2_slots_ = std::min(log2_slots_ + 3, kMostLog2Slots);
    return false;
  }
  if (groups <= capacity_) return true;
  capacity_ = groups;
  return false;
}

Result<GarudaCudaResidentGroups> ResidentGroupBy::run() {
  if (rows_ == 0) return GarudaCudaResidentGroups{};
  GARUDA_TRY_ASSIGN(auto const rows, partition());
  Buffer tasks;
  GARUDA_TRY_ASSIGN(auto const num_tasks, list_all_chunks(rows, tasks));
  std::uint64_t groups = 0;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const fits, aggregate(rows, tasks, num_tasks, groups));
    if (fits) break;
  }
  GarudaCudaResidentGroups found{};
  found.groups = groups;
  found.key = {reinterpret_cast<std::uint64_t>(keys_out_.as<void>()), 4};
  found.results[0] = reinterpret_cast<std::uint64_t>(sums_out_.as<void>());
  return found;
}

Result<std::unique_ptr<ResidentGrouping>> create_resident_grouping(
    Lane& lane, GarudaCudaColumn const& key, std::uint64_t rows,
    std::vector<GarudaCudaResidentAggregate> const& aggregates, std::uint64_t expected_groups) {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
  auto const is_known = [](GarudaCudaResidentAggregate const& aggregate) {
    return aggregate.function <= GARUDA_CUDA_FUNCTION_MEAN && aggregate.kind <= GARUDA_CUDA_FLOAT64 &&
           aggregate.kind != GARUDA_CUDA_INT128 &&
           (aggregate.kind != GARUDA_CUDA_NONE || aggregate.function == GARUDA_CUDA_FUNCTION_COUNT);
  };
  if ((key.bytes != 4 && key.bytes != 8) || aggregates.size() > GARUDA_CUDA_MAX_AGGREGATES ||
      !std::ranges::all_of(aggregates, is_known))
    return fail(ErrorCode::usage, "resident group-bys take one key of 4 or 8 bytes and up to 8 aggregates of numbers");
  if (rows > kMostRows)
    return fail(ErrorCode::limit_exceeded, "resident group-bys take at most 2^30 rows: " + std::to_string(rows));
  auto const num_rows = static_cast<std::uint32_t>(rows);
  bool const is_narrow_sum = key.bytes == 4 && aggregates.size() == 1 && aggregates[0].kind == GARUDA_CUDA_INT32 &&
                             aggregates[0].function == GARUDA_CUDA_FUNCTION_SUM;
  if (!is_narrow_sum) return std::make_unique<ResidentAggregates>(lane, key, num_rows, aggregates, expected_groups);
  return std::make_unique<ResidentGroupBy>(lane, reinterpret_cast<std::uint32_t const*>(key.address),
                                           reinterpret_cast<std::int32_t const*>(aggregates[0].values), num_rows,
                                           expected_groups);
}

}  // namespace garuda::cuda
