#include "tests/workloads/group_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <unordered_map>

#include "core/numbers/ordered_value.hpp"

namespace garuda::testing {
namespace {

using contract::AggregateInput;
using contract::AggregateState;
using contract::FloatSums;
using contract::KeySpan;
using contract::KeyWords;
using contract::StateSet;
using contract::ValueKind;

/// The number of a row's group before groups are renamed by first appearance.
std::vector<std::uint32_t> group_numbers(GroupCase const& group_case) {
  std::mt19937 random(group_case.seed);
  std::vector<std::uint32_t> numbers(group_case.rows);
  // Zipf with exponent 1.5 over 1000 groups, by its cumulative weights.
  std::vector<double> weights;
  for (int rank = 1; rank <= 1000; ++rank) {
    weights.push_back((weights.empty() ? 0 : weights.back()) + std::pow(rank, -1.5));
  }
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    auto const any = static_cast<std::uint32_t>(random());
    switch (group_case.pattern) {
      case GroupPattern::one:
        break;
      case GroupPattern::two:
        numbers[row] = static_cast<std::uint32_t>(row % 2);
        break;
      case GroupPattern::some:
        numbers[row] = any % 64;
        break;
      case GroupPattern::many:
        numbers[row] = any % 65'536;
        break;
      case GroupPattern::distinct:
        numbers[row] = static_cast<std::uint32_t>(row);
        break;
      case GroupPattern::zipf: {
        auto const at = static_cast<double>(any) / 4'294'967'296.0 * weights.back();
        numbers[row] = static_cast<std::uint32_t>(std::ranges::lower_bound(weights, at) - weights.begin());
        break;
      }
      case GroupPattern::heavy:
        numbers[row] = any % 10 != 0 ? 7 : static_cast<std::uint32_t>(row);
        break;
    }
  }
  return numbers;
}

std::uint64_t scattered(std::uint64_t number) {
  number = (number + 1) * 0x9E37'79B9'7F4A'7C15U;
  return number ^ (number >> 29);
}

/// A signed integer of 4096 bits: wide enough for any sum of doubles at their lowest bit.
class Wide {
 public:
  void add(std::uint64_t magnitude, std::uint32_t position, bool negative) {
    auto const word = position / 64;
    auto const shift = position % 64;
    std::array const parts{magnitude << shift, shift == 0 ? 0 : magnitude >> (64 - shift)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto value = parts[i];
      for (auto at = word + i; value != 0; ++at) {
        auto const before = words_.at(at);
        words_[at] = negative ? before - value : before + value;
        value = (negative ? before < value : words_[at] < value) ? 1 : 0;
        if (at + 1 == words_.size()) break;
      }
    }
  }
  /// Adds a signed number of `bits` words of 64 bits each.
  void add_signed(std::span<std::uint64_t const> number, std::uint32_t position) {
    bool const negative = (number.back() >> 63) != 0;
    std::vector<std::uint64_t> magnitude(number.begin(), number.end());
    if (negative) {
      std::uint64_t carry = 1;
      for (auto& word : magnitude) {
        word = ~word + carry;
        carry = carry != 0 && word == 0 ? 1 : 0;
      }
    }
    for (std::size_t i = 0; i < magnitude.size(); ++i) {
      add(magnitude[i], position + static_cast<std::uint32_t>(64 * i), negative);
    }
  }
  bool operator==(Wide const&) const = default;

 private:
  std::array<std::uint64_t, 64> words_{};
};

/// A float by its bits.
struct FloatBits {
  explicit FloatBits(ValueKind kind, std::uint32_t const* words) {
    bool const wide = kind == ValueKind::float64;
    auto const bits = wide ? words[0] | (std::uint64_t{words[1]} << 32) : words[0];
    auto const fraction_bits = wide ? 52U : 23U;
    auto const exponent_mask = wide ? 0x7FFU : 0xFFU;
    auto const fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
    auto const exponent = static_cast<std::uint32_t>(bits >> fraction_bits) & exponent_mask;
    negative = (bits >> (wide ? 63 : 31)) != 0;
    if (exponent == exponent_mask) {
      flag = fraction != 0 ? kNotANumber : negative ? kNegativeInfinity : kPositiveInfinity;
      return;
    }
    magnitude = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << fraction_bits);
    position = exponent == 0 ? 0 : exponent - 1;
  }
  std::uint64_t magnitude = 0;
  std::uint32_t position = 0;
  bool negative = false;
  std::uint8_t flag = 0;
};

std::vector<std::uint64_t> ordered(ValueKind kind, std::uint32_t const* words) {
  auto const low = std::uint64_t{words[0]};
  auto const wide = [&] { return low | (std::uint64_t{words[1]} << 32); };
  switch (kind) {
    case ValueKind::int32:
      return {ordered_signed(words[0])};
    case ValueKind::uint32:
      return {low};
    case ValueKind::int64:
      return {ordered_signed(wide())};
    case ValueKind::uint64:
      return {wide()};
    case ValueKind::int128:
      return {wide(), ordered_signed(words[2] | (std::uint64_t{words[3]} << 32))};
    case ValueKind::float32:
      return {ordered_from_bits(canonical_bits(std::bit_cast<float>(words[0])))};
    default:
      return {ordered_from_bits(canonical_bits(std::bit_cast<double>(wide())))};
  }
}

}  // namespace

std::string to_string(GroupCase const& group_case) {
  static constexpr std::array kNames{"one", "two", "some", "many", "distinct", "zipf", "heavy"};
  auto const& shape = group_case.shape;
  return std::to_string(group_case.rows) + " rows, " + kNames.at(static_cast<std::size_t>(group_case.pattern)) +
         ", bits=" + std::to_string(shape.bits) + " words=" + std::to_string(shape.words) +
         (shape.dense ? " dense" : "") + (shape.poor_hash ? " poor" : "") + " seed=" + std::to_string(group_case.seed);
}

GroupProblem::GroupProblem(GroupCase const& group_case) : case_(group_case) {
  auto const numbers = group_numbers(group_case);
  auto const& shape = group_case.shape;
  std::uint32_t greatest = 0;
  for (auto const number : numbers) greatest = std::max(greatest, number);
  for (auto const number : numbers) {
    if (shape.bits == 32)
      keys32_.push_back(shape.dense ? ~greatest + number
                                    : static_cast<std::uint32_t>(scattered(number) >> 32) ^ (number << 7));
    if (shape.bits == 64) keys64_.push_back(shape.dense ? ~std::uint64_t{greatest} + number : scattered(number));
  }
  if (shape.bits == 0) words_.resize(shape.words);
  for (std::uint32_t word = 0; word < words_.size(); ++word) {
    for (auto const number : numbers) {
      // Every word has a part of the number, so that equal rows are only those that agree in all of them.
      auto const part = words_.size() == 1 ? number : (number >> (32 * word / words_.size())) & 0xFFFFU;
      bool const constant = word == 0 && shape.poor_hash && words_.size() > 1;
      words_[word].push_back(constant ? 5 : part);
    }
  }
  if (shape.poor_hash && words_.size() > 1) words_.back() = numbers;
  std::map<std::vector<std::uint64_t>, std::uint32_t> groups;
  for (std::uint32_t row = 0; row < numbers.size(); ++row) {
    std::vector<std::uint64_t> key;
    if (shape.bits == 32) key = {keys32_[row]};
    if (shape.bits == 64) key = {keys64_[row]};
    for (auto const& word : words_) key.push_back(word[row]);
    auto const [found, added] = groups.try_emplace(key, static_cast<std::uint32_t>(heads_.size()));
    if (added) heads_.push_back(row);
    ids_.push_back(found->second);
  }
}

contract::GroupSlice GroupProblem::slice() const {
  contract::GroupSlice slice;
  slice.num_rows = case_.rows;
  auto const span_of = [](auto const& keys) {
    KeySpan span;
    span.words = std::span(keys);
    auto const [least, greatest] = std::ranges::minmax(keys);
    span.min = least;
    span.max = greatest;
    return span;
  };
  if (case_.shape.bits == 32) slice.keys = span_of(keys32_);
  if (case_.shape.bits == 64) slice.keys = span_of(keys64_);
  if (!words_.empty()) {
    KeyWords keys;
    for (auto const& word : words_) keys.words.emplace_back(word);
    keys.hash_first = 0;
    keys.hash_count = words_.size() >= 2 && !case_.shape.poor_hash ? 2 : 1;
    slice.keys = std::move(keys);
  }
  return slice;
}

ValueColumn::ValueColumn(ValueKind kind, ValuePattern pattern, bool nulls, std::uint64_t rows, std::uint32_t seed)
    : kind_(kind) {
  std::mt19937 random(seed);
  auto const words = contract::value_words(kind);
  bool const floats = contract::is_float(kind);
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::array<std::uint32_t, 4> value{};
    for (auto& word : value) word = static_cast<std::uint32_t>(random());
    auto const top = words == 0 ? 0 : words - 1;
    if (pattern == ValuePattern::largest) {
      value.fill(0xFFFF'FFFF);
      if (floats) value[top] = kind == ValueKind::float32 ? 0x7F7F'FFFF : 0x7FEF'FFFF;
      if (contract::is_signed_integer(kind)) value[top] = 0x7FFF'FFFF;
      if (contract::is_signed_integer(kind) && random() % 1000 == 0) {
        value.fill(0);
        value[top] = 0x8000'0000;
      }
    }
    if (pattern == ValuePattern::tiny) {
      auto const sign = value[1] & 0x8000'0000;
      value = {value[0] & 3U, 0, 0, 0};
      if (floats) value[top] |= sign;
    }
    if (pattern == ValuePattern::cancelling) {
      // Rows of one parity negate the row before.
      auto const last = values_.size() - words;
      if (row % 2 == 1 && floats) {
        for (std::uint32_t i = 0; i < words; ++i) value[i] = values_[last + i];
        value[top] ^= 0x8000'0000;
      }
      // No NaNs and infinities, which would hide everything else.
      if (floats && row % 2 == 0) value[top] &= kind == ValueKind::float32 ? 0xFF7F'FFFF : 0xFFEF'FFFF;
    }
    values_.insert(values_.end(), value.begin(), value.begin() + words);
  }
  if (!nulls) return;
  validity_.resize((rows + 31) / 32);
  for (auto& word : validity_) word = static_cast<std::uint32_t>(random() | random());
}

AggregateInput ValueColumn::input(StateSet states) const {
  AggregateInput input;
  input.kind = kind_;
  input.values = values_;
  input.validity = validity_;
  input.states = states;
  return input;
}

void ValueColumn::expect_states(AggregateState const& state, StateSet states, GroupProblem const& problem) const {
  if ((states & contract::kCountState) != 0) {
    contract::Words counts(problem.heads().size());
    for (std::size_t row = 0; row < problem.ids().size(); ++row) counts[problem.ids()[row]] += is_valid(row) ? 1 : 0;
    ASSERT_TRUE(state.counts == counts);
  } else {
    EXPECT_TRUE(state.counts.empty());
  }
  bool const sums = (states & contract::kSumState) != 0;
  EXPECT_EQ(state.sums.empty(), !sums || contract::is_float(kind_));
  EXPECT_EQ(state.float_sums.offsets.empty(), !sums || !contract::is_float(kind_));
  if (sums && contract::is_float(kind_)) expect_float_sums(state.float_sums, problem);
  if (sums && !contract::is_float(kind_)) expect_sums(state, problem);
  expect_extremes(state, states, problem);
}

void ValueColumn::expect_sums(AggregateState const& state, GroupProblem const& problem) const {
  auto const groups = problem.heads().size();
  auto const sum_words = contract::sum_words(kind_);
  auto const words = contract::value_words(kind_);
  ASSERT_EQ(state.sums.size(), groups * sum_words);
  std::vector<Wide> expected(groups);
  for (std::size_t row = 0; row < problem.ids().size(); ++row) {
    if (!is_valid(row)) continue;
    auto const* value = &values_[row * words];
    bool const negative = contract::is_signed_integer(kind_) && (value[words - 1] >> 31) != 0;
    for (std::uint32_t i = 0; i < words; ++i) expected[problem.ids()[row]].add(value[i], 32 * i, false);
    if (negative) expected[problem.ids()[row]].add(1, 32 * words, true);
  }
  for (std::size_t group = 0; group < groups; ++group) {
    Wide sum;
    sum.add_signed(std::span(state.sums).subspan(group * sum_words, sum_words), 0);
    ASSERT_TRUE(sum == expected[group]) << "group " << group;
  }
}

void ValueColumn::expect_float_sums(FloatSums const& sums, GroupProblem const& problem) const {
  auto const groups = problem.heads().size();
  auto const words = contract::value_words(kind_);
  ASSERT_EQ(sums.flags.size(), groups);
  ASSERT_EQ(sums.first_window.size(), groups);
  ASSERT_EQ(sums.offsets.size(), groups + 1);
  ASSERT_EQ(sums.windows.size(), 2 * sums.offsets.back());
  // Rows by group, so that one wide sum is held at a time.
  std::vector<std::uint32_t> rows(problem.ids().size());
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[row] = row;
  std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return problem.ids()[row]; });
  auto next = rows.begin();
  for (std::uint32_t group = 0; group < groups; ++group) {
    Wide expected;
    std::uint8_t flags = 0;
    for (; next != rows.end() && problem.ids()[*next] == group; ++next) {
      if (!is_valid(*next)) continue;
      FloatBits const value(kind_, &values_[*next * words]);
      flags |= value.flag;
      expected.add(value.magnitude, value.position, value.negative);
    }
    ASSERT_EQ(sums.flags[group], flags) << "group " << group;
    auto const windows = sums.offsets[group + 1] - sums.offsets[group];
    ASSERT_LE(windows, contract::max_windows(kind_));
    Wide sum;
    for (std::uint64_t window = 0; window < windows; ++window) {
      auto const at = 2 * (sums.offsets[group] + window);
      sum.add_signed(std::span(sums.windows).subspan(at, 2),
                     static_cast<std::uint32_t>(64 * (sums.first_window[group] + window)));
    }
    ASSERT_TRUE(sum == expected) << "group " << group;
  }
}

void ValueColumn::expect_extremes(AggregateState const& state, StateSet states, GroupProblem const& problem) const {
  bool const wants_min = (states & contract::kMinState) != 0;
  bool const wants_max = (states & contract::kMaxState) != 0;
  auto const groups = problem.heads().size();
  auto const each = contract::extreme_words(kind_);
  ASSERT_EQ(state.minima.size(), wants_min ? groups * each : 0);
  ASSERT_EQ(state.maxima.size(), wants_max ? groups * each : 0);
  if (!wants_min && !wants_max) return;
  std::vector<std::vector<std::uint64_t>> minima(groups);
  std::vector<std::vector<std::uint64_t>> maxima(groups);
  auto const less = [](auto const& a, auto const& b) {
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  };
  for (std::size_t row = 0; row < problem.ids().size(); ++row) {
    if (!is_valid(row)) continue;
    auto const value = ordered(kind_, &values_[row * contract::value_words(kind_)]);
    auto& minimum = minima[problem.ids()[row]];
    auto& maximum = maxima[problem.ids()[row]];
    if (minimum.empty() || less(value, minimum)) minimum = value;
    if (maximum.empty() || less(maximum, value)) maximum = value;
  }
  for (std::size_t group = 0; group < groups; ++group) {
    if (minima[group].empty()) continue;
    for (std::uint32_t i = 0; i < each; ++i) {
      if (wants_min) {
        ASSERT_EQ(state.minima[group * each + i], minima[group][i]) << "group " << group;
      }
      if (wants_max) {
        ASSERT_EQ(state.maxima[group * each + i], maxima[group][i]) << "group " << group;
      }
    }
  }
}

}  // namespace garuda::testing
