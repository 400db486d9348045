#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "cuda_backend/group_chunks.hpp"
#include "cuda_backend/resident_aggregates.hpp"
#include "cuda_backend/resident_group_by.hpp"
#include "cuda_backend/resident_states.hpp"
#include "cuda_backend/resident_sum_kernels.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda {
namespace {

/// Slots that a block's table has at least, and groups that it holds at half load.
constexpr std::uint32_t kFewestSharedBits = 12;
constexpr std::uint64_t kSharedGroups = std::uint64_t{1} << (kFewestSharedBits - 1);
/// Groups of a partition that one pass makes, while they are no more.
constexpr std::uint64_t kOnePassGroups = 4096;
constexpr std::uint32_t kMostLog2Slots = 31;  // of the table of groups that several chunks have

std::uint32_t bits_for(std::uint64_t groups) {
  if (groups <= kSharedGroups) return 0;
  if (groups <= kOnePassGroups << kMostPassBits) return kMostPassBits;
  return std::min(log2_at_least((groups + kSharedGroups - 1) / kSharedGroups), kMostPartitionBits);
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
  log2_slots_ = group_table_bits(rows, bits_, expected_groups, group_chunk_rows(rows, launch_.multiprocessors));
  auto const in_block = expected_groups >> bits_;
  log2_shared_slots_ = std::max(log2_at_least(in_block + in_block / 2), kFewestSharedBits);
  while (log2_shared_slots_ > kFewestSharedBits &&
         aggregate_chunks_bytes(log2_shared_slots_) + kSharedReserve > lane.device().traits().shared_bytes)
    --log2_shared_slots_;
}

Result<ResidentGroupBy::Rows> ResidentGroupBy::partition_rows() {
  Rows rows;
  rows.keys = keys_;
  rows.values = values_;
  if (bits_ == 0) return rows;
  GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
  GARUDA_TRY_ASSIGN(rows.mixed, needs_mixing(lane_, launch_, keys_, rows_, bits_));
  GARUDA_TRY(lane_.step("partition", 0, rows_));
  GarudaCudaColumn const values{reinterpret_cast<std::uint64_t>(values_), 4};
  GARUDA_TRY_ASSIGN(rows.partitioned,
                    partition(lane_, launch_, keys_, rows_, std::span(&values, 1), {bits_, rows.mixed}));
  rows.keys = rows.partitioned.keys.as<std::uint32_t>();
  rows.values = rows.partitioned.columns[0].as<std::int32_t>();
  return rows;
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

Result<bool> ResidentGroupBy::aggregate(Rows const& rows, TaskList const& tasks, std::uint64_t& groups) {
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
  pass.tasks = tasks.tasks.as<ChunkTask>();
  pass.num_tasks = tasks.count;
  pass.log2_shared_slots = log2_shared_slots_;
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
  GARUDA_TRY_ASSIGN(auto rows, partition_rows());
  GARUDA_TRY_ASSIGN(auto const tasks, list_group_chunks(lane_, launch_, rows_, bits_, rows.partitioned));
  std::uint64_t groups = 0;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const fits, aggregate(rows, tasks, groups));
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
  if (!is_narrow_sum && ResidentStates::computes(lane, aggregates))
    return std::make_unique<ResidentStates>(lane, key, num_rows, aggregates, expected_groups);
  if (!is_narrow_sum) return std::make_unique<ResidentAggregates>(lane, key, num_rows, aggregates, expected_groups);
  return std::make_unique<ResidentGroupBy>(lane, reinterpret_cast<std::uint32_t const*>(key.address),
                                           reinterpret_cast<std::int32_t const*>(aggregates[0].values), num_rows,
                                           expected_groups);
}

}  // namespace garuda::cuda
