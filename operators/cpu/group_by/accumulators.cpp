#include "operators/cpu/group_by/accumulators.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
template <class Float>
constexpr std::uint32_t kMantissaBits = sizeof(Float) == 4 ? 23 : 52;

/// A finite float as an integer over the bit at `position`: split_float's parts, found without a branch.
template <class Float>
UInt128 fixed_point_value(Float value, std::uint32_t position) noexcept {
  using Bits = BitsOf<Float>;
  auto const bits = std::bit_cast<Bits>(value);
  auto const magnitude = static_cast<Bits>(bits << 1) >> 1;
  auto const exponent = static_cast<std::uint32_t>(magnitude >> kMantissaBits<Float>);
  auto const is_normal = exponent != 0 ? Bits{1} : Bits{0};
  auto const mantissa = (magnitude & ((Bits{1} << kMantissaBits<Float>)-1)) | is_normal << kMantissaBits<Float>;
  // Only zeros lie below the lowest bit: however far they are shifted.
  auto const shift = (exponent - static_cast<std::uint32_t>(is_normal) - position) % 128;
  auto const sign = UInt128{0} - (bits >> (8 * sizeof(Bits) - 1));
  return ((UInt128{mantissa} << shift) ^ sign) - sign;
}

}  // namespace

/// The same in a few instructions of the processor's floats, where bits lie close together: an upper and a lower
/// integer, of at most kPartBits bits each, whose conversions are exact.
class NearFloats {
 public:
  /// nullopt: they lie too far apart, or among the subnormals, which a processor may have been told to take for zeros.
  static std::optional<NearFloats> at(FixedPoint point, std::uint32_t mantissa_bits, std::int32_t unit) {
    auto const bits = point.most_shift + mantissa_bits + 1;
    auto const low_bits = bits / 2;
    auto const down = -(static_cast<std::int32_t>(point.position + low_bits) + unit);
    if (point.position == 0 || bits > 2 * kPartBits || down > 1023 || down < -1022) return std::nullopt;
    return NearFloats(std::ldexp(1.0, down), std::ldexp(1.0, static_cast<int>(low_bits)), std::int64_t{1} << low_bits);
  }

  /// Requires: the float is where the point has it, or zero.
  UInt128 value(double value) const noexcept {
    auto const scaled = value * down_;
    auto const high = static_cast<std::int64_t>(scaled);
    auto const low = static_cast<std::int64_t>((scaled - static_cast<double>(high)) * up_);
    return static_cast<UInt128>(Int128{high} * weight_ + low);
  }

 private:
  static constexpr std::uint32_t kPartBits = 58;

  NearFloats(double down, double up, std::int64_t weight) : down_(down), up_(up), weight_(weight) {}

  double down_;  ///< makes the lower part what is behind the point
  double up_;
  std::int64_t weight_;  ///< of the upper part
};

namespace {

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

ColumnAccumulator::ColumnAccumulator(contract::StateRequest const& request, FixedPoint fixed_point)
    : request_(request), fixed_(fixed_point) {
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
  if constexpr (std::is_floating_point_v<T>) {
    if (fixed_.is_guess) seen_.add(input, first, groups.size());
    if (!fits()) return;
    auto const add = [&](auto const& value_of) {
      for_values<T>(input, first, groups, [=](std::uint32_t group, T value) {
        totals[group] = static_cast<Int128>(static_cast<UInt128>(totals[group]) + value_of(value));
      });
    };
    if (auto const near = NearFloats::at(fixed_, kMantissaBits<T>, contract::unit_exponent(request_.kind)))
      add([near = *near](T value) { return near.value(value); });
    else
      add([position = fixed_.position](T value) { return fixed_point_value(value, position); });
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
  seen_.add(from.seen_);
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
  with_lists(lists_, [&](auto const& lists) { state.lists = lists.lists_of(groups); });
  if ((request_.states & contract::kSumState) == 0) return state;
  visit_kind(request_.kind, [&]<class T>(T*) { write_sums<SumOf<T>>(groups, state); });
  if (contract::is_float(request_.kind))
    state.sum_exponent = static_cast<std::int32_t>(fixed_.position) + contract::unit_exponent(request_.kind);
  return state;
}

template <class Float>
void FloatRange::add_values(contract::AggregateInput const& input, std::uint64_t first_row, std::uint64_t count) {
  using Bits = BitsOf<Float>;
  // Exponents lie in the upper half of 64 bits, which compilers compare four at a time.
  constexpr auto kMagnitudes = std::int32_t{0x7FFF'FFFF};
  constexpr auto kExponentShift = kMantissaBits<Float> % 32;
  mantissa_bits_ = kMantissaBits<Float>;
  exponent_limit_ = static_cast<std::uint32_t>(kMagnitudes >> kExponentShift);
  auto least = kMagnitudes;
  auto largest = std::int32_t{0};
  std::uint32_t subnormal = 0;  // not 0: something is not, whose upper half is
  auto const see = [&](Bits bits) {
    auto const upper = static_cast<std::int32_t>(bits >> (8 * sizeof(Bits) - 32)) & kMagnitudes;
    auto const nothing = upper == 0;
    auto const bounded = nothing ? kMagnitudes : upper;
    least = bounded < least ? bounded : least;
    largest = upper > largest ? upper : largest;
    if constexpr (sizeof(Bits) == 8) subnormal |= nothing ? static_cast<std::uint32_t>(bits) : 0;
  };
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first_row * sizeof(Bits);
  if (input.validity.empty())
    for_ranges_ahead(values, sizeof(Bits), count, [&](std::size_t begin, std::size_t end) {
      for (auto row = begin; row < end; ++row) see(load<Bits>(values, static_cast<std::int64_t>(row)));
    });
  else
    for (std::uint64_t row = 0; row < count; ++row)
      if (is_valid(input, first_row + row)) see(load<Bits>(values, static_cast<std::int64_t>(row)));
  if (subnormal != 0) least = 0;
  if (largest == 0 && subnormal == 0) return;
  least_ = std::min(least_, static_cast<std::uint32_t>(least >> kExponentShift));
  largest_ = std::max(largest_, static_cast<std::uint32_t>(largest >> kExponentShift));
}

void FloatRange::add(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count) {
  if (input.kind == contract::ValueKind::float32)
    add_values<float>(input, first, count);
  else
    add_values<double>(input, first, count);
}

void FloatRange::add(FloatRange const& other) noexcept {
  least_ = std::min(least_, other.least_);
  largest_ = std::max(largest_, other.largest_);
  exponent_limit_ = std::max(exponent_limit_, other.exponent_limit_);
  mantissa_bits_ = std::max(mantissa_bits_, other.mantissa_bits_);
}

FixedPoint FloatRange::extent() const noexcept {
  auto const lowest = std::max(least_, 1U) - 1;
  return {lowest, std::max(largest_, 1U) - 1 - lowest};
}

/// Such that the sum of `num_rows` mantissas that are shifted so far has 127 bits.
std::uint32_t FloatRange::most_shift(std::uint64_t num_rows) const noexcept {
  return 126 - mantissa_bits_ - static_cast<std::uint32_t>(std::bit_width(num_rows));
}

bool FloatRange::fits(FixedPoint point) const noexcept {
  if (least_ > largest_) return true;  // zeros alone, or nothing
  auto const here = extent();
  return largest_ != exponent_limit_ && here.position >= point.position &&
         here.position - point.position + here.most_shift <= point.most_shift;
}

std::optional<FixedPoint> FloatRange::fixed_point(std::uint64_t num_rows) const noexcept {
  if (least_ > largest_) return FixedPoint{};
  auto const here = extent();
  if (largest_ == exponent_limit_ || here.most_shift > most_shift(num_rows)) return std::nullopt;
  return here;
}

std::optional<FixedPoint> FloatRange::guess(std::uint64_t num_rows) const noexcept {
  constexpr std::uint32_t kGuessedShift = 60;
  auto point = fixed_point(num_rows);
  if (!point || least_ > largest_) return std::nullopt;
  // No more than what is near each other.
  auto const most = std::max(point->most_shift, std::min(most_shift(num_rows), kGuessedShift));
  point->position -= std::min(point->position, (most - point->most_shift) / 2);
  point->most_shift = most;
  point->is_guess = true;
  return point;
}

}  // namespace garuda::cpu
