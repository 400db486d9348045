#include "operators/compute/group_by/compute_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/group_by/resident_aggregates.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "shaders/compute/group_by/group_states_layout.h"

namespace garuda::compute {
namespace {

using Function = ResidentFunction;
using contract::ValueKind;

constexpr char const* kStatesPhase = "aggregate";
// Rows that adding up in shared memory pays for, and that an invocation takes then: each workgroup clears and adds up
// all its words once.
constexpr std::uint64_t kLeastSharedRows = std::uint64_t{1} << 16;
constexpr std::uint64_t kSharedRowsEach = 64;
// Words of states in shared memory: 16 KiB is the least there is, and slots are fewer by far than a workgroup's rows.
constexpr std::uint32_t kSharedWords = 2048;
constexpr std::uint32_t kWindowBits = 64;

static_assert(static_cast<std::uint32_t>(ValueKind::int32) == static_cast<std::uint32_t>(DeviceValueKind::int32) + 1);
static_assert(static_cast<std::uint32_t>(ValueKind::float64) ==
              static_cast<std::uint32_t>(DeviceValueKind::float64) + 1);

/// A pass a state: the states of a column come in too many sets for each to be a pipeline.
PassShape state_shape(Function function, std::uint32_t slots) {
  return {"compute/group_by/aggregate_numbered.comp",
          0,
          1,
          sizeof(shaders::NumberedRowsPush),
          {{shaders::kSpecWords, 1},
           {shaders::kSpecAggregate, static_cast<std::uint32_t>(function)},
           {shaders::kSpecSlots, slots}}};
}

std::vector<DeviceAggregate> aggregates_of(contract::StateSet states) {
  std::vector<DeviceAggregate> aggregates;
  for (auto const& [state, function] :
       {std::pair{contract::kCountState, AggregateFunction::count},
        std::pair{contract::kSumState, AggregateFunction::sum}, std::pair{contract::kMinState, AggregateFunction::min},
        std::pair{contract::kMaxState, AggregateFunction::max}})
    if ((states & state) != 0) aggregates.push_back({function, 0});
  return aggregates;
}

/// Part of the exact sum of a group's floats, in units of 2^bit over the least subnormal.
struct FloatPart {
  std::uint32_t group = 0;
  std::uint32_t bit = 0;
  Int128 sum = 0;

  /// Calls use(window, part of the sum) for each window of 64 bits that it touches; the last takes what is beyond.
  template <class Use>
  void split(std::uint32_t last, Use const& use) const {
    auto const magnitude = sum < 0 ? -static_cast<UInt128>(sum) : static_cast<UInt128>(sum);
    auto const shift = bit % kWindowBits;
    auto const low = magnitude << shift;
    UInt128 const words[4] = {static_cast<std::uint64_t>(low), low >> kWindowBits,
                              shift == 0 ? 0 : magnitude >> (2 * kWindowBits - shift), 0};
    for (std::uint32_t w = 0; w < 3; ++w) {
      auto const window = bit / kWindowBits + w;
      auto const part = window == last ? words[w] | words[w + 1] << kWindowBits : words[w];
      if (part != 0) use(window, sum < 0 ? -part : part);
      if (window == last) return;
    }
  }
};

/// Windows of the groups, from the lowest to the highest that a part touches.
void sum_parts(std::vector<FloatPart> const& parts, ValueKind kind, std::size_t groups, contract::FloatSums& sums) {
  auto const last = contract::max_windows(kind) - 1;
  sums.first_window.assign(groups, 0);
  std::vector<std::uint8_t> counts(groups, 0);
  for (auto const& part : parts) {
    part.split(last, [&](std::uint32_t window, UInt128) {
      auto& first = sums.first_window[part.group];
      auto& count = counts[part.group];
      auto const end = std::max<std::uint32_t>(first + count, window + 1);
      first = static_cast<std::uint8_t>(count == 0 ? window : std::min<std::uint32_t>(first, window));
      count = static_cast<std::uint8_t>(end - first);
    });
  }
  sums.offsets.assign(groups + 1, 0);
  for (std::size_t g = 0; g < groups; ++g) sums.offsets[g + 1] = sums.offsets[g] + counts[g];
  sums.windows.assign(2 * sums.offsets.back(), 0);
  for (auto const& part : parts) {
    part.split(last, [&](std::uint32_t window, UInt128 value) {
      auto* const words = &sums.windows[2 * (sums.offsets[part.group] + window - sums.first_window[part.group])];
      auto const total = wide_word(words) + value;
      words[0] = static_cast<std::uint64_t>(total);
      words[1] = static_cast<std::uint64_t>(total >> kWindowBits);
    });
  }
}

/// A sum in two's complement in more words.
void widen(std::span<std::uint32_t const> words, bool is_signed, std::span<std::uint64_t> out) {
  auto const sign = is_signed && words.back() >> 31 != 0 ? ~std::uint32_t{0} : 0;
  auto const word = [&](std::size_t i) { return i < words.size() ? words[i] : sign; };
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = word(2 * i) | std::uint64_t{word(2 * i + 1)} << 32;
}

/// The states of one column.
class ColumnStates {
 public:
  ColumnStates(ComputeContext& context, vulkan::DeviceGroups const& groups, contract::AggregateInput const& input)
      : context_(context), groups_(groups), input_(input) {}

  Result<contract::AggregateState> run();

 private:
  Result<void> upload();
  Result<AggregatePlan> plan();
  void take_memory();
  Result<void> add_up(AggregatePlan const& plan, std::span<ResidentAggregate const> states);
  void take_group(ResidentAggregate const& state, std::span<std::uint32_t const> words, std::uint32_t group);
  void take_row(std::uint32_t number, bool is_min, std::uint32_t group);

  bool wants(contract::StateSet state) const { return (input_.states & state) != 0; }

  ComputeContext& context_;
  vulkan::DeviceGroups const& groups_;
  contract::AggregateInput const& input_;
  DeviceValues values_;
  vulkan::UploadedColumn column_;
  vk::Buffer tables_;  // of states, one after another
  std::vector<FloatPart> float_parts_;
  contract::AggregateState result_;
};

Result<void> ColumnStates::upload() {
  GARUDA_TRY_ASSIGN(column_, vulkan::upload_column(context_, input_, true));
  values_.kind = static_cast<DeviceValueKind>(std::max(static_cast<std::uint32_t>(input_.kind), 1U) - 1);
  if (column_.values) values_.column = {column_.values.address(), contract::value_words(input_.kind)};
  if (column_.validity) values_.nulls = column_.validity.address();
  return {};
}

Result<AggregatePlan> ColumnStates::plan() {
  ValueRange range;
  if (contract::is_float(input_.kind) && wants(contract::kSumState)) {
    GARUDA_TRY_ASSIGN(auto scan, ColumnScan::create(context_, {values_}, groups_.num_rows));
    GARUDA_TRY_ASSIGN(auto const ranges, scan.run(context_));
    range = ranges.front();
  }
  return plan_aggregates(aggregates_of(input_.states), {&values_, 1}, {&range, 1}, groups_.num_rows, false);
}

void ColumnStates::take_memory() {
  auto const extremes = std::size_t{groups_.num_groups} * contract::extreme_words(input_.kind);
  if (wants(contract::kCountState)) result_.counts.resize(groups_.num_groups);
  if (wants(contract::kMinState)) result_.minima.resize(extremes);
  if (wants(contract::kMaxState)) result_.maxima.resize(extremes);
  if (!wants(contract::kSumState)) return;
  if (contract::is_float(input_.kind)) {
    result_.float_sums.flags.resize(groups_.num_groups);
  } else {
    result_.sums.resize(std::size_t{groups_.num_groups} * contract::sum_words(input_.kind));
  }
}

Result<contract::AggregateState> ColumnStates::run() {
  GARUDA_TRY(upload());
  GARUDA_TRY_ASSIGN(auto const planned, plan());
  take_memory();
  auto const state_bytes = 4 * shaders::kMostStateWords * std::uint64_t{groups_.num_groups};
  auto const at_once = std::clamp<std::uint64_t>(context_.bytes_left() / state_bytes, 1,
                                                 std::min(kMostResidentAggregates, planned.states.size()));
  GARUDA_TRY_ASSIGN(tables_, context_.device_buffer(at_once * state_bytes, "states of groups"));
  auto const states = std::span(planned.states);
  for (std::size_t first = 0; first < states.size(); first += at_once)
    GARUDA_TRY(add_up(planned, states.subspan(first, std::min(at_once, states.size() - first))));
  if (wants(contract::kSumState) && contract::is_float(input_.kind))
    sum_parts(float_parts_, input_.kind, groups_.num_groups, result_.float_sums);
  return std::move(result_);
}

Result<void> ColumnStates::add_up(AggregatePlan const& plan, std::span<ResidentAggregate const> states) {
  GARUDA_TRY(context_.fill(kStatesPhase, tables_, 0));
  shaders::NumberedRowsPush push{};
  push.rows.keys = groups_.ids.address();
  push.rows.num_rows = groups_.num_rows;
  push.rows.table_slots = groups_.num_groups;
  std::size_t words = 0;
  for (auto const& state : states) {
    auto const slots = kSharedWords / resident_state_words({state});
    push.rows.table = tables_.address() + words * 4;
    push.column.values = state.function == Function::count ? 0 : plan.payload[state.column].address;
    push.column.nulls = state.nulls ? plan.payload[*state.nulls].address : 0;
    push.column.lowest_bit = state.lowest_bit;
    push.column.first_position = state.first_position;
    push.column.last_position = state.last_position;
    bool const is_shared = groups_.num_rows >= kLeastSharedRows && groups_.num_groups <= slots;
    auto const rows_each = is_shared ? kSharedRowsEach : 1;
    push.rows.num_windows =
        static_cast<std::uint32_t>(groups_for(groups_.num_rows, rows_each * context_.tuning().group_size));
    GARUDA_TRY(context_.dispatch(kStatesPhase, state_shape(state.function, is_shared ? slots : 0), push,
                                 push.rows.num_windows, groups_.num_rows, words != 0));
    words += std::size_t{resident_state_words({state})} * groups_.num_groups;
  }
  GARUDA_TRY(context_.order_all(kStatesPhase));
  std::vector<std::uint32_t> room;
  GARUDA_TRY_ASSIGN(auto const table, context_.read(tables_, 0, words, room));
  auto const* own = table.data();
  for (auto const& state : states) {
    auto const each = resident_state_words({state});
    for (std::uint32_t group = 0; group < groups_.num_groups; ++group, own += each)
      take_group(state, std::span(own, each), group);
  }
  return {};
}

void ColumnStates::take_group(ResidentAggregate const& state, std::span<std::uint32_t const> words,
                              std::uint32_t group) {
  switch (state.function) {
    case Function::count:
      // Planned, too, for what may be null.
      if (!result_.counts.empty()) result_.counts[group] = words[0];
      return;
    case Function::flags_f32:
    case Function::flags_f64:
      result_.float_sums.flags[group] = static_cast<std::uint8_t>(words[0]);
      return;
    case Function::fixed_f32:
    case Function::fixed_f64:
    case Function::long_f32:
    case Function::long_f64: {
      std::array<std::uint64_t, 2> sum{};
      widen(words, true, sum);
      if (auto const wide = static_cast<Int128>(wide_word(sum.data())); wide != 0)
        float_parts_.push_back({group, static_cast<std::uint32_t>(state.lowest_bit), wide});
      return;
    }
    case Function::min_i32:
    case Function::min_u32:
    case Function::min_f32:
      result_.minima[group] = ~words[0];
      return;
    case Function::max_i32:
    case Function::max_u32:
    case Function::max_f32:
      result_.maxima[group] = words[0];
      return;
    default:
      break;
  }
  if (state.function >= Function::min_i64) return take_row(words[0], state.function < Function::max_i64, group);
  auto const sum_words = contract::sum_words(input_.kind);
  widen(words, contract::is_signed_integer(input_.kind),
        std::span(result_.sums).subspan(std::size_t{group} * sum_words, sum_words));
}

/// The value of the row with this number + 1.
void ColumnStates::take_row(std::uint32_t number, bool is_min, std::uint32_t group) {
  if (number == 0) return;
  auto const words = contract::value_words(input_.kind);
  auto const* const value = &input_.values[std::size_t{number - 1} * words];
  auto* const out = &(is_min ? result_.minima : result_.maxima)[std::size_t{group} * (words / 2)];
  for (std::uint32_t w = 0; w < words / 2; ++w) out[w] = value[2 * w] | std::uint64_t{value[2 * w + 1]} << 32;
  if (contract::is_signed_integer(input_.kind)) out[words / 2 - 1] = ordered_signed(out[words / 2 - 1]);
  if (contract::is_float(input_.kind)) out[0] = ordered_from_bits(canonical_bits(std::bit_cast<double>(out[0])));
}

constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;

/// Addresses for the keys of `slice`. Automatic: direct while that takes no more slots than hashing.
/// Errors: usage when direct addresses are asked for and the keys have several words or span more than 2^28 slots.
Result<TableAddress> choose_address(contract::GroupSlice const& slice, Address asked) {
  TableAddress address;
  address.slots = hash_table_slots(slice.num_rows);
  if (asked == Address::hash) return address;
  auto const* packed = std::get_if<contract::KeySpan>(&slice.keys);
  if (packed != nullptr) {
    auto const shift = slice.shared_low_bits;
    auto const last = shift >= 64 ? 0 : (packed->max - packed->min) >> shift;
    if (last < (asked == Address::direct ? kMostDirectSlots : address.slots))
      return TableAddress{true, packed->min, shift, last + 1};
  }
  if (asked != Address::direct) return address;
  if (packed == nullptr) return fail(ErrorCode::usage, "address=direct was asked for, but the keys have several words");
  return fail(ErrorCode::usage,
              fmt::format("address=direct was asked for, but the keys of a slice span more than the largest table: {}",
                          kMostDirectSlots));
}

class ComputeSlice final : public vulkan::SliceWork {
 public:
  ComputeSlice(vulkan::OwnLane const& own, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
               contract::GroupByBackendOptions const& options)
      : options_(options),
        submissions_(own.lane, options.control, options.stats),
        context_(own.lane, pipelines, submissions_, tuning, own.budget_bytes) {}

  vulkan::PassContext& context() override { return context_; }
  Result<void> start_grouping(contract::GroupSlice const& slice) override;
  Result<void> group(vulkan::DeviceGroups& groups) override {
    GARUDA_TRY_ASSIGN(auto const total, groups_.run(context_, groups.ids.address(), groups.head_rows.address()));
    groups.num_groups = static_cast<std::uint32_t>(total);
    return {};
  }
  void end_grouping() override {
    groups_ = {};
    keys_ = {};
  }
  Result<contract::AggregateState> aggregate(vulkan::DeviceGroups& groups,
                                             contract::AggregateInput const& input) override {
    return slice_states(context_, groups, input);
  }

 private:
  contract::GroupByBackendOptions const& options_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  vk::Buffer keys_;
  RowGroups groups_;
};

Result<void> ComputeSlice::start_grouping(contract::GroupSlice const& slice) {
  GARUDA_TRY_ASSIGN(auto const address, choose_address(slice, options_.tuning.address));
  submissions_.add_counter(address.direct ? "direct_slices" : "hash_slices", 1);
  submissions_.max_counter("table_slots", address.slots);
  RowKeys keys;
  keys.rows = static_cast<std::uint32_t>(slice.num_rows);
  std::vector<std::span<std::byte const>> columns;
  if (auto const* packed = std::get_if<contract::KeySpan>(&slice.keys)) {
    columns.push_back(std::visit([](auto const& words) { return std::as_bytes(words); }, packed->words));
    keys.key_words = static_cast<std::uint32_t>(columns.front().size() / 4 / slice.num_rows);
  } else {
    for (auto const& words : std::get<contract::KeyWords>(slice.keys).words) columns.push_back(std::as_bytes(words));
    keys.num_words = static_cast<std::uint32_t>(columns.size());
  }
  auto const bytes = columns.front().size();
  if (columns.size() == 1) {
    GARUDA_TRY_ASSIGN(keys_, context_.input(columns.front(), "keys", bytes / slice.num_rows));
  } else {
    GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(bytes * columns.size(), "keys"));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      GARUDA_EXPECTS(columns[c].size() == bytes);
      GARUDA_TRY(context_.upload(keys_, c * bytes, columns[c]));
    }
  }
  keys.address = keys_.address();
  GARUDA_TRY_ASSIGN(groups_, RowGroups::create(context_, keys, address));
  return {};
}

}  // namespace

Result<contract::AggregateState> slice_states(ComputeContext& context, vulkan::DeviceGroups const& groups,
                                              contract::AggregateInput const& input) {
  auto const mark = context.lane().arena().mark();
  std::optional<ColumnStates> states(std::in_place, context, groups, input);
  auto result = states->run();
  // The memory of a failed call is taken back, too, once the device is done with it.
  GARUDA_TRY(context.submissions().finish());
  states.reset();
  context.lane().arena().rewind(mark);
  return result;
}

std::uint64_t slice_states_bytes(std::uint64_t rows, std::uint32_t value_words) noexcept {
  // Values, their validity and ranges, the largest state; a few buffers of fixed size.
  return rows * (4 * std::uint64_t{value_words} + 1 + 4 * shaders::kMostStateWords) + (std::uint64_t{1} << 16);
}

std::vector<vk::ComputePipelineSpec> slice_states_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto function = Function::count; function <= Function::max_i128;
       function = static_cast<Function>(static_cast<std::uint32_t>(function) + 1)) {
    if (function == Function::first_row) continue;
    for (auto const slots : {0U, kSharedWords / resident_state_words({{function}})})
      specs.push_back(compute_pipeline(state_shape(function, slots), tuning));
  }
  return specs;
}

std::uint64_t compute_group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words,
                                           std::uint32_t value_words) noexcept {
  // Ids and heads stay; keys, table, slots, first rows and their sums go before values come.
  auto const grouping = rows * (4 * std::uint64_t{key_words} + 3 * 4 + 1) + hash_table_slots(rows) * 4;
  return rows * 8 + std::max(grouping, slice_states_bytes(rows, value_words));
}

contract::PhaseCosts compute_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                            rates::DeviceRates const& rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  return contract::sliced_group_by_costs(shape, cut, rates, host,
                                         contract::atomic_ns(rows, rates) + contract::read_ns(rows, rates),
                                         contract::atomic_ns(rows * static_cast<double>(shape.requests.size()), rates));
}

Result<std::unique_ptr<contract::GroupByBackend>> open_compute_group_by(
    vk::Device& device, vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options) {
  using Backend = vulkan::LaneBackend<contract::GroupByBackend, contract::GroupByKernel, contract::GroupSlice,
                                      contract::GroupByBackendOptions>;
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  return Backend::open(device, options, "compute group-by lane",
                       [&pipelines, tuning](auto const& own, auto const& given, auto const& slice) {
                         return vulkan::GroupSliceKernel::start(
                             std::make_unique<ComputeSlice>(own, pipelines, tuning, given), slice, given);
                       });
}

}  // namespace garuda::compute
