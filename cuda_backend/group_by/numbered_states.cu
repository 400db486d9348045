#include "cuda_backend/group_by/numbered_states.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/numbers/float_parts.hpp"
#include "cuda_backend/group_by/resident_state_kernels.hpp"
#include "cuda_backend/group_by/value_kinds.hpp"
#include "cuda_backend/launch.cuh"

namespace garuda::cuda_backend {
namespace {

constexpr std::uint32_t kWindowBits = 64;
constexpr std::uint32_t kWindowSumWords = 3;  // of 32 bits: 64, and room for the rows of a block and the sign

/// Threads keep their own extremes; then one of each block speaks for it.
template <class Float>
__global__ void find_range_kernel(Float const* values, std::uint32_t rows, FloatRange* range) {
  __shared__ FloatRange own;
  if (threadIdx.x == 0) own = FloatRange{};
  __syncthreads();
  FloatRange mine;
#pragma unroll 4
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const parts = split_float(values[i]);
    mine.flags |= parts.special;
    if (parts.magnitude == 0) continue;
    auto const magnitude = static_cast<long long>(parts.magnitude);
    auto const lowest = parts.position + static_cast<std::uint32_t>(__ffsll(magnitude)) - 1;
    auto const above = parts.position + 64 - static_cast<std::uint32_t>(__clzll(magnitude));
    mine.lowest = lowest < mine.lowest ? lowest : mine.lowest;
    mine.above = above > mine.above ? above : mine.above;
  }
  if (mine.flags != 0) atomicOr(&own.flags, mine.flags);
  atomicMin(&own.lowest, mine.lowest);
  atomicMax(&own.above, mine.above);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (own.flags != 0) atomicOr(&range->flags, own.flags);
  atomicMin(&range->lowest, own.lowest);
  atomicMax(&range->above, own.above);
}

/// The states of one column: which there are, then how rows are added to them.
class ColumnStates {
 public:
  ColumnStates(Lane& lane, Groups const& groups, GarudaCudaAggregate const& column)
      : lane_(lane), groups_(groups), column_(column), kind_(static_cast<GarudaCudaValueKind>(column.kind)) {}

  Result<NumberedStates> run();

 private:
  bool wants(std::uint32_t state) const { return (column_.states & state) != 0; }
  /// Values of 128 bits are added up and compared word by word.
  std::uint32_t parts() const { return kind_ == GARUDA_CUDA_INT128 ? 2 : 1; }
  Result<std::uint64_t*> take(Buffer& memory, std::uint32_t words, int byte);
  GroupState state_of(StateFunction function, std::uint32_t part) const;
  Result<void> plan_sums();
  Result<void> plan_float_sums();
  Result<void> plan_extremes(StateFunction function, Buffer& memory);
  Result<void> add_up(std::span<GroupState const> states);

  Lane& lane_;
  Groups const& groups_;
  GarudaCudaAggregate const& column_;
  GarudaCudaValueKind kind_;
  NumberedStates found_;
  std::vector<GroupState> states_;
  std::vector<GroupState> low_extremes_;  // looked for once the high words are known
};

/// Allocates so many words for each group and sets all their bytes.
Result<std::uint64_t*> ColumnStates::take(Buffer& memory, std::uint32_t words, int byte) {
  GARUDA_TRY_ASSIGN(memory, lane_.allocate(std::uint64_t{groups_.size()} * words * 8, "states of groups"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(memory.as<void>(), byte, memory.bytes(), lane_.stream()));
  return memory.as<std::uint64_t>();
}

/// A state that has no table yet. Part 0 of 128-bit values are the low words, part 1 the signed high ones.
GroupState ColumnStates::state_of(StateFunction function, std::uint32_t part) const {
  GroupState state;
  state.function = function;
  state.validity = reinterpret_cast<std::uint32_t const*>(column_.validity);
  if (function == StateFunction::count) return state;
  bool const is_halved = parts() > 1;
  state.kind = !is_halved ? kind_ : part == 0 ? GARUDA_CUDA_UINT64 : GARUDA_CUDA_INT64;
  state.values = reinterpret_cast<std::uint64_t const*>(column_.values + 8 * part);
  state.values_each = parts();
  state.sum_words = is_wide(state.kind) ? kWindowSumWords : 2;
  return state;
}

Result<void> ColumnStates::plan_sums() {
  auto state = state_of(StateFunction::sum, 0);
  auto const words = state_words(state);
  GARUDA_TRY_ASSIGN(auto* const table, take(found_.sums, words * parts(), 0));
  for (std::uint32_t part = 0; part < parts(); ++part) {
    state = state_of(StateFunction::sum, part);
    state.table = table + part * words;
    state.stride = words * parts();
    states_.push_back(state);
  }
  return {};
}

/// A state a window that any value of the column touches.
Result<void> ColumnStates::plan_float_sums() {
  FloatRange range;
  GARUDA_TRY(lane_.step("range", 0, groups_.rows()));
  GARUDA_TRY_ASSIGN(auto const memory, lane_.allocate(sizeof(range), "range of floats"));
  GARUDA_TRY(lane_.upload(memory.as<void>(), std::as_bytes(std::span(&range, 1))));
  auto state = state_of(StateFunction::sum, 0);
  GARUDA_TRY(find_range(lane_, state.values, kind_, groups_.rows(), memory.as<FloatRange>()));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&range, 1)), memory.as<void>()));
  auto flags = state_of(StateFunction::flags, 0);
  GARUDA_TRY_ASSIGN(flags.table, take(found_.flags, 1, 0));
  flags.stride = 1;
  if (range.flags != 0) states_.push_back(flags);
  if (range.above == 0) return {};
  found_.first_window = range.lowest / kWindowBits;
  found_.num_windows = (range.above - 1) / kWindowBits - found_.first_window + 1;
  auto const words = state_words(state);
  GARUDA_TRY_ASSIGN(auto* const table, take(found_.windows, words * found_.num_windows, 0));
  state.stride = words * found_.num_windows;
  state.sum_words = kWindowSumWords;
  for (std::uint32_t w = 0; w < found_.num_windows; ++w) {
    state.table = table + w * words;
    state.first_bit = (found_.first_window + w) * kWindowBits;
    states_.push_back(state);
  }
  return {};
}

Result<void> ColumnStates::plan_extremes(StateFunction function, Buffer& memory) {
  GARUDA_TRY_ASSIGN(auto* const table, take(memory, parts(), function == StateFunction::least ? 0xff : 0));
  for (std::uint32_t part = 0; part < parts(); ++part) {
    auto state = state_of(function, part);
    state.table = table + part;
    state.stride = parts();
    bool const is_low = part + 1 < parts();
    if (is_low) state.high_extremes = table + 1;
    (is_low ? low_extremes_ : states_).push_back(state);
  }
  return {};
}

Result<void> ColumnStates::add_up(std::span<GroupState const> states) {
  while (!states.empty()) {
    auto const now = states.first(std::min<std::size_t>(states.size(), kMostStates));
    StatePass pass;
    pass.num_states = static_cast<std::uint32_t>(now.size());
    std::ranges::copy(now, pass.states.begin());
    GARUDA_TRY(aggregate_numbered(lane_, pass, {groups_.ids(), groups_.rows(), groups_.size()}));
    states = states.subspan(now.size());
  }
  return {};
}

Result<NumberedStates> ColumnStates::run() {
  if (wants(GARUDA_CUDA_COUNT)) {
    auto state = state_of(StateFunction::count, 0);
    GARUDA_TRY_ASSIGN(state.table, take(found_.counts, 1, 0));
    state.stride = 1;
    states_.push_back(state);
  }
  if (wants(GARUDA_CUDA_SUM)) GARUDA_TRY(is_float(kind_) ? plan_float_sums() : plan_sums());
  if (wants(GARUDA_CUDA_MIN)) GARUDA_TRY(plan_extremes(StateFunction::least, found_.minima));
  if (wants(GARUDA_CUDA_MAX)) GARUDA_TRY(plan_extremes(StateFunction::greatest, found_.maxima));
  GARUDA_TRY(lane_.step("aggregate", 0, groups_.rows()));
  GARUDA_TRY(add_up(states_));
  GARUDA_TRY(add_up(low_extremes_));
  return std::move(found_);
}

}  // namespace

GarudaCudaStates NumberedStates::view() const {
  return {counts.address(), sums.address(),    minima.address(), maxima.address(),
          flags.address(),  windows.address(), first_window,     num_windows};
}

Result<NumberedStates> accumulate(Lane& lane, Groups const& groups, GarudaCudaAggregate const& column) {
  return ColumnStates(lane, groups, column).run();
}

Result<void> find_range(Lane& lane, void const* values, GarudaCudaValueKind kind, std::uint32_t rows,
                        FloatRange* range) {
  auto const find = [&]<class Float>(Float const* floats) {
    return launch_over(lane, rows, find_range_kernel<Float>, floats, rows, range);
  };
  return kind == GARUDA_CUDA_FLOAT32 ? find(static_cast<float const*>(values))
                                     : find(static_cast<double const*>(values));
}

}  // namespace garuda::cuda_backend
