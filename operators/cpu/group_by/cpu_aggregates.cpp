#include "operators/cpu/group_by/cpu_aggregates.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {
namespace {

using Ids = std::span<std::uint32_t const>;

/// Calls body(row, group) for every row with a value. Errors: cancelled.
template <class Body>
Result<void> for_all_values(contract::AggregateInput const& input, Ids ids, Control const* control, Body const& body) {
  for (std::uint64_t first = 0; first < ids.size(); first += kBlockRows) {
    GARUDA_TRY(check_cancelled(control));
    for_valid_rows(input, first, ids.subspan(first, std::min<std::uint64_t>(kBlockRows, ids.size() - first)), body);
  }
  return {};
}

/// sum += value, in `words` words of two's complement.
void add_wide(std::uint64_t* sum, Int128 value) {
  auto const high = static_cast<std::uint64_t>(value >> 64);
  auto const sign = static_cast<std::uint64_t>(value >> 127);
  std::uint64_t const addend[4] = {static_cast<std::uint64_t>(value), high, sign, sign};
  std::uint64_t carry = 0;
  for (int w = 0; w < 4; ++w) {
    auto const total = UInt128{sum[w]} + addend[w] + carry;
    sum[w] = static_cast<std::uint64_t>(total);
    carry = static_cast<std::uint64_t>(total >> 64);
  }
}

template <class T>
Result<void> sum_integers(contract::AggregateInput const& input, Ids ids, Control const* control,
                          contract::AggregateState& state) {
  if constexpr (std::is_same_v<T, Int128>) {
    return for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
      add_wide(&state.sums[std::uint64_t{group} * 4], value_at<Int128>(input, row));
    });
  } else {
    std::vector<Int128> sums(state.sums.size() / 2);
    GARUDA_TRY(for_all_values(input, ids, control,
                              [&](std::uint64_t row, std::uint32_t group) { sums[group] += value_at<T>(input, row); }));
    for (std::size_t g = 0; g < sums.size(); ++g) {
      state.sums[2 * g] = static_cast<std::uint64_t>(sums[g]);
      state.sums[2 * g + 1] = static_cast<std::uint64_t>(sums[g] >> 64);
    }
    return {};
  }
}

/// First and last window that the values of a group touch; first > last: none.
struct WindowRange {
  std::uint8_t first = std::numeric_limits<std::uint8_t>::max();
  std::uint8_t last = 0;
};

template <class T>
Result<void> sum_floats(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                        Control const* control, contract::FloatSums& sums) {
  sums.flags.assign(num_groups, 0);
  sums.first_window.assign(num_groups, 0);
  sums.offsets.assign(num_groups + 1, 0);
  std::vector<WindowRange> ranges(num_groups);
  GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
    auto const parts = split_float(value_at<T>(input, row));
    sums.flags[group] |= parts.special;
    if (parts.magnitude == 0) return;
    auto const highest = parts.position + static_cast<std::uint32_t>(std::bit_width(parts.magnitude)) - 1;
    auto& range = ranges[group];
    range.first = std::min(range.first, static_cast<std::uint8_t>(parts.position / 64));
    range.last = std::max(range.last, static_cast<std::uint8_t>(highest / 64));
  }));
  for (std::size_t g = 0; g < num_groups; ++g) {
    auto const any = ranges[g].first <= ranges[g].last;
    sums.first_window[g] = any ? ranges[g].first : std::uint8_t{0};
    sums.offsets[g + 1] = sums.offsets[g] + (any ? 1U + ranges[g].last - ranges[g].first : 0U);
  }
  std::vector<Int128> windows(sums.offsets.back());
  GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
    auto const parts = split_float(value_at<T>(input, row));
    if (parts.magnitude == 0) return;
    auto const shifted = UInt128{parts.magnitude} << (parts.position % 64);
    auto const low = static_cast<Int128>(static_cast<std::uint64_t>(shifted));
    auto const high = static_cast<Int128>(static_cast<std::uint64_t>(shifted >> 64));
    auto* const window = &windows[sums.offsets[group] + parts.position / 64 - sums.first_window[group]];
    window[0] += parts.negative ? -low : low;
    if (high != 0) window[1] += parts.negative ? -high : high;
  }));
  sums.windows.resize(windows.size() * 2);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    sums.windows[2 * w] = static_cast<std::uint64_t>(windows[w]);
    sums.windows[2 * w + 1] = static_cast<std::uint64_t>(windows[w] >> 64);
  }
  return {};
}

/// `words`: of an extreme. Minima start from all ones, maxima from 0.
template <class T>
Result<void> find_extremes(contract::AggregateInput const& input, Ids ids, Control const* control,
                           contract::AggregateState& state) {
  using Ordered = OrderedOf<T>;
  auto const words = sizeof(Ordered) / 8;
  auto const find = [&](contract::Words& extremes, Ordered start, auto better) -> Result<void> {
    std::vector<Ordered> best(extremes.size() / words, start);
    GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
      auto const value = ordered(value_at<T>(input, row));
      if (better(value, best[group])) best[group] = value;
    }));
    std::memcpy(extremes.data(), best.data(), best.size() * sizeof(Ordered));
    return {};
  };
  auto const* const order = order_of<T>(input.order);
  if ((input.states & contract::kMinState) != 0)
    GARUDA_TRY(
        find(state.minima, static_cast<Ordered>(~Ordered{0}), [&](auto a, auto b) { return is_less(order, a, b); }));
  if ((input.states & contract::kMaxState) != 0)
    GARUDA_TRY(find(state.maxima, Ordered{0}, [&](auto a, auto b) { return is_less(order, b, a); }));
  return {};
}

/// Brings the values of each group together.
template <class T>
Result<void> list_values(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                         Control const* control, contract::ValueLists& lists) {
  using Ordered = OrderedOf<T>;
  constexpr auto kWords = sizeof(Ordered) / 8;
  lists.offsets.assign(num_groups + 1, 0);
  GARUDA_TRY(for_all_values(input, ids, control,
                            [&](std::uint64_t, std::uint32_t group) { ++lists.offsets[std::size_t{group} + 1]; }));
  std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
  lists.words.resize(kWords * lists.offsets.back());
  auto next = lists.offsets;
  return for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
    auto const word = ordered(value_at<T>(input, row));
    std::memcpy(&lists.words[kWords * next[group]++], &word, sizeof(word));
  });
}

template <class T>
Result<void> fill_states(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                         Control const* control, contract::AggregateState& state) {
  if ((input.states & contract::kMinState) != 0) state.minima.resize(num_groups * contract::extreme_words(input.kind));
  if ((input.states & contract::kMaxState) != 0) state.maxima.resize(num_groups * contract::extreme_words(input.kind));
  GARUDA_TRY(find_extremes<T>(input, ids, control, state));
  if ((input.states & contract::kListState) != 0)
    GARUDA_TRY(list_values<T>(input, ids, num_groups, control, state.lists));
  if ((input.states & contract::kSumState) == 0) return {};
  if constexpr (std::is_floating_point_v<T>) {
    return sum_floats<T>(input, ids, num_groups, control, state.float_sums);
  } else {
    state.sums.assign(num_groups * contract::sum_words(input.kind), 0);
    return sum_integers<T>(input, ids, control, state);
  }
}

Result<contract::AggregateState> aggregate(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                                           Control const* control) {
  contract::AggregateState state;
  if ((input.states & contract::kCountState) != 0) {
    state.counts.assign(num_groups, 0);
    GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t, std::uint32_t group) { ++state.counts[group]; }));
  }
  if (input.kind == contract::ValueKind::none) return state;
  GARUDA_TRY(
      visit_kind(input.kind, [&]<class T>(T*) { return fill_states<T>(input, ids, num_groups, control, state); }));
  return state;
}

}  // namespace

Result<contract::AggregateState> aggregate_rows(contract::AggregateInput const& input,
                                                std::span<std::uint32_t const> ids, std::uint64_t num_groups,
                                                Control const* control) {
  try {
    return aggregate(input, ids, num_groups, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the aggregates of a slice");
  }
}

}  // namespace garuda::cpu
