#include "operators/compute/group_by/resident_aggregates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "shaders/compute/group_by/finalise_layout.h"

namespace garuda::compute {
namespace {

using Function = ResidentFunction;

constexpr char const* kFinalisePhase = "finalise";
constexpr std::uint32_t kSumBits = 128;          // of the widest sums of floats
constexpr std::uint32_t kFixedBits = 96;         // of the others
constexpr std::int32_t kLeastExponent32 = -149;  // of position 0
constexpr std::int32_t kLeastExponent64 = -1074;

static_assert(static_cast<std::uint32_t>(FinalStep::Kind::integer) == shaders::kFinalInteger);
static_assert(static_cast<std::uint32_t>(FinalStep::Kind::mean) == shaders::kFinalMean);
static_assert(static_cast<std::uint32_t>(FinalStep::Kind::taken) == shaders::kFinalNone);

class Planner {
 public:
  Planner(std::span<DeviceAggregate const> aggregates, std::span<DeviceValues const> columns,
          std::span<ValueRange const> ranges, std::uint64_t rows)
      : aggregates_(aggregates), columns_(columns), ranges_(ranges), rows_(rows) {}

  AggregatePlan run(bool first_row) {
    for (auto const& aggregate : aggregates_) plan_.steps.push_back(step_of(aggregate));
    if (first_row) plan_.first_row = add_state({Function::first_row});
    return std::move(plan_);
  }

 private:
  std::size_t add_payload(DeviceColumn const& column) {
    auto const found = std::ranges::find(plan_.payload, column.address, &DeviceColumn::address);
    if (found != plan_.payload.end()) return static_cast<std::size_t>(found - plan_.payload.begin());
    plan_.payload.push_back(column);
    return plan_.payload.size() - 1;
  }

  std::size_t add_state(ResidentAggregate const& state) {
    auto const is_same = [&](ResidentAggregate const& other) {
      return other.function == state.function && other.column == state.column && other.nulls == state.nulls &&
             other.null_mask == state.null_mask && other.first_position == state.first_position;
    };
    auto const found = std::ranges::find_if(plan_.states, is_same);
    if (found != plan_.states.end()) return static_cast<std::size_t>(found - plan_.states.begin());
    plan_.states.push_back(state);
    return plan_.states.size() - 1;
  }

  ResidentAggregate state_of(Function function, std::size_t column) {
    auto const& values = columns_[column];
    ResidentAggregate state{function};
    if (function != Function::count) state.column = add_payload(values.column);
    if (values.has_nulls()) {
      state.nulls = add_payload({values.nulls, 1});
      state.null_mask = values.null_mask;
    }
    return state;
  }

  FinalStep step_of(DeviceAggregate const& aggregate) {
    FinalStep step;
    if (!aggregate.column) {
      step.state = add_state({Function::count});
      return step;
    }
    auto const column = *aggregate.column;
    auto const& values = columns_[column];
    step.may_be_null = values.has_nulls() && aggregate.function != AggregateFunction::count;
    if (step.may_be_null || aggregate.function == AggregateFunction::mean)
      step.counts = add_state(state_of(Function::count, column));
    switch (aggregate.function) {
      case AggregateFunction::count:
        step.state = add_state(state_of(Function::count, column));
        break;
      case AggregateFunction::min:
      case AggregateFunction::max:
        step.state = add_state(state_of(extreme_of(values.kind, aggregate.function), column));
        step.words = values.column.words;
        break;
      case AggregateFunction::sum:
      case AggregateFunction::mean:
        if (is_float(values.kind)) {
          plan_float_sum(column, step);
        } else {
          plan_sum(column, aggregate, step);
        }
        break;
      default:
        throw LogicError("an aggregate that is not made of a device's states");
    }
    if (aggregate.function == AggregateFunction::mean) step.kind = FinalStep::Kind::mean;
    return step;
  }

  static Function extreme_of(DeviceValueKind kind, AggregateFunction function) {
    bool const is_min = function == AggregateFunction::min;
    switch (kind) {
      case DeviceValueKind::int32:
        return is_min ? Function::min_i32 : Function::max_i32;
      case DeviceValueKind::uint32:
        return is_min ? Function::min_u32 : Function::max_u32;
      case DeviceValueKind::int64:
        return is_min ? Function::min_i64 : Function::max_i64;
      case DeviceValueKind::uint64:
        return is_min ? Function::min_u64 : Function::max_u64;
      case DeviceValueKind::int128:
        return is_min ? Function::min_i128 : Function::max_i128;
      case DeviceValueKind::float32:
        return is_min ? Function::min_f32 : Function::max_f32;
      case DeviceValueKind::float64:
        return is_min ? Function::min_f64 : Function::max_f64;
      case DeviceValueKind::bits:
      case DeviceValueKind::float16:
        break;
    }
    GARUDA_EXPECTS(false && "values without an order have no extremes");
    return Function::none;
  }

  void plan_sum(std::size_t column, DeviceAggregate const& aggregate, FinalStep& step) {
    auto const kind = columns_[column].kind;
    bool const is_narrow = kind == DeviceValueKind::int32 || kind == DeviceValueKind::uint32;
    step.is_signed = kind != DeviceValueKind::uint32 && kind != DeviceValueKind::uint64;
    step.sum_words = is_narrow ? 2 : kind == DeviceValueKind::int128 ? 5 : 3;
    step.total_words = step.sum_words;
    auto const function = kind == DeviceValueKind::int32    ? Function::sum_i32
                          : kind == DeviceValueKind::uint32 ? Function::sum_u32
                          : kind == DeviceValueKind::int64  ? Function::total_i64
                          : kind == DeviceValueKind::uint64 ? Function::total_u64
                                                            : Function::total_i128;
    auto const state = add_state(state_of(function, column));
    step.parts = {{state, 0}};
    step.divisor = std::pow(10.0, aggregate.scale);
    if (aggregate.is_decimal) {
      step.kind = FinalStep::Kind::decimal;
      step.words = aggregate.function == AggregateFunction::mean ? 2 : 4;
    } else if (is_narrow) {
      step.state = state;  // sums of so few rows do not leave 64 bits
    } else {
      step.kind = FinalStep::Kind::integer;
    }
  }

  /// Windows of positions, each of whose sums fits so many bits with its sign.
  void plan_float_sum(std::size_t column, FinalStep& step) {
    auto const& range = ranges_[column];
    bool const is_wide = columns_[column].kind == DeviceValueKind::float64;
    auto const row_bits = static_cast<std::uint32_t>(std::bit_width(rows_)) + 1;
    auto const mantissa_bits = is_wide ? 53U : 24U;
    step.kind = FinalStep::Kind::floating;
    if (range.flags != 0) step.flags = add_state(state_of(is_wide ? Function::flags_f64 : Function::flags_f32, column));
    if (!range.has_numbers) return;
    auto const bits = range.highest_bit - range.lowest_bit + row_bits;
    bool const is_short = bits <= kFixedBits;
    auto const function = is_wide ? (is_short ? Function::fixed_f64 : Function::long_f64)
                                  : (is_short ? Function::fixed_f32 : Function::long_f32);
    step.sum_words = is_short ? 3 : 4;
    auto const add = [&](std::uint32_t lowest, std::uint32_t first, std::uint32_t last) {
      auto state = state_of(function, column);
      state.lowest_bit = static_cast<std::int32_t>(lowest);
      state.first_position = first;
      state.last_position = last;
      step.parts.push_back({add_state(state), lowest - base_});
    };
    base_ = bits <= kSumBits ? range.lowest_bit : range.first_position;
    step.exponent = static_cast<std::int32_t>(base_) + (is_wide ? kLeastExponent64 : kLeastExponent32);
    step.total_words = step.sum_words;
    if (bits <= kSumBits) return add(base_, 0, ~std::uint32_t{0});
    auto const span = kSumBits - mantissa_bits - row_bits;
    for (auto first = base_; first <= range.last_position; first += span) add(first, first, first + span - 1);
    step.total_words = (range.last_position - base_ + kSumBits + kWordBits) / kWordBits + 1;
  }

  std::span<DeviceAggregate const> aggregates_;
  std::span<DeviceValues const> columns_;
  std::span<ValueRange const> ranges_;
  std::uint64_t rows_;
  std::uint32_t base_ = 0;
  AggregatePlan plan_;
};

/// Groups of a workgroup whose sums fit into its shared memory, at most the tuning's group size.
std::uint32_t held_groups(FinalStep const& step, ComputeTuning const& tuning) {
  auto const fit = tuning.shared_bytes / (std::max(step.total_words, 1U) * sizeof(std::uint32_t));
  return std::min(tuning.group_size, static_cast<std::uint32_t>(std::bit_floor(fit)));
}

PassShape final_shape(FinalStep const& step, ComputeTuning const& tuning) {
  auto const held = held_groups(step, tuning);
  return {"compute/group_by/finalise_groups.comp",
          std::max(held, tuning.subgroup_size),
          1,
          sizeof(shaders::FinalisePush),
          {{shaders::kSpecFinal, static_cast<std::uint32_t>(step.kind)},
           {shaders::kSpecSumWords, step.sum_words},
           {shaders::kSpecSigned, step.is_signed ? 1U : 0U},
           {shaders::kSpecTotalWords, step.total_words},
           {shaders::kSpecHeld, held}}};
}

}  // namespace

AggregatePlan plan_aggregates(std::span<DeviceAggregate const> aggregates, std::span<DeviceValues const> columns,
                              std::span<ValueRange const> ranges, std::uint64_t rows, bool first_row) {
  return Planner(aggregates, columns, ranges, rows).run(first_row);
}

Result<AggregateFinish> AggregateFinish::create(ComputeContext& context, AggregatePlan const& plan) {
  AggregateFinish finish;
  finish.plan_ = plan;
  for (auto const& step : plan.steps) {
    auto const bytes = step.parts.size() * sizeof(shaders::SumPart);
    GARUDA_TRY_ASSIGN(auto parts, context.device_buffer(bytes, "parts of sums"));
    finish.parts_.push_back(std::move(parts));
  }
  auto const bytes = std::max<std::size_t>(plan.steps.size(), 1) * sizeof(std::uint32_t);
  GARUDA_TRY_ASSIGN(finish.overflows_, context.device_buffer(bytes, "overflows of sums"));
  return finish;
}

Result<void> AggregateFinish::take_columns(ComputeContext& context, std::uint64_t groups) {
  if (groups == groups_ && columns_.size() == plan_.steps.size()) return {};
  columns_.clear();
  for (auto const& step : plan_.steps) {
    Column column;
    column.words = step.words;
    if (step.kind != FinalStep::Kind::taken) {
      GARUDA_TRY_ASSIGN(column.values, context.device_buffer(groups * step.words * 4, "aggregate of groups"));
    }
    if (step.may_be_null) {
      GARUDA_TRY_ASSIGN(column.nulls, context.device_buffer(groups * 4, "nulls of an aggregate"));
    }
    columns_.push_back(std::move(column));
  }
  groups_ = groups;
  return {};
}

Result<void> AggregateFinish::record(ComputeContext& context, std::span<vk::Buffer const* const> states,
                                     std::uint64_t groups) {
  GARUDA_TRY(take_columns(context, groups));
  GARUDA_TRY(context.fill(kFinalisePhase, overflows_, 0));
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    auto const& step = plan_.steps[i];
    auto& column = columns_[i];
    bool const is_taken = step.kind == FinalStep::Kind::taken;
    if (is_taken) column.taken = states[step.state];
    if (is_taken && !step.may_be_null) continue;
    shaders::FinalisePush push{};
    push.target = is_taken ? 0 : column.values.address();
    std::vector<shaders::SumPart> parts;
    for (auto const& part : step.parts) parts.push_back({states[part.state]->address(), part.bit, 0});
    if (!parts.empty()) GARUDA_TRY(context.update(kFinalisePhase, parts_[i], std::as_bytes(std::span(parts))));
    push.nulls = column.nulls ? column.nulls->address() : 0;
    push.parts = parts_[i].address();
    push.flags = step.flags ? states[*step.flags]->address() : 0;
    push.counts = step.counts ? states[*step.counts]->address() : 0;
    push.overflow = overflows_.address() + i * sizeof(std::uint32_t);
    push.num_parts = static_cast<std::uint32_t>(step.parts.size());
    push.num_groups = static_cast<std::uint32_t>(groups);
    push.exponent = step.exponent;
    auto const divisor = step.divisor == 1 ? 0 : std::bit_cast<std::uint64_t>(step.divisor);
    push.divisor_low = static_cast<std::uint32_t>(divisor);
    push.divisor_high = static_cast<std::uint32_t>(divisor >> 32);
    auto const& tuning = context.tuning();
    GARUDA_TRY(context.dispatch(kFinalisePhase, final_shape(step, tuning), push,
                                groups_for(groups, held_groups(step, tuning)), groups));
  }
  return {};
}

Result<std::optional<DeviceSumOverflow>> AggregateFinish::overflow(ComputeContext& context) {
  std::vector<std::uint32_t> overflows(plan_.steps.size());
  if (overflows.empty()) return std::nullopt;
  GARUDA_TRY(context.order_all(kFinalisePhase));
  GARUDA_TRY(context.read_back(kFinalisePhase, overflows_, 0, std::as_writable_bytes(std::span(overflows))));
  auto const first = std::ranges::find_if(overflows, [](std::uint32_t word) { return word != 0; });
  if (first == overflows.end()) return std::nullopt;
  return DeviceSumOverflow{static_cast<std::size_t>(first - overflows.begin()), shaders::kNoGroup - *first};
}

std::vector<vk::ComputePipelineSpec> AggregateFinish::pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const kind : {FinalStep::Kind::taken, FinalStep::Kind::integer, FinalStep::Kind::decimal,
                          FinalStep::Kind::floating, FinalStep::Kind::mean}) {
    FinalStep step;
    step.kind = kind;
    step.sum_words = 3;
    for (std::uint32_t const total : {3U, 72U}) {
      step.total_words = total;
      specs.push_back(compute_pipeline(final_shape(step, tuning), tuning));
    }
  }
  return specs;
}

}  // namespace garuda::compute
