#include "operators/cpu/group_by/accumulators.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {
namespace {

/// The type in which values of type T are summed; of floats, whose sums are kept elsewhere, any.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, Int128>, Int128,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class Sum>
bool is_negative([[maybe_unused]] Sum value) {
  if constexpr (std::is_same_v<Sum, std::uint64_t>)
    return false;
  else
    return value < 0;
}

bool is_wide(contract::ValueKind kind) { return contract::extreme_words(kind) == 2; }

/// Calls use with the lists, if there are any.
template <class Lists, class Use>
void with_lists(Lists& lists, Use const& use) {
  std::visit(
      [&]<class Kept>(Kept& kept) {
        if constexpr (!std::is_same_v<std::remove_const_t<Kept>, std::monostate>) use(kept);
      },
      lists);
}

void append_words(UInt128 value, std::uint32_t words, std::uint64_t* out) {
  for (std::uint32_t w = 0; w < words; ++w, value >>= 64) out[w] = static_cast<std::uint64_t>(value);
}

}  // namespace

ColumnAccumulator::ColumnAccumulator(contract::StateRequest const& request) : request_(request) {
  GARUDA_EXPECTS((request.states & contract::kSumState) == 0 || !contract::is_float(request.kind));
  if ((request.states & contract::kListState) == 0) return;
  if (is_wide(request.kind))
    lists_.emplace<ListStates<UInt128>>(request);
  else
    lists_.emplace<ListStates<std::uint64_t>>(request);
}

template <>
StateArray<std::int64_t>& ColumnAccumulator::sums() noexcept {
  return signed_sums_;
}
template <>
StateArray<std::uint64_t>& ColumnAccumulator::sums() noexcept {
  return unsigned_sums_;
}
template <>
StateArray<Int128>& ColumnAccumulator::sums() noexcept {
  return wide_sums_;
}

void ColumnAccumulator::resize(std::uint64_t num_groups) {
  num_groups_ = num_groups;
  if ((request_.states & contract::kCountState) != 0) counts_.resize(num_groups);
  if ((request_.states & contract::kSumState) != 0)
    visit_kind(request_.kind, [&]<class T>(T*) { sums<SumOf<T>>().resize(num_groups); });
  if (!high_.empty()) high_.resize(num_groups);
  with_lists(lists_, [&](auto& lists) { lists.resize(num_groups); });
  if ((request_.states & contract::kMinState) != 0) {
    if (is_wide(request_.kind))
      wide_minima_.resize(num_groups, ~UInt128{0});
    else
      minima_.resize(num_groups, std::numeric_limits<std::uint64_t>::max());
  }
  if ((request_.states & contract::kMaxState) != 0) {
    if (is_wide(request_.kind))
      wide_maxima_.resize(num_groups);
    else
      maxima_.resize(num_groups);
  }
}

void ColumnAccumulator::reserve_rows(std::uint64_t rows) {
  with_lists(lists_, [=](auto& lists) { lists.reserve_rows(rows); });
}

void ColumnAccumulator::clear() {
  num_groups_ = 0;
  counts_.clear();
  signed_sums_.clear();
  unsigned_sums_.clear();
  wide_sums_.clear();
  high_.clear();
  minima_.clear();
  maxima_.clear();
  wide_minima_.clear();
  wide_maxima_.clear();
  with_lists(lists_, [](auto& lists) { lists.clear(); });
}

void ColumnAccumulator::carry(std::uint32_t group, std::int64_t high) {
  if (high_.empty()) high_.resize(num_groups_);
  high_[group] += high;
}

template <class T>
void ColumnAccumulator::add_values(contract::AggregateInput const& input, std::uint64_t first,
                                   std::span<std::uint32_t const> groups) {
  using Sum = SumOf<T>;
  auto* const totals = sums<Sum>().data();
  for_values<T>(input, first, groups, [=, this](std::uint32_t group, T value) {
    auto const addend = static_cast<Sum>(value);
    if (__builtin_add_overflow(totals[group], addend, &totals[group])) [[unlikely]]
      carry(group, is_negative(addend) ? -1 : 1);
  });
}

template <class T>
void ColumnAccumulator::add_extremes(contract::AggregateInput const& input, std::uint64_t first,
                                     std::span<std::uint32_t const> groups) {
  using Ordered = OrderedOf<T>;
  auto const find = [&](Ordered* best, auto better) {
    for_values<T>(input, first, groups, [=](std::uint32_t group, T value) {
      auto const word = ordered(value);
      best[group] = better(word, best[group]) ? word : best[group];
    });
  };
  auto const* const order = order_of<T>(request_.order);
  auto const less = [order](Ordered a, Ordered b) { return is_less(order, a, b); };
  auto const greater = [order](Ordered a, Ordered b) { return is_less(order, b, a); };
  if constexpr (std::is_same_v<Ordered, UInt128>) {
    if ((request_.states & contract::kMinState) != 0) find(wide_minima_.data(), less);
    if ((request_.states & contract::kMaxState) != 0) find(wide_maxima_.data(), greater);
  } else {
    if ((request_.states & contract::kMinState) != 0) find(minima_.data(), less);
    if ((request_.states & contract::kMaxState) != 0) find(maxima_.data(), greater);
  }
}

void ColumnAccumulator::add(contract::AggregateInput const& input, std::uint64_t first,
                            std::span<std::uint32_t const> groups) {
  if ((request_.states & contract::kCountState) != 0) {
    auto* const counts = counts_.data();
    for_valid_rows(input, first, groups, [=](std::uint64_t, std::uint32_t group) { ++counts[group]; });
  }
  if (request_.kind == contract::ValueKind::none) return;
  visit_kind(request_.kind, [&]<class T>(T*) {
    if constexpr (!std::is_floating_point_v<T>)
      if ((request_.states & contract::kSumState) != 0) add_values<T>(input, first, groups);
    if ((request_.states & (contract::kMinState | contract::kMaxState)) != 0) add_extremes<T>(input, first, groups);
    if (auto* const lists = std::get_if<ListStates<OrderedOf<T>>>(&lists_))
      lists->template add<T>(input, first, groups);
  });
}

template <class Sum>
void ColumnAccumulator::merge_sums(ColumnAccumulator& into, std::span<std::uint32_t const> from_groups,
                                   std::span<std::uint32_t const> to_groups) const {
  auto const& from = const_cast<ColumnAccumulator*>(this)->sums<Sum>();
  auto& totals = into.sums<Sum>();
  for (std::size_t i = 0; i < from_groups.size(); ++i) {
    auto const addend = from[from_groups[i]];
    auto& total = totals[to_groups[i]];
    if (__builtin_add_overflow(total, addend, &total)) into.carry(to_groups[i], is_negative(addend) ? -1 : 1);
  }
  if (high_.empty()) return;
  if (into.high_.empty()) into.high_.resize(into.num_groups_);
  for (std::size_t i = 0; i < from_groups.size(); ++i) into.high_[to_groups[i]] += high_[from_groups[i]];
}

void ColumnAccumulator::merge(ColumnAccumulator const& from, std::span<std::uint32_t const> from_groups,
                              std::span<std::uint32_t const> to_groups) {
  auto const combine = [&](auto& into, auto const& source, auto operation) {
    if (source.empty()) return;
    for (std::size_t i = 0; i < from_groups.size(); ++i) {
      auto& value = into[to_groups[i]];
      value = operation(value, source[from_groups[i]]);
    }
  };
  auto const min = [order = request_.order](auto a, auto b) { return is_less(order, b, a) ? b : a; };
  auto const max = [order = request_.order](auto a, auto b) { return is_less(order, a, b) ? b : a; };
  combine(counts_, from.counts_, [](auto a, auto b) { return a + b; });
  combine(minima_, from.minima_, min);
  combine(maxima_, from.maxima_, max);
  combine(wide_minima_, from.wide_minima_, min);
  combine(wide_maxima_, from.wide_maxima_, max);
  with_lists(lists_,
             [&]<class Lists>(Lists& lists) { lists.merge(std::get<Lists>(from.lists_), from_groups, to_groups); });
  if ((request_.states & contract::kSumState) != 0)
    visit_kind(request_.kind, [&]<class T>(T*) { from.merge_sums<SumOf<T>>(*this, from_groups, to_groups); });
}

template <class Sum>
void ColumnAccumulator::write_sums(std::span<std::uint32_t const> groups, contract::AggregateState& state) const {
  constexpr std::uint32_t kWords = sizeof(Sum) / 8;
  auto const& from = const_cast<ColumnAccumulator*>(this)->sums<Sum>();
  auto const words = high_.empty() ? kWords : 2 * kWords;
  state.words_per_sum = words;
  state.sums.resize(groups.size() * words);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto* const out = &state.sums[i * words];
    append_words(static_cast<UInt128>(from[groups[i]]), kWords, out);
    if (high_.empty()) continue;
    // A signed low half stands for its two's complement value: it borrows from the high half when it is negative.
    auto const high = high_[groups[i]] + (is_negative(from[groups[i]]) ? -1 : 0);
    append_words(static_cast<UInt128>(Int128{high}), kWords, out + kWords);
  }
}

contract::AggregateState ColumnAccumulator::states_of(std::span<std::uint32_t const> groups,
                                                      Control const* control) const {
  contract::AggregateState state;
  auto const pick = [&](StateArray<std::uint64_t> const& from, contract::Words& to) {
    if (from.empty()) return;
    to.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) to[i] = from[groups[i]];
  };
  auto const pick_wide = [&](StateArray<UInt128> const& from, contract::Words& to) {
    if (from.empty()) return;
    to.resize(2 * groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) append_words(from[groups[i]], 2, &to[2 * i]);
  };
  pick(counts_, state.counts);
  pick(minima_, state.minima);
  pick(maxima_, state.maxima);
  pick_wide(wide_minima_, state.minima);
  pick_wide(wide_maxima_, state.maxima);
  with_lists(lists_, [&](auto const& lists) { state.lists = lists.lists_of(groups, control); });
  if ((request_.states & contract::kSumState) == 0) return state;
  visit_kind(request_.kind, [&]<class T>(T*) { write_sums<SumOf<T>>(groups, state); });
  return state;
}

}  // namespace garuda::cpu
