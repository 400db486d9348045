// Aggregates of a resident group-by as states of its passes, and how these become values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/group_by.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/group_by/resident_group_by.hpp"

namespace garuda::compute {

/// One aggregate of a group-by of device columns.
struct DeviceAggregate {
  AggregateFunction function = AggregateFunction::count;
  std::optional<std::size_t> column = std::nullopt;  ///< among the value columns; nullopt: counts rows
  bool is_decimal = false;                           ///< the integers are decimals …
  std::int32_t scale = 0;                            ///< … with so many digits after the point, 0…76
};

/// A part of an exact sum: what a state counts in units of 2^bit.
struct SumPartOf {
  std::size_t state = 0;
  std::uint32_t bit = 0;
};

/// How an aggregate's values come about.
struct FinalStep {
  enum class Kind : std::uint8_t {
    taken,  ///< they are a state's column
    integer,
    decimal,
    floating,
    mean,
  };
  Kind kind = Kind::taken;
  std::size_t state = 0;         ///< taken
  std::vector<SumPartOf> parts;  ///< of the sum
  std::uint32_t sum_words = 2;   ///< of a part
  bool is_signed = true;
  std::uint32_t total_words = 2;      ///< that hold the whole sum
  std::int32_t exponent = 0;          ///< of bit 0 of the sum
  std::optional<std::size_t> flags;   ///< the state that says what there is beside numbers
  std::optional<std::size_t> counts;  ///< values of a group
  bool may_be_null = false;           ///< where that is 0
  double divisor = 1;                 ///< of means
  std::uint32_t words = 2;            ///< of a value
};

/// States that the passes compute, each once, and the aggregates that are made of them.
struct AggregatePlan {
  std::vector<DeviceColumn> payload;  ///< columns that rows bring along
  std::vector<ResidentAggregate> states;
  std::vector<FinalStep> steps;          ///< an aggregate each
  std::optional<std::size_t> first_row;  ///< the state with the first rows
};

/// Plans aggregates of `columns` of `rows` rows, with the ranges of those that are floats; `first_row`: groups' first
/// rows are wanted. The result is a pure function of these. Sums of floats are integers over the lowest bit that any
/// value has when 128 bits hold them, else of windows of positions, each such an integer.
AggregatePlan plan_aggregates(std::span<DeviceAggregate const> aggregates, std::span<DeviceValues const> columns,
                              std::span<ValueRange const> ranges, std::uint64_t rows, bool first_row);

/// The first aggregate with a sum that leaves its type, and the first such group of it.
struct DeviceSumOverflow {
  std::size_t aggregate = 0;
  std::uint32_t group = 0;
};

/// Makes values of states.
class AggregateFinish {
 public:
  /// Errors: limit_exceeded, out_of_memory.
  static Result<AggregateFinish> create(ComputeContext& context, AggregatePlan const& plan);

  /// An aggregate's column, and where it is null; u32 a group.
  struct Column {
    vk::Buffer values;
    vk::Buffer const* taken = nullptr;  ///< instead of `values`
    std::optional<vk::Buffer> nulls;
    std::uint32_t words = 2;
  };

  /// Records the columns of `groups` groups from their states' columns. Memory is kept while that is their number.
  Result<void> record(ComputeContext& context, std::span<vk::Buffer const* const> states, std::uint64_t groups);
  /// An aggregate each; as recorded last.
  std::vector<Column> const& columns() const noexcept { return columns_; }
  /// Waits; nothing when all sums fit their types.
  Result<std::optional<DeviceSumOverflow>> overflow(ComputeContext& context);

  /// Some of its pipelines with this tuning: one of each kind.
  static std::vector<vk::ComputePipelineSpec> pipelines(ComputeTuning const& tuning);

 private:
  Result<void> take_columns(ComputeContext& context, std::uint64_t groups);

  AggregatePlan plan_;
  std::vector<vk::Buffer> parts_;  // of a step each
  std::vector<Column> columns_;
  std::uint64_t groups_ = 0;
  vk::Buffer overflows_;  // of a step each
};

}  // namespace garuda::compute
