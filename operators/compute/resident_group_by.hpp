// The group-by of a table in device memory: grouped and aggregated in one go, the groups left there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/partitioned_side.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::shaders {
struct GroupRowsPush;
}

namespace garuda::operators {

/// What is computed of a payload column, and the words of the result.
enum class ResidentFunction : std::uint8_t {
  none,
  count,    ///< rows: int64
  sum_i32,  ///< of one-word values: int64
  sum_u32,  ///< uint64
  sum_i64,  ///< of two-word values: int64; overflow is judged on the exact total
  sum_u64,  ///< uint64
  min_i32,  ///< 1 word
  min_u32,
  max_i32,
  max_u32,
};

/// Aggregates of one group-by, at most.
inline constexpr std::size_t kMostResidentAggregates = 4;

struct ResidentAggregate {
  ResidentFunction function = ResidentFunction::count;
  std::size_t column = 0;  ///< of the payload; counts read none
};

/// How rows are brought together.
enum class ResidentWay : std::uint8_t {
  automatic,
  shared,       ///< a table in shared memory in each workgroup, merged into one in device memory: few groups
  table,        ///< one table in device memory: a medium number
  partitioned,  ///< partitioned by hash, then a table in shared memory a partition: many groups
};

/// The choices for one group-by: a pure function of its shape and the tuning.
struct ResidentGrouping {
  ResidentWay way = ResidentWay::automatic;
  std::uint32_t radix_bits = 0;   ///< of partitions
  std::uint32_t slots = 0;        ///< of a table in shared memory
  std::uint32_t copies = 1;       ///< of each slot's states there
  std::uint64_t window_rows = 0;  ///< most rows of a workgroup
  std::uint64_t table_slots = 0;  ///< of the table in device memory, at first

  friend bool operator==(ResidentGrouping const&, ResidentGrouping const&) = default;
};

/// Chooses for `rows` rows in about `groups` groups with `state_words` words of states each. What the tuning forces is
/// taken; a wrong estimate costs time, never results.
ResidentGrouping choose_resident_grouping(std::uint64_t rows, std::uint64_t groups, std::uint32_t state_words,
                                          ComputeTuning const& tuning) noexcept;

/// Groups on the device, in any order.
struct ResidentGroups {
  std::uint64_t groups = 0;
  vk::Buffer const* keys = nullptr;
  std::vector<vk::Buffer const*> aggregates;  ///< in the order asked for
};

/// The group-by of rows that stay in device memory, run as often as wanted. Sums are exact: words of 32 bits with
/// carry, no 64-bit types. Source: Wu et al. 2025, §5.
class ResidentGroupBy {
 public:
  /// For 1 to 2^30 rows with keys of one or two words, and up to 4 aggregates. `expected_groups`: about; more are found
  /// as well. Errors: limit_exceeded, out_of_memory.
  static Result<ResidentGroupBy> create(ComputeContext& context, DeviceRows rows,
                                        std::vector<ResidentAggregate> aggregates, std::uint64_t expected_groups);

  /// Records the whole group-by. Its result is good when finish() says so.
  Result<void> record(ComputeContext& context);
  /// Waits, and aggregates again with more room when groups did not fit.
  /// Errors: invalid_input when a sum leaves 64 bits, naming the group; limit_exceeded when keys cannot be told apart.
  Result<ResidentGroups> finish(ComputeContext& context);

  ResidentGrouping const& grouping() const noexcept { return grouping_; }

 private:
  Result<void> take_table(ComputeContext& context);
  Result<void> take_targets(ComputeContext& context);
  Result<void> record_aggregates(ComputeContext& context);
  Result<void> grow(ComputeContext& context, std::uint64_t groups);
  Result<std::uint64_t> key_at(ComputeContext& context, std::uint32_t group);
  shaders::GroupRowsPush push() const;

  DeviceRows rows_;
  std::vector<ResidentAggregate> aggregates_;
  ResidentGrouping grouping_;
  std::optional<PartitionedSide> partitions_;
  std::uint64_t capacity_ = 0;
  vk::Buffer addresses_;  // of values
  vk::Buffer targets_;    // addresses of the result's columns
  vk::Buffer table_;
  vk::Buffer state_;
  vk::Buffer keys_out_;
  std::vector<vk::Buffer> columns_out_;
};

/// Words of a value of the result's column.
std::uint32_t resident_result_words(ResidentFunction function) noexcept;

/// Words of the states of these aggregates.
std::uint32_t resident_state_words(std::vector<ResidentAggregate> const& aggregates) noexcept;

/// Every pass of the resident group-by for a few sets of aggregates, with this tuning.
std::vector<vk::ComputePipelineSpec> resident_group_by_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::operators
