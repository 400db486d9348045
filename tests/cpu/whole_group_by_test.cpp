// The CPU path's group-by of whole tables: every way of grouping against one value at a time.
#include "operators/cpu/group_by/whole_group_by.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/cpu/group_by/local_groups.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"

namespace garuda::cpu {
namespace {

/// A column of one kind, its values as words.
struct Column {
  contract::StateRequest request;
  std::vector<std::uint32_t> words;
  std::vector<bool> valid;  ///< empty: no nulls
};

class Values final : public contract::TableValues {
 public:
  explicit Values(std::vector<Column> const& columns) : columns_(columns) {}

  Result<contract::SliceValues> read(std::size_t column, contract::SliceRows const& rows) const override {
    auto const& source = columns_[column];
    auto const width = contract::value_words(source.request.kind);
    contract::SliceValues slice;
    slice.input.kind = source.request.kind;
    slice.input.states = source.request.states;
    GARUDA_TRY_ASSIGN(slice.values, AlignedBuffer::allocate(static_cast<std::int64_t>(rows.count * width * 4)));
    for (std::uint64_t i = 0; i < rows.count * width; ++i)
      slice.values.as<std::uint32_t>()[i] = source.words[rows[i / width] * width + i % width];
    slice.input.values = {slice.values.as<std::uint32_t>(), rows.count * width};
    if (source.valid.empty()) return slice;
    auto const words = (rows.count + 31) / 32;
    GARUDA_TRY_ASSIGN(slice.validity, AlignedBuffer::allocate(static_cast<std::int64_t>(words * 4)));
    auto* const bits = slice.validity.as<std::uint32_t>();
    std::fill_n(bits, words, 0U);
    for (std::uint64_t i = 0; i < rows.count; ++i)
      bits[i / 32] |= static_cast<std::uint32_t>(source.valid[rows[i]]) << (i % 32);
    slice.input.validity = {bits, words};
    return slice;
  }

  std::vector<partition::PayloadColumn::Part> in_place(std::size_t column) const override {
    if (!columns_[column].valid.empty()) return {};
    return {{0, reinterpret_cast<std::byte const*>(columns_[column].words.data())}};
  }

  bool reads_row_ids(std::size_t) const override { return true; }

 private:
  std::vector<Column> const& columns_;
};

/// What a group has to have of one column.
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

/// A table of one key and columns of integers.
struct Problem {
  std::vector<std::uint64_t> keys;
  bool narrow = true;
  std::vector<Column> columns;
  std::uint64_t block_rows = 64;
  /// Keys take three words: so many low bits of the key, the key, and its complement.
  std::optional<std::uint32_t> first_word_bits{};
};

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
std::vector<std::uint64_t> sum_of(Expected const& group) {
  auto const high = group.high + static_cast<Int128>(group.low >> 64);
  auto const sign = high < 0 ? ~std::uint64_t{0} : 0;
  return {static_cast<std::uint64_t>(group.low), static_cast<std::uint64_t>(high),
          static_cast<std::uint64_t>(high >> 64), sign};
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

UInt128 extreme_of(std::vector<std::uint64_t> const& extremes, contract::ValueKind kind, std::size_t group) {
  auto const words = contract::extreme_words(kind);
  auto const* const first = &extremes[group * words];
  return words == 1 ? UInt128{first[0]} : (UInt128{first[1]} << 64) | first[0];
}

std::uint64_t first_word(std::uint64_t key, std::uint32_t bits) { return key & ((std::uint64_t{1} << bits) - 1); }

std::vector<std::uint64_t> const& keys_of(contract::GroupPart const& part) {
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
      ASSERT_EQ(state.counts[g], expected.count);
      ASSERT_EQ(sum_of(state, kind, g), sum_of(expected));
      if (expected.count == 0) continue;
      ASSERT_TRUE(extreme_of(state.minima, kind, g) == expected.min);
      ASSERT_TRUE(extreme_of(state.maxima, kind, g) == expected.max);
    }
    left.erase(found);
  }
}

/// Keys of either width, and the table that refers to them.
struct Input {
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> first_words;
  std::vector<std::uint64_t> last_words;
  Values values;
  contract::WholeTable table;

  Input(Problem const& problem, bool first_rows) : values(problem.columns) {
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
};

using Open = std::function<Result<std::unique_ptr<contract::WholeGroupBy>>(contract::WholeTable const&)>;

/// Returns the keys in the order of the result.
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

/// Local tables so small that they fill, are put aside or given up.
Open with_local_tables_of(std::uint64_t most_groups) {
  return [most_groups](contract::WholeTable const& table) -> Result<std::unique_ptr<contract::WholeGroupBy>> {
    GroupStates const states{table.requests, std::vector<FixedPoint>(table.requests.size()), table.wants_first_rows,
                             table.more_words.size()};
    contract::WholeGroupByOptions const options{Grouping::local, nullptr, nullptr};
    if (std::holds_alternative<std::span<std::uint32_t const>>(std::get<contract::KeySpan>(table.keys).words))
      return open_local_groups(TableRows<std::uint32_t>(table), states, most_groups, options, {2000, 1});
    return open_local_groups(TableRows<std::uint64_t>(table), states, most_groups, options, {2000, 1});
  };
}

TEST(WholeGroupBy, EveryGroupingFindsTheSameStates) {
  for (auto const rows : {1U, 2U, 63U, 64U, 65U, 3000U})
    for (auto const groups : {1U, 2U, 64U, 5000U})
      for (auto const narrow : {false, true})
        for (auto const nulls : {false, true}) {
          SCOPED_TRACE(std::to_string(rows) + " rows " + std::to_string(groups) + " groups" +
                       (narrow ? " narrow" : " wide") + (nulls ? " nulls" : ""));
          auto const dense = random_problem(rows, groups, 1, narrow, nulls, rows + groups);
          auto const strided = random_problem(rows, groups, 1024, narrow, nulls, rows + groups);
          auto const spread =
              random_problem(rows, groups, narrow ? 0x9E37'79B1 : 0x9E37'79B9'7F4A'7C15, narrow, nulls, rows + groups);
          for (auto const first_rows : {false, true}) {
            check(dense, first_rows, with(Grouping::direct));
            check(strided, first_rows, with(Grouping::direct));
            for (auto const* problem : {&dense, &strided, &spread})
              for (auto const grouping : {Grouping::local, Grouping::partitioned})
                check(*problem, first_rows, with(grouping));
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
}

/// So many partitions, and so small chunks, as `sizes` make of a few rows.
Open with_partitions_of(PartitionSizes const& sizes) {
  return [sizes](contract::WholeTable const& table) -> Result<std::unique_ptr<contract::WholeGroupBy>> {
    GroupStates const states{table.requests, std::vector<FixedPoint>(table.requests.size()), table.wants_first_rows,
                             table.more_words.size()};
    contract::WholeGroupByOptions const options{Grouping::partitioned, nullptr, nullptr};
    if (std::holds_alternative<std::span<std::uint32_t const>>(std::get<contract::KeySpan>(table.keys).words))
      return open_partitioned_groups(TableRows<std::uint32_t>(table), states, {}, options, sizes);
    return open_partitioned_groups(TableRows<std::uint64_t>(table), states, {}, options, sizes);
  };
}

TEST(WholeGroupBy, ManyPartitionsWholeOrChunkByChunk) {
  for (auto const narrow : {false, true})
    for (auto const nulls : {false, true})
      for (auto const stride : {1U, 1024U, 0x9E37'79B1U})
        for (auto const first_rows : {false, true}) {
          SCOPED_TRACE(std::to_string(stride) + (narrow ? " narrow" : " wide") + (nulls ? " nulls" : ""));
          // Dense keys of 100 groups: kept tables, whose rows come in chunks of 128 and of 1024.
          auto const problem = random_problem(5000, 100, stride, narrow, nulls, stride);
          for (auto const& sizes : {PartitionSizes{1, 1}, PartitionSizes{600, 1024}, PartitionSizes{600, 1 << 20}})
            check(problem, first_rows, with_partitions_of(sizes));
          if (::testing::Test::HasFatalFailure()) return;
        }
}

TEST(WholeGroupBy, LocalTablesArePutAsideOrGivenUpInTheMiddle) {
  for (auto const narrow : {false, true})
    for (auto const most_groups : {1U, 10U, 40U, 200U}) {
      SCOPED_TRACE(most_groups);
      // Groups repeat often enough, then hardly ever, then often again.
      auto problem = random_problem(6000, 8, 77'777, narrow, true, most_groups);
      auto const many = random_problem(6000, 100'000, 77'777, narrow, true, 5);
      for (std::size_t row = 2500; row < 4500; ++row) problem.keys[row] = many.keys[row];
      for (auto const first_rows : {false, true}) check(problem, first_rows, with_local_tables_of(most_groups));
    }
}

TEST(WholeGroupBy, KeysOfSeveralWordsWhateverTheFirstOneTells) {
  for (auto const bits : {0U, 3U, 63U})
    for (auto const first_rows : {false, true}) {
      SCOPED_TRACE(bits);
      auto problem = random_problem(4000, 1500, 0x9E37'79B9'7F4A'7C15, false, false, bits);
      problem.first_word_bits = bits;
      for (auto const grouping : {Grouping::local, Grouping::partitioned}) {
        auto const order = check(problem, first_rows, with(grouping));
        EXPECT_EQ(check(problem, first_rows, with(grouping)), order);
      }
      for (auto const most_groups : {1U, 40U, 2000U}) check(problem, first_rows, with_local_tables_of(most_groups));
      for (auto const& sizes : {PartitionSizes{1, 1}, PartitionSizes{600, 1024}})
        check(problem, first_rows, with_partitions_of(sizes));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(WholeGroupBy, OrderOfGroupsIsTheSameInEveryRun) {
  auto const problem = random_problem(5000, 300, 12'345, true, false, 9);
  for (auto const grouping : {Grouping::local, Grouping::partitioned}) {
    auto const first = check(problem, false, with(grouping));
    for (int run = 0; run < 5; ++run) EXPECT_EQ(check(problem, false, with(grouping)), first);
  }
}

TEST(WholeGroupBy, KeysAtTheEndsOfTheRange) {
  auto problem = random_problem(200, 1, 1, false, false, 3);
  std::vector<std::uint64_t> const ends{0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
  for (std::size_t row = 0; row < problem.keys.size(); ++row) problem.keys[row] = ends[row % ends.size()];
  check(problem, true, with(Grouping::local));
  check(problem, true, with(Grouping::partitioned));
}

TEST(WholeGroupBy, FloatsAreSummedOverTheirLowestBit) {
  auto const put = [](Column& column, double value) {
    auto const bits = std::bit_cast<std::uint64_t>(value);
    column.words.push_back(static_cast<std::uint32_t>(bits));
    column.words.push_back(static_cast<std::uint32_t>(bits >> 32));
  };
  auto const problem_of = [&](std::vector<double> const& values) {
    Problem problem;
    problem.columns.push_back({{contract::ValueKind::float64, contract::kSumState, false}, {}, {}});
    for (std::size_t row = 0; row < values.size(); ++row) {
      problem.keys.push_back(row % 2);
      put(problem.columns[0], values[row]);
    }
    return problem;
  };
  auto const problem = problem_of({1.5, -0x1p-20, -0.0, 0x1p-20, 0x1p30, 3});
  for (auto const grouping : {Grouping::direct, Grouping::local, Grouping::partitioned}) {
    Input const input(problem, true);
    auto const opened = with(grouping)(input.table);
    ASSERT_TRUE(opened && *opened != nullptr);
    std::size_t found = 0;
    for (std::size_t p = 0; p < (*opened)->num_parts(); ++p) {
      auto const part = (*opened)->part(p);
      ASSERT_TRUE(part);
      for (std::size_t g = 0; g < part->size(); ++g, ++found) {
        auto const& state = part->states[0];
        ASSERT_TRUE(state.sum_exponent);
        auto const sum = sum_of(state, contract::ValueKind::int64, g);
        auto const wide = static_cast<Int128>((UInt128{sum[1]} << 64) | sum[0]);
        EXPECT_EQ(std::ldexp(static_cast<double>(wide), *state.sum_exponent), part->keys[g] == 0 ? 1.5 + 0x1p30 : 3.0);
      }
    }
    EXPECT_EQ(found, 2U);
  }
  // 53 bits, those between the exponents, and two for as many rows: 127, or one more.
  for (auto const& [values, fits] : {std::pair{std::vector{1.0, 0x1p72}, true},
                                     {{1.0, -0x1p73}, false},
                                     {{0.0, 0x1p-900, -0.0, -0x1p-831}, true},
                                     {{0.0, -0.0}, true},
                                     {{5e-324, 0x1p-950}, true},
                                     {{-5e-324, 0x1p-949}, false},
                                     {{-0x1p-1043, 0x1p-950}, true},
                                     {{0x1p-1042, 0x1p-949}, false},
                                     {{5e-324, 0.0}, true},
                                     {{1.7e308, -1.7e308}, true}}) {
    auto const near = problem_of(values);
    Input const input(near, true);
    auto const opened = with(Grouping::direct)(input.table);
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened != nullptr, fits) << values[0] << ", " << values[1];
    if (!fits) continue;
    auto const part = (*opened)->part(0);
    ASSERT_TRUE(part);
    for (std::size_t g = 0; g < 2; ++g) {
      auto const sum = sum_of(part->states[0], contract::ValueKind::int64, g);
      auto const wide = static_cast<Int128>((UInt128{sum[1]} << 64) | sum[0]);
      auto const expected = values.size() == 2 ? values[g] : values[g] + values[g + 2];
      EXPECT_EQ(std::ldexp(static_cast<double>(wide), *part->states[0].sum_exponent), expected);
    }
  }
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  for (auto const& values : {std::vector{1e300, 1e-300}, std::vector{1.0, kInfinity},
                             std::vector{1.0, std::numeric_limits<double>::quiet_NaN()}}) {
    auto const far = problem_of(values);
    Input const input(far, true);
    auto const opened = with(Grouping::direct)(input.table);
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened, nullptr) << "their sum does not fit 128 bits over the lowest bit";
  }
}

TEST(WholeGroupBy, CanBeCancelled) {
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto const problem = random_problem(500, 9, 1, true, false, 1);
  Input const input(problem, false);
  for (auto const grouping : {Grouping::direct, Grouping::local, Grouping::partitioned}) {
    auto const opened = open_cpu_whole_group_by(input.table, {grouping, &control, nullptr});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::cancelled);
  }
}

TEST(WholeGroupBy, SizesFollowKeysAndStates) {
  contract::WholeTable table;
  EXPECT_FALSE(whole_sizes(table).has_keys);
  table.keys = contract::KeySpan{std::span<std::uint64_t const>{}, 10, 73, {}};
  table.requests = {{contract::ValueKind::int64, contract::kSumState, false}};
  auto const sizes = whole_sizes(table);
  EXPECT_TRUE(sizes.has_keys);
  EXPECT_EQ(sizes.slots, 64U);
  EXPECT_EQ(sizes.group_bytes, 9U) << "the sum, and whether there are rows";
  EXPECT_EQ(sizes.row_bytes, 8U + 4U + 8U) << "key, row id, value";
  table.common_low_bits = 3;
  EXPECT_EQ(whole_sizes(table).slots, 8U) << "bits that all keys share take no room";
  table.keys = contract::KeySpan{std::span<std::uint64_t const>{}, 0, ~std::uint64_t{0}, {}};
  table.common_low_bits = 0;
  EXPECT_EQ(whole_sizes(table).slots, 0U) << "2^64";
  table.more_words.resize(2);
  EXPECT_EQ(whole_sizes(table).row_bytes, 8U + 2 * 8U + 4U + 8U);
}

}  // namespace
}  // namespace garuda::cpu
