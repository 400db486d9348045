#include "tests/cpu/whole_problem.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"

namespace garuda::cpu {
namespace {

/// The states that a group has to have of one column.
struct Expected {
  std::uint64_t first_row = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t count = 0;
  Int128 high = 0;  ///< sums of the values' upper and lower 64 bits, low half unsigned
  UInt128 low = 0;
  UInt128 min = ~UInt128{0};
  UInt128 max = 0;
};

Int128 integer_at(Column const& column, std::uint64_t row) {
  auto const* const words = &column.words[row * contract::value_words(column.request.kind)];
  auto const low64 = [&] { return (std::uint64_t{words[1]} << 32) | words[0]; };
  switch (column.request.kind) {
    case contract::ValueKind::int32:
      return static_cast<std::int32_t>(words[0]);
    case contract::ValueKind::uint32:
      return words[0];
    case contract::ValueKind::int64:
      return static_cast<std::int64_t>(low64());
    case contract::ValueKind::uint64:
      return low64();
    case contract::ValueKind::int128:
      return static_cast<Int128>((UInt128{(std::uint64_t{words[3]} << 32) | words[2]} << 64) | low64());
    case contract::ValueKind::float32:
      return static_cast<Int128>(std::bit_cast<float>(words[0]));
    case contract::ValueKind::float64:
      return static_cast<Int128>(std::bit_cast<double>(low64()));
    default:
      return 0;
  }
}

UInt128 ordered_integer(contract::ValueKind kind, Int128 value) {
  switch (kind) {
    case contract::ValueKind::int32:
      return ordered_signed(static_cast<std::uint32_t>(value));
    case contract::ValueKind::int64:
      return ordered_signed(static_cast<std::uint64_t>(value));
    case contract::ValueKind::int128:
      return static_cast<UInt128>(value) ^ (UInt128{1} << 127);
    default:
      return static_cast<UInt128>(value);
  }
}

using Groups = std::map<std::uint64_t, std::vector<Expected>>;

Groups expected_groups(Problem const& problem) {
  Groups groups;
  for (std::uint64_t row = 0; row < problem.keys.size(); ++row) {
    auto& columns = groups[problem.keys[row]];
    columns.resize(problem.columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      auto& group = columns[c];
      auto const& column = problem.columns[c];
      group.first_row = std::min(group.first_row, row);
      if (!column.valid.empty() && !column.valid[row]) continue;
      auto const value = integer_at(column, row);
      ++group.count;
      group.high += value >> 64;
      group.low += static_cast<std::uint64_t>(value);
      group.min = std::min(group.min, ordered_integer(column.request.kind, value));
      group.max = std::max(group.max, ordered_integer(column.request.kind, value));
    }
  }
  return groups;
}

/// Words of the two's complement sum high · 2^64 + low.
std::vector<std::uint64_t> expected_sum(Expected const& group) {
  auto const high = group.high + static_cast<Int128>(group.low >> 64);
  auto const sign = high < 0 ? ~std::uint64_t{0} : 0;
  return {static_cast<std::uint64_t>(group.low), static_cast<std::uint64_t>(high),
          static_cast<std::uint64_t>(high >> 64), sign};
}

UInt128 extreme_of(contract::Words const& extremes, contract::ValueKind kind, std::size_t group) {
  auto const words = contract::extreme_words(kind);
  auto const* const first = &extremes[group * words];
  return words == 1 ? UInt128{first[0]} : (UInt128{first[1]} << 64) | first[0];
}

std::uint64_t first_word(std::uint64_t key, std::uint32_t bits) { return key & ((std::uint64_t{1} << bits) - 1); }

contract::Words const& keys_of(contract::GroupPart const& part) {
  return part.more_words.empty() ? part.keys : part.more_words[0];
}

void expect_part(contract::GroupPart const& part, Problem const& problem, bool first_rows, Groups& left) {
  ASSERT_EQ(part.states.size(), problem.columns.size());
  for (std::size_t g = 0; g < part.size(); ++g) {
    auto const key = keys_of(part)[g];
    auto const found = left.find(key);
    ASSERT_NE(found, left.end()) << "no such key, or twice: " << key;
    if (problem.first_word_bits) {
      ASSERT_EQ(part.more_words.size(), 2U);
      ASSERT_EQ(part.keys[g], first_word(key, *problem.first_word_bits));
      ASSERT_EQ(part.more_words[1][g], ~key);
    }
    for (std::size_t c = 0; c < problem.columns.size(); ++c) {
      SCOPED_TRACE("key " + std::to_string(key) + " column " + std::to_string(c));
      auto const& expected = found->second[c];
      auto const kind = problem.columns[c].request.kind;
      auto const& state = part.states[c];
      if (first_rows) {
        ASSERT_EQ(part.first_rows[g], expected.first_row);
      }
      auto const is_wanted = [&](contract::StateSet states) {
        return (problem.columns[c].request.states & states) != 0;
      };
      if (is_wanted(contract::kCountState)) {
        ASSERT_EQ(state.counts[g], expected.count);
      }
      if (is_wanted(contract::kSumState) && contract::is_float(kind)) {
        ASSERT_TRUE(state.sum_exponent);
        auto const sum = sum_of(state, contract::ValueKind::int64, g);
        auto const wide = static_cast<Int128>(UInt128{sum[1]} << 64 | sum[0]);
        ASSERT_EQ(std::ldexp(static_cast<double>(wide), *state.sum_exponent),
                  static_cast<double>(expected.high * (Int128{1} << 64) + static_cast<Int128>(expected.low)));
      } else if (is_wanted(contract::kSumState)) {
        ASSERT_EQ(sum_of(state, kind, g), expected_sum(expected));
      }
      if (expected.count == 0) continue;
      if (is_wanted(contract::kMinState)) {
        ASSERT_TRUE(extreme_of(state.minima, kind, g) == expected.min);
      }
      if (is_wanted(contract::kMaxState)) {
        ASSERT_TRUE(extreme_of(state.maxima, kind, g) == expected.max);
      }
    }
    left.erase(found);
  }
}

}  // namespace

Problem random_problem(std::uint64_t rows, std::uint64_t groups, std::uint64_t stride, bool narrow, bool nulls,
                       std::uint32_t seed) {
  std::mt19937_64 random(seed);
  Problem problem;
  problem.narrow = narrow;
  for (std::uint64_t row = 0; row < rows; ++row) {
    auto const key = 5 + random() % groups * stride;
    problem.keys.push_back(narrow ? key & 0xFFFF'FFFF : key);
  }
  auto const all = static_cast<contract::StateSet>(contract::kCountState | contract::kSumState | contract::kMinState |
                                                   contract::kMaxState);
  for (auto const kind : {contract::ValueKind::int32, contract::ValueKind::uint32, contract::ValueKind::int64,
                          contract::ValueKind::uint64, contract::ValueKind::int128}) {
    Column column{{kind, all, false}, {}, {}};
    for (std::uint64_t w = 0; w < rows * contract::value_words(kind); ++w)
      // Often the largest words, so that sums leave 64 and 128 bits and come back.
      column.words.push_back(random() % 4 == 0 ? 0x7FFF'FFFF : static_cast<std::uint32_t>(random()));
    if (nulls)
      for (std::uint64_t row = 0; row < rows; ++row) column.valid.push_back(random() % 8 != 0);
    problem.columns.push_back(std::move(column));
  }
  return problem;
}

std::vector<std::uint64_t> sum_of(contract::AggregateState const& state, contract::ValueKind kind, std::size_t group) {
  auto const words = state.words_per_sum;
  auto const* const first = &state.sums[group * words];
  auto const is_unsigned = kind == contract::ValueKind::uint32 || kind == contract::ValueKind::uint64;
  std::vector<std::uint64_t> sum(first, first + words);
  // Two words are signed: room for every sum.
  auto const sign = (!is_unsigned || words > 1) && (sum.back() >> 63) != 0 ? ~std::uint64_t{0} : 0;
  sum.resize(4, sign);
  return sum;
}

Input::Input(Problem const& problem, bool first_rows) : values(problem.columns) {
  auto const& keys = problem.keys;
  narrow.assign(keys.begin(), keys.end());
  auto const range = std::minmax_element(keys.begin(), keys.end());
  contract::KeySpan span{std::span<std::uint32_t const>(narrow), *range.first, *range.second, {}};
  if (!problem.narrow) span.words = std::span<std::uint64_t const>(keys);
  table.keys = span;
  std::uint64_t varying = 0;
  for (auto const key : keys) varying |= key ^ keys[0];
  table.common_low_bits =
      varying == 0 ? (problem.narrow ? 32 : 64) : static_cast<std::uint32_t>(std::countr_zero(varying));
  table.num_rows = keys.size();
  table.estimated_groups = std::min<std::uint64_t>(keys.size(), 100);
  for (std::uint64_t first = 0; first < keys.size(); first += problem.block_rows)
    table.blocks.push_back({first, std::min(problem.block_rows, keys.size() - first)});
  for (auto const& column : problem.columns) {
    table.requests.push_back(column.request);
    table.requests.back().may_have_nulls = !column.valid.empty();
  }
  table.values = &values;
  table.wants_first_rows = first_rows;
  if (!problem.first_word_bits) return;
  for (auto const key : keys) {
    first_words.push_back(first_word(key, *problem.first_word_bits));
    last_words.push_back(~key);
  }
  table.keys = contract::KeySpan{std::span<std::uint64_t const>(first_words), 0, ~std::uint64_t{0}, {}};
  table.common_low_bits = 0;
  table.more_words = {keys, last_words};
}

std::vector<std::uint64_t> check(Problem const& problem, bool first_rows, Open const& open) {
  Input const input(problem, first_rows);
  oneapi::tbb::task_arena arena(3);
  auto const opened = arena.execute([&] { return open(input.table); });
  EXPECT_TRUE(opened);
  if (!opened) return {};
  auto left = expected_groups(problem);
  std::vector<std::uint64_t> order;
  for (std::size_t p = 0; p < (*opened)->num_parts(); ++p) {
    auto const part = (*opened)->part(p);
    EXPECT_TRUE(part);
    if (!part) return {};
    expect_part(*part, problem, first_rows, left);
    order.insert(order.end(), keys_of(*part).begin(), keys_of(*part).end());
  }
  EXPECT_EQ(left.size(), 0U) << "groups are missing";
  return order;
}

Open with(Grouping grouping) {
  return [grouping](contract::WholeTable const& table) {
    return open_cpu_whole_group_by(table, {grouping, nullptr, nullptr});
  };
}

}  // namespace garuda::cpu
