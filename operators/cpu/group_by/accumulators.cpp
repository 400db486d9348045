#include "operators/cpu/group_by/accumulators.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>

#include "operators/cpu/group_by/column_values.hpp"
#include "operators/cpu/group_by/sum_kernels.hpp"

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

/// Whether rows of one group lie side by side, none of them null.
bool is_run(contract::AggregateInput const& input, RowsOfOne const& rows) noexcept {
  return rows.count > 0 && rows.positions == nullptr && input.validity.empty();
}

template <class T>
IntegerRuns<T> const& integer_runs() noexcept {
  auto const& kernels = run_kernels();
  if constexpr (std::is_same_v<T, std::int32_t>)
    return kernels.int32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return kernels.uint32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return kernels.int64;
  else
    return kernels.uint64;
}

/// The first value of a run.
template <class T>
std::byte const* run_values(contract::AggregateInput const& input, RowsOfOne const& rows) noexcept {
  return reinterpret_cast<std::byte const*>(input.values.data()) + rows.first * sizeof(T);
}

void append_words(UInt128 value, std::uint32_t words, std::uint64_t* out) {
  for (std::uint32_t w = 0; w < words; ++w, value >>= 64) out[w] = static_cast<std::uint64_t>(value);
}

}  // namespace

ColumnAccumulator::ColumnAccumulator(contract::StateRequest const& request) : request_(request) {
  GARUDA_EXPECTS((request.states & contract::kSumState) == 0 || !contract::is_float(request.kind));
  if (contract::extreme_words(request.kind) == 2) ordered_.emplace<OrderedStates<UInt128>>();
  if ((request.states & contract::kListState) != 0)
    std::visit([&](auto& states) { states.lists.emplace(request); }, ordered_);
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
  std::visit(
      [&]<class Word>(OrderedStates<Word>& states) {
        if ((request_.states & contract::kMinState) != 0) states.minima.resize(num_groups, static_cast<Word>(~Word{0}));
        if ((request_.states & contract::kMaxState) != 0) states.maxima.resize(num_groups);
        if (states.lists) states.lists->resize(num_groups);
      },
      ordered_);
}

void ColumnAccumulator::reserve_rows(std::uint64_t rows) {
  std::visit(
      [=](auto& states) {
        if (states.lists) states.lists->reserve_rows(rows);
      },
      ordered_);
}

void ColumnAccumulator::clear() {
  num_groups_ = 0;
  counts_.clear();
  signed_sums_.clear();
  unsigned_sums_.clear();
  wide_sums_.clear();
  high_.clear();
  std::visit(
      [](auto& states) {
        states.minima.clear();
        states.maxima.clear();
        if (states.lists) states.lists->clear();
      },
      ordered_);
}

void ColumnAccumulator::carry(std::uint32_t group, std::int64_t high) {
  if (high_.empty()) high_.resize(num_groups_);
  high_[group] += high;
}

template <class Sum>
void ColumnAccumulator::add_sum(Sum addend, std::uint32_t group) {
  auto& total = sums<Sum>()[group];
  if (__builtin_add_overflow(total, addend, &total)) [[unlikely]]
    carry(group, is_negative(addend) ? -1 : 1);
}

/// Whether values of 64 bits are added to sums of 128.
bool ColumnAccumulator::is_widened(contract::AggregateInput const& input) const noexcept {
  return request_.kind == contract::ValueKind::int128 && input.kind == contract::ValueKind::int64 &&
         (request_.states & contract::kSumState) != 0;
}

template <class T, class Sum>
void ColumnAccumulator::add_values(contract::AggregateInput const& input, std::uint64_t first,
                                   std::span<std::uint32_t const> groups) {
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
  auto& states = std::get<OrderedStates<Ordered>>(ordered_);
  if ((request_.states & contract::kMinState) != 0) find(states.minima.data(), less);
  if ((request_.states & contract::kMaxState) != 0) find(states.maxima.data(), greater);
}

/// The sum of at most 2^31 integers of 32 or 64 bits.
template <class T>
Int128 total_of(contract::AggregateInput const& input, RowsOfOne const& rows) {
  if (is_run(input, rows)) {
    auto const sum = integer_runs<T>().sum(run_values<T>(input, rows), rows.count);
    return static_cast<Int128>(UInt128{sum.high} << 64 | sum.low);
  }
  if constexpr (sizeof(T) == 4) {
    SumOf<T> total = 0;
    for_values_of_one<T>(input, rows, [&](T value) { total += static_cast<SumOf<T>>(value); });
    return total;
  } else if (rows.have_short_sums) {
    T total = 0;
    for_values_of_one<T>(input, rows, [&](T value) { total += value; });
    return total;
  } else {
    Int128 total = 0;
    for_values_of_one<T>(input, rows, [&](T value) { total += value; });
    return total;
  }
}

bool ColumnAccumulator::have_short_sums(contract::AggregateInput const& input, std::uint64_t first,
                                        std::uint64_t count) const {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 12;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  bool const sums = (request_.states & contract::kSumState) != 0 && input.kind == contract::ValueKind::int64;
  if (!sums || count == 0 || count > kMostRows) return false;
  auto const* const values = run_values<std::int64_t>(input, {first, count});
  auto const& kernels = integer_runs<std::int64_t>();
  return kernels.least(values, count) >= -kMost && kernels.greatest(values, count) <= kMost;
}

template <class T, class Sum>
void ColumnAccumulator::add_total(contract::AggregateInput const& input, RowsOfOne const& rows, std::uint32_t group) {
  if constexpr (sizeof(T) < sizeof(Sum)) {
    add_sum(static_cast<Sum>(total_of<T>(input, rows)), group);
  } else if constexpr (sizeof(T) == 8) {
    auto const total = total_of<T>(input, rows);
    // A signed low half stands for its two's complement value, as in write_sums.
    auto const low = static_cast<Sum>(total);
    if (auto const high = static_cast<std::int64_t>((total - low) >> 64); high != 0) carry(group, high);
    add_sum(low, group);
  } else {
    auto total = sums<Sum>()[group];
    std::int64_t high = 0;
    for_values_of_one<T>(input, rows, [&](T value) {
      if (__builtin_add_overflow(total, static_cast<Sum>(value), &total)) [[unlikely]]
        high += is_negative(static_cast<Sum>(value)) ? -1 : 1;
    });
    sums<Sum>()[group] = total;
    if (high != 0) carry(group, high);
  }
}

template <class T>
void ColumnAccumulator::add_extremes_to_one(contract::AggregateInput const& input, RowsOfOne const& rows,
                                            std::uint32_t group) {
  auto& states = std::get<OrderedStates<OrderedOf<T>>>(ordered_);
  if constexpr (std::is_integral_v<T>) {
    // Integers are compared as they are: in vectors where they lie side by side.
    auto const take = [&](OrderedOf<T>& best, auto extreme_of_run, T found, auto better) {
      if (is_run(input, rows))
        found = extreme_of_run(run_values<T>(input, rows), rows.count);
      else
        for_values_of_one<T>(input, rows, [&](T value) { found = better(value, found) ? value : found; });
      best = better(ordered(found), best) ? ordered(found) : best;
    };
    auto const& runs = integer_runs<T>();
    if ((request_.states & contract::kMinState) != 0)
      take(states.minima[group], runs.least, std::numeric_limits<T>::max(), std::less());
    if ((request_.states & contract::kMaxState) != 0)
      take(states.maxima[group], runs.greatest, std::numeric_limits<T>::min(), std::greater());
    return;
  }
  auto const find = [&](OrderedOf<T>& best, auto better) {
    auto found = best;
    for_values_of_one<T>(input, rows, [&](T value) {
      auto const word = ordered(value);
      found = better(word, found) ? word : found;
    });
    best = found;
  };
  auto const* const order = order_of<T>(request_.order);
  if ((request_.states & contract::kMinState) != 0)
    find(states.minima[group], [order](auto a, auto b) { return is_less(order, a, b); });
  if ((request_.states & contract::kMaxState) != 0)
    find(states.maxima[group], [order](auto a, auto b) { return is_less(order, b, a); });
}

void ColumnAccumulator::add_to_one(contract::AggregateInput const& input, RowsOfOne const& rows, std::uint32_t group) {
  if ((request_.states & contract::kCountState) != 0) {
    std::uint64_t count = 0;
    for_valid_rows_of_one(input, rows, [&](std::uint64_t) { ++count; });
    counts_[group] += count;
  }
  if (request_.kind == contract::ValueKind::none) return;
  if (is_widened(input)) return add_total<std::int64_t, Int128>(input, rows, group);
  visit_kind(request_.kind, [&]<class T>(T*) {
    if constexpr (!std::is_floating_point_v<T>)
      if ((request_.states & contract::kSumState) != 0) add_total<T, SumOf<T>>(input, rows, group);
    if ((request_.states & (contract::kMinState | contract::kMaxState)) != 0)
      add_extremes_to_one<T>(input, rows, group);
  });
}

void ColumnAccumulator::add(contract::AggregateInput const& input, std::uint64_t first,
                            std::span<std::uint32_t const> groups) {
  if ((request_.states & contract::kCountState) != 0) {
    auto* const counts = counts_.data();
    for_valid_rows(input, first, groups, [=](std::uint64_t, std::uint32_t group) { ++counts[group]; });
  }
  if (request_.kind == contract::ValueKind::none) return;
  if (is_widened(input)) return add_values<std::int64_t, Int128>(input, first, groups);
  visit_kind(request_.kind, [&]<class T>(T*) {
    if constexpr (!std::is_floating_point_v<T>)
      if ((request_.states & contract::kSumState) != 0) add_values<T, SumOf<T>>(input, first, groups);
    if ((request_.states & (contract::kMinState | contract::kMaxState)) != 0) add_extremes<T>(input, first, groups);
    if (auto& lists = std::get<OrderedStates<OrderedOf<T>>>(ordered_).lists)
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
  std::visit(
      [&]<class Word>(OrderedStates<Word>& states) {
        auto const& others = std::get<OrderedStates<Word>>(from.ordered_);
        combine(states.minima, others.minima, min);
        combine(states.maxima, others.maxima, max);
        if (states.lists) states.lists->merge(*others.lists, from_groups, to_groups);
      },
      ordered_);
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
  auto const pick = [&]<class Word>(StateArray<Word> const& from, contract::Words& to) {
    constexpr std::uint32_t kWords = sizeof(Word) / sizeof(std::uint64_t);
    if (from.empty()) return;
    to.resize(kWords * groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) append_words(from[groups[i]], kWords, &to[kWords * i]);
  };
  pick(counts_, state.counts);
  std::visit(
      [&](auto const& states) {
        pick(states.minima, state.minima);
        pick(states.maxima, state.maxima);
        if (states.lists) state.lists = states.lists->lists_of(groups, control);
      },
      ordered_);
  if ((request_.states & contract::kSumState) == 0) return state;
  visit_kind(request_.kind, [&]<class T>(T*) { write_sums<SumOf<T>>(groups, state); });
  return state;
}

}  // namespace garuda::cpu
