// The group-by of a table in device memory: grouped and aggregated in one go, the groups left there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/group_by.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct GroupRowsPush;
}

namespace garuda::compute {

/// The function that is computed of a payload column. Values are those of the shaders
/// (shaders/compute/group_by/group_states_layout.h).
enum class ResidentFunction : std::uint8_t {
  none,
  count,    ///< rows, or values that are not null: int64
  sum_i32,  ///< of one-word values: int64
  sum_u32,  ///< uint64
  min_i32,  ///< 1 word
  min_u32,
  max_i32,
  max_u32,
  min_f32,
  max_f32,
  first_row,   ///< the lowest row number: 1 word
  total_i64,   ///< of two-word values, the sum in two's complement: 3 words
  total_u64,   ///< 3 words
  total_i128,  ///< of four-word values: 5 words
  fixed_f32,   ///< the sum as an integer over `lowest_bit`: 3 words
  fixed_f64,
  long_f32,  ///< the same: 4 words
  long_f64,
  flags_f32,  ///< whether there are NaNs and infinities: 1 word (kFloatNan, …)
  flags_f64,
  min_i64,  ///< 2 words
  min_u64,
  min_f64,
  min_i128,  ///< 4 words
  max_i64,
  max_u64,
  max_f64,
  max_i128,
};

/// Aggregates of one group-by, at most.
inline constexpr std::size_t kMostResidentAggregates = 4;

struct ResidentAggregate {
  ResidentFunction function = ResidentFunction::count;
  std::size_t column = 0;                           ///< of the payload; counts of rows and first_row read none
  std::optional<std::size_t> nulls = std::nullopt;  ///< of the payload, one word: rows that take no part …
  std::uint32_t null_mask = 0;                      ///< … have any of these bits
  /// Sums of floats have positions (core/numbers/float_parts.hpp) that take part, and a weight of the sum's bit 0.
  std::int32_t lowest_bit = 0;
  std::uint32_t first_position = 0;
  std::uint32_t last_position = ~std::uint32_t{0};
};

/// The choices for one group-by: a pure function of its shape, what is asked for and the tuning.
struct ResidentGrouping {
  /// partitioned: by hash, then a table in shared memory a partition, for many groups; hash: one table in device
  /// memory; shared: a table in shared memory in each workgroup, merged into one in device memory, for few groups.
  GroupMethod method = GroupMethod::automatic;
  std::uint64_t groups = 0;       ///< expected: 1 to the rows
  std::uint32_t radix_bits = 0;   ///< of partitions
  std::uint32_t slots = 0;        ///< of a table in shared memory
  std::uint32_t copies = 1;       ///< of each slot's states there
  std::uint32_t group_size = 0;   ///< invocations of a workgroup
  std::uint32_t items = 0;        ///< rows of an invocation at a time
  std::uint64_t window_rows = 0;  ///< most rows of a workgroup
  std::uint64_t table_slots = 0;  ///< of the table in device memory, at first

  friend bool operator==(ResidentGrouping const&, ResidentGrouping const&) = default;
};

/// Chooses for `rows` rows in about `groups` groups with `state_words` words of states each, by the method that is
/// `asked` for, which is not sorted. A wrong estimate costs time, never results.
ResidentGrouping choose_resident_grouping(std::uint64_t rows, std::uint64_t groups, std::uint32_t state_words,
                                          GroupMethod asked, ComputeTuning const& tuning) noexcept;

/// Groups on the device, in any order.
struct ResidentGroups {
  std::uint64_t groups = 0;
  vk::Buffer const* keys = nullptr;           ///< of no keys: unspecified
  std::vector<vk::Buffer const*> aggregates;  ///< in the order asked for
};

/// The group-by of rows that stay in device memory, run as often as wanted. Sums are exact: words of 32 bits with
/// carry, no 64-bit types. Source: Wu et al. 2025, §5.
class ResidentGroupBy {
 public:
  /// For 1 to 2^30 rows with keys of one or two words, or of none: then all rows are one group; and up to 4 aggregates.
  /// `grouping`: of choose_resident_grouping(); more groups than it was chosen for are found as well.
  /// Errors: limit_exceeded, out_of_memory; usage for keys of no words that are to be partitioned.
  static Result<ResidentGroupBy> create(ComputeContext& context, DeviceRows rows,
                                        std::vector<ResidentAggregate> aggregates, ResidentGrouping const& grouping);

  /// Records the whole group-by. Its result is good when finish() says so.
  Result<void> record(ComputeContext& context);
  /// Waits, and aggregates again with more room when groups did not fit.
  /// Errors: limit_exceeded when keys cannot be told apart; out_of_memory.
  Result<ResidentGroups> finish(ComputeContext& context);

  ResidentGrouping const& grouping() const noexcept { return grouping_; }

 private:
  Result<void> take_table(ComputeContext& context);
  Result<void> take_targets(ComputeContext& context);
  Result<void> record_aggregates(ComputeContext& context);
  Result<void> grow(ComputeContext& context, std::uint64_t groups);
  Result<void> record_values(ComputeContext& context);
  VkDeviceAddress payload(std::size_t column) const;
  VkDeviceAddress row_numbers() const;
  std::uint32_t key_words() const noexcept { return rows_.keys.words; }
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

}  // namespace garuda::compute
