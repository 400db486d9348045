// The group-by of columns in device memory, with everything the operator offers for values of fixed width.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/group_by/resident_aggregates.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::compute {

/// The columns that are grouped. They stay in place while it runs.
struct ColumnGroupBySpec {
  std::uint64_t rows = 0;          ///< 1 to 2^30
  std::vector<DeviceValues> keys;  ///< none: one group of all rows
  std::vector<DeviceValues> values;
  std::vector<DeviceAggregate> aggregates;
  bool ordered = false;  ///< groups come in the order of their first rows, else in any
  GroupMethod method = GroupMethod::automatic;
  std::uint64_t expected_groups = 0;  ///< about; 0: estimated from a sample
};

/// A column of the groups, in device memory.
struct GroupedColumn {
  vk::Buffer const* values = nullptr;
  std::uint32_t words = 1;
  vk::Buffer const* nulls = nullptr;  ///< u32 a group: 1 where it is null; nullptr: nowhere
};

/// Keys become one word (DeviceKeys), aggregates states of its groups (plan_aggregates), four to a ResidentGroupBy:
/// more of them are computed in several, whose groups are then put in the order of their keys to meet. States become
/// values in the end (AggregateFinish). Sums of floats are exact and rounded once.
class ColumnGroupBy {
 public:
  /// Blocks: reads the ranges of columns where keys or sums need them. Errors: limit_exceeded, out_of_memory; usage for
  /// method sorted, and for a method that keys do not allow.
  static Result<ColumnGroupBy> create(ComputeContext& context, ColumnGroupBySpec spec);

  /// Groups and waits for what has to be known on the host; as often as wanted, with the same columns and contents.
  /// Errors: those of create().
  Result<void> run(ComputeContext& context);

  std::uint64_t num_groups() const noexcept { return num_groups_; }
  /// The overflow of a sum that leaves its type; the columns are good all the same.
  std::optional<DeviceSumOverflow> overflow() const noexcept { return overflow_; }
  std::vector<GroupedColumn> keys() const;
  std::vector<GroupedColumn> aggregates() const;

  DeviceKeyForm key_form() const noexcept { return keys_.form(); }
  std::uint32_t key_bits() const noexcept { return keys_.key_bits(); }
  ResidentGrouping const& grouping() const { return batches_.front().grouping(); }
  std::size_t num_batches() const noexcept { return batches_.size(); }

 private:
  /// Groups' words and states, in one order for all batches.
  struct Aligned {
    std::vector<vk::Buffer const*> states;
    vk::Buffer const* words = nullptr;
  };
  /// An order of the groups: the sorted words and who they belonged to.
  struct Sorted {
    std::uint64_t groups = 0;
    std::optional<SortedSide> side;
    std::vector<vk::Buffer> columns;
  };

  Result<void> scan(ComputeContext& context);
  Result<void> take_batches(ComputeContext& context);
  Result<std::uint64_t> estimate_groups(ComputeContext& context);
  Result<Aligned> align(ComputeContext& context);
  Result<Aligned> reorder(ComputeContext& context, std::size_t order, DeviceColumn key, std::uint32_t bits,
                          std::size_t first_state, Aligned const& groups);
  bool needs_key_order() const noexcept;

  ColumnGroupBySpec spec_;
  std::optional<ColumnScan> key_scan_;
  std::optional<ColumnScan> value_scan_;
  std::vector<std::size_t> scanned_;  // value columns of value_scan_
  DeviceKeys keys_;
  AggregatePlan plan_;
  std::vector<ResidentGroupBy> batches_;
  std::optional<AggregateFinish> finish_;
  std::vector<Sorted> orders_;
  std::uint64_t num_groups_ = 0;
  std::optional<DeviceSumOverflow> overflow_;
  vk::Buffer const* plain_keys_ = nullptr;  // of groups, where keys are taken as they are
};

/// Every pipeline of it, for a few sets of aggregates.
std::vector<vk::ComputePipelineSpec> column_group_by_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
