#include "tests/workloads/group_kernel_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "core/numbers/wide_integer.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/cpu/group_by/column_values.hpp"
#include "operators/resolve/aggregates.hpp"
#include "tests/reference/big_number.hpp"

namespace garuda::testing {
namespace {

using contract::AggregateInput;
using contract::AggregateState;
using contract::GroupSlice;
using contract::ValueKind;

/// A case's data, and what its slice refers to.
class CaseData {
 public:
  explicit CaseData(KernelCase const& kernel_case) : case_(kernel_case) {
    for (std::uint64_t row = 0; row < case_.rows; ++row) add_row(row);
  }

  GroupSlice slice() const {
    GroupSlice slice{case_.rows, contract::NoKeys{}, 0};
    if (case_.key_bits == 32) {
      auto const [min, max] = std::minmax_element(keys32_.begin(), keys32_.end());
      slice.keys = contract::KeySpan{std::span(keys32_), *min, *max, {}};
    } else if (case_.key_bits == 64) {
      auto const [min, max] = std::minmax_element(keys64_.begin(), keys64_.end());
      slice.keys = contract::KeySpan{std::span(keys64_), *min, *max, {}};
    } else if (case_.words > 0) {
      slice.keys = contract::KeyWords{{words_.begin(), words_.end()}, case_.words > 1 ? 1U : 0U, 1};
    }
    return slice;
  }

  AggregateInput input(contract::StateSet states) const {
    AggregateInput input{case_.kind, values_, {}, states, {}};
    if (case_.nulls) input.validity = validity_;
    return input;
  }

  bool is_valid(std::uint64_t row) const { return !case_.nulls || ((validity_[row / 32] >> (row % 32)) & 1) != 0; }
  std::vector<std::uint64_t> const& labels() const { return labels_; }

  template <class T>
  T value(std::uint64_t row) const {
    T value;
    std::memcpy(&value, reinterpret_cast<std::byte const*>(values_.data()) + row * sizeof(T), sizeof(T));
    return value;
  }

 private:
  std::uint64_t random(std::uint64_t row, std::uint64_t purpose) const {
    return keys::mix(keys::mix(case_.seed * 64 + purpose) + row);
  }

  void add_row(std::uint64_t row) {
    auto const group = case_.groups == 0 ? row : random(row, 0) % case_.groups;
    auto const has_keys = case_.key_bits != 0 || case_.words != 0;
    labels_.push_back(has_keys ? group : 0);
    auto const key = case_.dense ? group + 5 : keys::mix(group);
    keys32_.push_back(static_cast<std::uint32_t>(case_.dense ? key : group * 0x9E37'79B1));
    keys64_.push_back(key);
    words_.resize(case_.words);
    // The first word tells no groups apart, the last two tell all: a hash of any one has to cope with clashes.
    for (std::uint32_t w = 0; w < case_.words; ++w)
      words_[w].push_back(static_cast<std::uint32_t>(w + 1 == case_.words   ? group
                                                     : w + 2 == case_.words ? group * 0x9E37'79B1 % 64
                                                                            : 7 * w));
    for (std::uint32_t w = 0; w < contract::value_words(case_.kind); ++w) values_.push_back(value_word(row, w));
    if (row % 32 == 0) validity_.push_back(0);
    if (random(row, 1) % 4 != 0) validity_.back() |= std::uint32_t{1} << (row % 32);
  }

  /// Random words; of floats, special values and a wide spread of exponents among them.
  std::uint32_t value_word(std::uint64_t row, std::uint32_t w) const {
    auto const bits = static_cast<std::uint32_t>(random(row, 2 + w));
    auto const is_top = w + 1 == contract::value_words(case_.kind);
    if (!contract::is_float(case_.kind) || !is_top) return bits;
    auto const label = labels_.back() % 8;
    if (label < 3 && random(row, 10) % 16 == 0)
      return label == 0 ? 0x7FF0'0000 : label == 1 ? 0xFFF0'0000 : 0x7FFF'FFFF;
    // No accidental infinities or NaNs of either width.
    return bits & (case_.kind == ValueKind::float32 ? 0xBF7F'FFFF : 0xBFEF'FFFF);
  }

  KernelCase case_;
  std::vector<std::uint64_t> labels_;
  std::vector<std::uint32_t> keys32_;
  std::vector<std::uint64_t> keys64_;
  std::vector<std::vector<std::uint32_t>> words_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> validity_;
};

/// Group ids and heads of the labels.
struct Groups {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> heads;
};

Groups groups_of(std::vector<std::uint64_t> const& labels) {
  Groups groups;
  std::map<std::uint64_t, std::uint32_t> ids;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    auto const [found, is_new] = ids.emplace(labels[row], static_cast<std::uint32_t>(groups.heads.size()));
    if (is_new) groups.heads.push_back(static_cast<std::uint32_t>(row));
    groups.ids.push_back(found->second);
  }
  return groups;
}

template <class T>
struct Plain {
  contract::Words counts;
  std::vector<std::optional<T>> min;
  std::vector<std::optional<T>> max;
};

/// Whether a comes before b; NaN is largest.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a == a;
  }
  return a < b;
}

template <class T>
Plain<T> plain_states(CaseData const& data, Groups const& groups) {
  Plain<T> plain;
  plain.counts.resize(groups.heads.size());
  plain.min.resize(groups.heads.size());
  plain.max.resize(groups.heads.size());
  for (std::size_t row = 0; row < groups.ids.size(); ++row) {
    if (!data.is_valid(row)) continue;
    auto const g = groups.ids[row];
    auto const value = data.value<T>(row);
    ++plain.counts[g];
    if (!plain.min[g] || is_less(value, *plain.min[g])) plain.min[g] = value;
    if (!plain.max[g] || is_less(*plain.max[g], value)) plain.max[g] = value;
  }
  return plain;
}

template <class T>
void expect_extremes(contract::Words const& actual, std::vector<std::optional<T>> const& expected, char const* what) {
  constexpr std::size_t kWords = sizeof(T) == 16 ? 2 : 1;
  ASSERT_EQ(actual.size(), expected.size() * kWords) << what;
  for (std::size_t g = 0; g < expected.size(); ++g) {
    if (!expected[g]) continue;
    auto const value = static_cast<UInt128>(cpu::ordered(*expected[g]));
    ASSERT_EQ(actual[g * kWords], static_cast<std::uint64_t>(value)) << what << " of group " << g;
    if (kWords == 2) {
      ASSERT_EQ(actual[g * kWords + 1], static_cast<std::uint64_t>(value >> 64)) << what << " of group " << g;
    }
  }
}

template <class T>
void expect_sums(CaseData const& data, Groups const& groups, AggregateState const& state, ValueKind kind) {
  if constexpr (std::is_floating_point_v<T>) {
    ASSERT_EQ(state.float_sums.flags.size(), groups.heads.size());
    std::vector<reference::BigSum> sums(groups.heads.size(), reference::BigSum(-1074));
    std::vector<double> special(groups.heads.size(), 0.0);
    for (std::size_t row = 0; row < groups.ids.size(); ++row) {
      if (!data.is_valid(row)) continue;
      auto const value = static_cast<double>(data.value<T>(row));
      if (value - value == 0)
        sums[groups.ids[row]].add(value);
      else
        special[groups.ids[row]] += value;
    }
    for (std::size_t g = 0; g < sums.size(); ++g) {
      auto const sum = resolve::round_float_sum(state.float_sums, g, kind);
      auto const expected = special[g] == 0 ? sums[g].round() : special[g];
      ASSERT_EQ(canonical_bits(sum), canonical_bits(expected)) << "sum of group " << g;
      ASSERT_LE(state.float_sums.offsets[g + 1] - state.float_sums.offsets[g], contract::max_windows(kind));
    }
  } else {
    // Sums of the values' low and high halves, so that 128-bit ones need no more than 128 bits either.
    auto const words = contract::sum_words(kind);
    ASSERT_EQ(state.sums.size(), groups.heads.size() * words);
    std::vector<Int128> low(groups.heads.size());
    std::vector<Int128> high(groups.heads.size());
    for (std::size_t row = 0; row < groups.ids.size(); ++row) {
      if (!data.is_valid(row)) continue;
      auto const value = static_cast<Int128>(data.value<T>(row));
      low[groups.ids[row]] += static_cast<std::uint64_t>(value);
      high[groups.ids[row]] += value >> 64;
    }
    for (std::size_t g = 0; g < low.size(); ++g) {
      auto const upper = high[g] + (low[g] >> 64);
      std::uint64_t const expected[4] = {static_cast<std::uint64_t>(low[g]), static_cast<std::uint64_t>(upper),
                                         static_cast<std::uint64_t>(upper >> 64),
                                         upper < 0 ? ~std::uint64_t{0} : std::uint64_t{0}};
      for (std::uint32_t w = 0; w < words; ++w)
        ASSERT_EQ(state.sums[g * words + w], expected[w]) << "sum of group " << g << " word " << w;
    }
  }
}

template <class T>
void check_values(contract::GroupByKernel& kernel, CaseData const& data, Groups const& groups, ValueKind kind) {
  auto const plain = plain_states<T>(data, groups);
  // All states at once, and each alone.
  for (auto const states : {15, 1, 2, 4, 8, 6}) {
    auto const state = kernel.aggregate(data.input(static_cast<contract::StateSet>(states)));
    ASSERT_TRUE(state) << state.error().describe();
    auto const has = [&](contract::StateSet bit) { return (states & bit) != 0; };
    EXPECT_EQ(state->counts, has(contract::kCountState) ? plain.counts : contract::Words{});
    if (has(contract::kSumState)) expect_sums<T>(data, groups, *state, kind);
    if (has(contract::kMinState)) expect_extremes(state->minima, plain.min, "minimum");
    if (has(contract::kMaxState)) expect_extremes(state->maxima, plain.max, "maximum");
    if (!has(contract::kSumState)) {
      EXPECT_TRUE(state->sums.empty() && state->float_sums.flags.empty());
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void check_kind(contract::GroupByKernel& kernel, CaseData const& data, Groups const& groups, ValueKind kind) {
  switch (kind) {
    case ValueKind::none: {
      auto const state = kernel.aggregate(data.input(contract::kCountState));
      ASSERT_TRUE(state) << state.error().describe();
      contract::Words counts(groups.heads.size());
      for (std::size_t row = 0; row < groups.ids.size(); ++row) counts[groups.ids[row]] += data.is_valid(row) ? 1 : 0;
      EXPECT_EQ(state->counts, counts);
      return;
    }
    case ValueKind::int32:
      return check_values<std::int32_t>(kernel, data, groups, kind);
    case ValueKind::uint32:
      return check_values<std::uint32_t>(kernel, data, groups, kind);
    case ValueKind::int64:
      return check_values<std::int64_t>(kernel, data, groups, kind);
    case ValueKind::uint64:
      return check_values<std::uint64_t>(kernel, data, groups, kind);
    case ValueKind::int128:
      return check_values<Int128>(kernel, data, groups, kind);
    case ValueKind::float32:
      return check_values<float>(kernel, data, groups, kind);
    case ValueKind::float64:
      return check_values<double>(kernel, data, groups, kind);
    case ValueKind::bytes:
      FAIL() << "kernels see no bytes";
  }
}

constexpr ValueKind kKinds[] = {ValueKind::none,   ValueKind::int32,  ValueKind::uint32,  ValueKind::int64,
                                ValueKind::uint64, ValueKind::int128, ValueKind::float32, ValueKind::float64};

}  // namespace

std::string to_string(KernelCase const& kernel_case) {
  return kernel_case.name + " rows " + std::to_string(kernel_case.rows) + " groups " +
         std::to_string(kernel_case.groups) + " key bits " + std::to_string(kernel_case.key_bits) + " words " +
         std::to_string(kernel_case.words) + " kind " + std::to_string(static_cast<int>(kernel_case.kind)) +
         (kernel_case.nulls ? " nulls" : "") + (kernel_case.dense ? " dense" : " spread");
}

std::vector<KernelCase> kernel_cases(bool large) {
  struct Keys {
    std::uint32_t key_bits;
    std::uint32_t words;
    bool dense;
  };
  std::vector<Keys> const forms{{32, 0, true}, {32, 0, false}, {64, 0, true}, {64, 0, false}, {0, 0, true},
                                {0, 1, true},  {0, 2, true},   {0, 5, true},  {0, 11, true}};
  std::vector<KernelCase> cases;
  std::vector<std::uint64_t> const sizes =
      large ? std::vector<std::uint64_t>{65'537} : std::vector<std::uint64_t>{1, 31, 33, 255, 257};
  std::size_t next = 0;
  for (auto const rows : sizes)
    for (auto const groups : {1, 2, 64, 0})
      for (auto const& form : forms) {
        ++next;
        KernelCase kernel_case{"",
                               rows,
                               static_cast<std::uint64_t>(groups),
                               form.key_bits,
                               form.words,
                               kKinds[next % std::size(kKinds)],
                               next % 3 == 0,
                               form.dense,
                               next};
        cases.push_back(kernel_case);
      }
  for (auto const kind : kKinds)
    for (auto const nulls : {false, true})
      cases.push_back({"every kind", large ? 65'537U : 257U, 9, 32, 0, kind, nulls, true, 3});
  return cases;
}

void check_group_kernel(contract::GroupByBackend& backend, KernelCase const& kernel_case) {
  SCOPED_TRACE(to_string(kernel_case));
  CaseData const data(kernel_case);
  auto const expected = groups_of(data.labels());
  auto const slice = data.slice();
  auto const kernel = backend.begin(slice, 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  auto const num_groups = (*kernel)->group();
  ASSERT_TRUE(num_groups) << num_groups.error().describe();
  ASSERT_EQ(*num_groups, expected.heads.size());
  auto const heads = (*kernel)->heads();
  ASSERT_TRUE(heads) << heads.error().describe();
  EXPECT_TRUE(std::ranges::equal(*heads, expected.heads));
  std::vector<std::uint32_t> ids(kernel_case.rows);
  auto const numbered = (*kernel)->group_ids(ids);
  ASSERT_TRUE(numbered) << numbered.error().describe();
  EXPECT_EQ(ids, expected.ids);
  check_kind(**kernel, data, expected, kernel_case.kind);
}

}  // namespace garuda::testing
