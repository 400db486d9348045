#include "operators/cpu/group_by/accumulators.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/numbers/float_parts.hpp"
#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {
namespace {

/// The type in which values of type T are summed.
template <class T>
using SumOf = std::conditional_t<std::is_floating_point_v<T> || std::is_same_v<T, Int128>, Int128,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

/// A finite float as an integer over the bit at `position`.
template <class Float>
Int128 fixed_point_value(Float value, std::uint32_t position) noexcept {
  auto const parts = split_float(value);
  // Only zeros lie below the lowest bit.
  auto const shift = parts.position > position ? parts.position - position : 0;
  auto const magnitude = static_cast<Int128>(UInt128{parts.magnitude} << shift);
  return parts.negative ? -magnitude : magnitude;
}

template <class Sum>
bool is_negative([[maybe_unused]] Sum value) {
  if constexpr (std::is_same_v<Sum, std::uint64_t>)
    return false;
  else
    return value < 0;
}

bool is_wide(contract::ValueKind kind) { return contract::extreme_words(kind) == 2; }

void append_words(UInt128 value, std::uint32_t words, std::uint64_t* out) {
  for (std::uint32_t w = 0; w < words; ++w, value >>= 64) out[w] = static_cast<std::uint64_t>(value);
}

}  // namespace

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
  if constexpr (std::is_floating_point_v<T>) {
    auto const position = fixed_.position;
    for_values<T>(input, first, groups,
                  [=](std::uint32_t group, T value) { totals[group] += fixed_point_value(value, position); });
  } else if constexpr (sizeof(T) == 4) {
    // 2^32 rows of 32 bits fit 64 bits.
    for_values<T>(input, first, groups, [=](std::uint32_t group, T value) { totals[group] += value; });
  } else {
    for_values<T>(input, first, groups, [=, this](std::uint32_t group, T value) {
      auto const addend = static_cast<Sum>(value);
      if (__builtin_add_overflow(totals[group], addend, &totals[group])) [[unlikely]]
        carry(group, is_negative(addend) ? -1 : 1);
    });
  }
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
    if ((request_.states & contract::kSumState) != 0) add_values<T>(input, first, groups);
    if ((request_.states & (contract::kMinState | contract::kMaxState)) != 0) add_extremes<T>(input, first, groups);
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

contract::AggregateState ColumnAccumulator::states_of(std::span<std::uint32_t const> groups) const {
  contract::AggregateState state;
  auto const pick = [&](StateArray<std::uint64_t> const& from, std::vector<std::uint64_t>& to) {
    if (from.empty()) return;
    to.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) to[i] = from[groups[i]];
  };
  auto const pick_wide = [&](StateArray<UInt128> const& from, std::vector<std::uint64_t>& to) {
    if (from.empty()) return;
    to.resize(2 * groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) append_words(from[groups[i]], 2, &to[2 * i]);
  };
  pick(counts_, state.counts);
  pick(minima_, state.minima);
  pick(maxima_, state.maxima);
  pick_wide(wide_minima_, state.minima);
  pick_wide(wide_maxima_, state.maxima);
  if ((request_.states & contract::kSumState) == 0) return state;
  visit_kind(request_.kind, [&]<class T>(T*) { write_sums<SumOf<T>>(groups, state); });
  if (contract::is_float(request_.kind))
    state.sum_exponent = static_cast<std::int32_t>(fixed_.position) + contract::unit_exponent(request_.kind);
  return state;
}

template <class Float>
void FloatRange::add_values(contract::AggregateInput const& input) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponents = sizeof(Float) == 4 ? Bits{0x7F80'0000} : static_cast<Bits>(0x7FF0'0000'0000'0000);
  mantissa_bits_ = sizeof(Float) == 4 ? 23 : 52;
  exponent_limit_ = static_cast<std::uint32_t>(kExponents >> mantissa_bits_);
  auto const count = input.values.size() / contract::value_words(input.kind);
  // On magnitudes; zeros are largest as `below`, so that they do not count as least.
  Bits least = std::numeric_limits<Bits>::max();
  Bits largest = 0;
  auto const see = [&](Bits bits) {
    auto const magnitude = static_cast<Bits>(bits << 1);
    auto const below = static_cast<Bits>(magnitude - 1);
    least = below < least ? below : least;
    largest = magnitude > largest ? magnitude : largest;
  };
  for (std::uint64_t row = 0; row < count; ++row)
    if (is_valid(input, row)) see(std::bit_cast<Bits>(value_at<Float>(input, row)));
  if (largest == 0) return;
  least_ = std::min(least_, static_cast<std::uint32_t>(static_cast<Bits>(least + 1) >> (mantissa_bits_ + 1)));
  largest_ = std::max(largest_, static_cast<std::uint32_t>(largest >> (mantissa_bits_ + 1)));
}

void FloatRange::add(contract::AggregateInput const& input) {
  if (input.kind == contract::ValueKind::float32)
    add_values<float>(input);
  else
    add_values<double>(input);
}

void FloatRange::add(FloatRange const& other) noexcept {
  least_ = std::min(least_, other.least_);
  largest_ = std::max(largest_, other.largest_);
  exponent_limit_ = std::max(exponent_limit_, other.exponent_limit_);
  mantissa_bits_ = std::max(mantissa_bits_, other.mantissa_bits_);
}

std::optional<FixedPoint> FloatRange::fixed_point(std::uint64_t num_rows) const noexcept {
  if (least_ > largest_) return FixedPoint{};  // zeros alone, or nothing
  if (largest_ == exponent_limit_) return std::nullopt;
  auto const lowest = std::max(least_, 1U) - 1;
  auto const value_bits = std::max(largest_, 1U) - 1 - lowest + mantissa_bits_ + 1;
  if (value_bits + static_cast<std::uint32_t>(std::bit_width(num_rows)) > 127) return std::nullopt;
  return FixedPoint{lowest};
}

}  // namespace garuda::cpu
