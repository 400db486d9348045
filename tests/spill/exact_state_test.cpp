// Exact states: parts of a column, merged in any order, give the bits of the whole column's aggregates.
#include "operators/resolve/exact_state.hpp"

#include <arrow/array/builder_primitive.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "io/arrow_bridge.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "tests/unwrap.hpp"

namespace garuda::resolve {
namespace {

using testing::succeed;
using testing::value_of;
using F = AggregateFunction;

/// Columns x, y of float64, with nulls and special values where wanted, and n of int64.
struct Numbers {
  std::vector<std::optional<double>> x, y;
  std::vector<std::optional<std::int64_t>> n;

  std::size_t size() const { return x.size(); }
};

Numbers random_numbers(std::size_t count, bool is_special, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Numbers numbers;
  auto const number = [&]() -> std::optional<double> {
    if (random() % 9 == 0) return std::nullopt;
    if (is_special && random() % 50 == 0) return std::numeric_limits<double>::infinity();
    auto const exponent = static_cast<int>(random() % 2000) - 1040;
    return std::ldexp(static_cast<double>(random() % (1ULL << 53)) - (1LL << 52), exponent - 53);
  };
  for (std::size_t i = 0; i < count; ++i) {
    numbers.x.push_back(number());
    numbers.y.push_back(number());
    numbers.n.push_back(random() % 7 == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(random())));
  }
  return numbers;
}

template <class Builder, class Value>
std::shared_ptr<arrow::Array> array_of(std::vector<std::optional<Value>> const& values, std::size_t begin,
                                       std::size_t end) {
  Builder builder;
  for (auto i = begin; i < end; ++i) EXPECT_TRUE((values[i] ? builder.Append(*values[i]) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

/// Rows [begin, end).
Table table_of(Numbers const& numbers, std::size_t begin, std::size_t end) {
  auto const schema = arrow::schema(
      {arrow::field("x", arrow::float64()), arrow::field("y", arrow::float64()), arrow::field("n", arrow::int64())});
  auto const batch = arrow::RecordBatch::Make(
      schema, static_cast<std::int64_t>(end - begin),
      {array_of<arrow::DoubleBuilder>(numbers.x, begin, end), array_of<arrow::DoubleBuilder>(numbers.y, begin, end),
       array_of<arrow::Int64Builder>(numbers.n, begin, end)});
  return value_of(io::to_table(schema, {batch}));
}

std::vector<Aggregate> aggregates(bool as_state) {
  std::vector<Aggregate> all;
  for (auto const function : {F::sum, F::mean, F::var, F::var_pop, F::std_dev, F::std_dev_pop})
    for (auto const* column : {"x", "n"}) {
      if (function == F::sum && *column == 'n') continue;  // beyond int64
      all.push_back({function, column, std::nullopt});
    }
  for (auto const function : {F::covar, F::covar_pop, F::corr})
    for (auto const* second : {"y", "n"}) all.push_back({function, "x", std::nullopt, second});
  for (auto& aggregate : all) aggregate.as_state = as_state;
  return all;
}

Table group(Engine& engine, Table const& table, std::vector<Aggregate> const& wanted) {
  GroupBySpec spec;
  spec.aggregates = wanted;
  GroupByOptions options;
  options.path = Path::cpu;
  return value_of(collect(*value_of(engine.group_by(table.view(), spec, options))));
}

ExactState state_at(Table const& states, std::size_t column) {
  auto const& array = states.batches().front().columns[column];
  auto const* const offsets = static_cast<std::int64_t const*>(array.offsets) + array.offset;
  auto const* const bytes = static_cast<std::byte const*>(array.values);
  return value_of(read_exact_state(std::span(bytes + offsets[0], bytes + offsets[1])));
}

void check_parts(Numbers const& numbers, std::vector<std::size_t> const& cuts) {
  auto engine = value_of(Engine::create({.vulkan = false, .cuda = false}));
  auto const whole_table = table_of(numbers, 0, numbers.size());
  auto const whole = group(engine, whole_table, aggregates(false));
  auto resolved = value_of(resolve_group_by(whole_table.view(), {{}, aggregates(false)}));
  std::vector<Table> parts;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    parts.push_back(group(engine, table_of(numbers, cuts[i], cuts[i + 1]), aggregates(true)));
  for (std::size_t a = 0; a < resolved.aggregates.size(); ++a) {
    SCOPED_TRACE(resolved.aggregates[a].name);
    auto state = state_at(parts.back(), a);
    for (auto p = parts.size() - 1; p-- > 0;) state.merge(state_at(parts[p], a));
    auto const& aggregate = resolved.aggregates[a];
    StateValues values(aggregate, aggregate.second ? whole_table.schema()[*aggregate.second].type : DataType{});
    double value = 0;
    auto const made = values.write(state, 0, reinterpret_cast<std::byte*>(&value));
    auto const& expected = whole.batches().front().columns[a];
    ASSERT_EQ(made == StateValues::Made::null, expected.is_null(0));
    if (made == StateValues::Made::null) continue;
    EXPECT_EQ(std::memcmp(&value, expected.data<double>(), sizeof(value)), 0)
        << value << " " << *expected.data<double>();
  }
}

TEST(ExactState, PartsGiveTheBitsOfTheWhole) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    auto const numbers = random_numbers(400, seed % 3 == 0, seed);
    check_parts(numbers, {0, 1, 2, 150, 151, 400});
    check_parts(numbers, {0, 200, 400});
  }
}

TEST(ExactState, PartsOfNothingAndOfZeros) {
  Numbers numbers;
  for (std::size_t i = 0; i < 60; ++i) {
    numbers.x.push_back(i < 20 ? std::nullopt : std::optional(i < 40 ? 0.0 : 0.1 * static_cast<double>(i)));
    numbers.y.push_back(i % 2 == 0 ? std::optional(-0.0) : std::nullopt);
    numbers.n.push_back(i < 30 ? std::optional(std::int64_t{0}) : std::nullopt);
  }
  check_parts(numbers, {0, 10, 20, 30, 40, 60});
  check_parts(numbers, {0, 20, 40, 60});
}

TEST(ExactState, ProductsAreBoundedAndZerosAbsorb) {
  ExactState large;
  large.is_product = true;
  large.count = 1;
  large[StateSum::x] = BigInteger(std::uint64_t{1} << 63);
  auto beyond = large;
  for (int i = 0; i < 100; ++i) beyond.merge(large);
  EXPECT_EQ(beyond[StateSum::x].bit_width(), 65U);
  EXPECT_EQ(beyond.count, 101U);
  auto zero = large;
  zero[StateSum::x] = BigInteger();
  beyond.merge(zero);
  EXPECT_TRUE(beyond[StateSum::x].is_zero());
}

TEST(ExactState, BytesComeBack) {
  ExactState state;
  state.count = 77;
  state.special = 4;
  state.exponents = {-1074, 12};
  state[StateSum::x] = BigInteger(5) << 4000;
  state[StateSum::yy] = -(BigInteger(9) << 70);
  std::vector<std::byte> bytes;
  append_exact_state(state, bytes);
  auto const read = value_of(read_exact_state(bytes));
  EXPECT_EQ(read.count, 77U);
  EXPECT_EQ(read.special, 4);
  EXPECT_EQ(read.exponents, state.exponents);
  for (std::size_t s = 0; s < kStateSums; ++s) EXPECT_TRUE((read.sums[s] - state.sums[s]).is_zero()) << s;
}

TEST(ExactState, OtherBytesAreRefused) {
  ExactState state;
  state[StateSum::x] = BigInteger(5);
  std::vector<std::byte> bytes;
  append_exact_state(state, bytes);
  auto const refused = [](std::vector<std::byte> const& damaged) {
    auto const read = read_exact_state(damaged);
    return !read && read.error().code() == ErrorCode::invalid_input;
  };
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  for (auto const& [at, value] : {std::pair{0, 2}, {1, 2}, {3, 81}, {3, 127}, {19, 127}}) {
    auto damaged = bytes;
    damaged[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_TRUE(refused(damaged)) << at;
  }
  EXPECT_FALSE(refused(bytes));
}

TEST(ExactState, AggregatesWithoutOneAreRefused) {
  auto engine = value_of(Engine::create({.vulkan = false, .cuda = false}));
  auto const table = table_of(random_numbers(3, false, 1), 0, 3);
  for (auto const function : {F::count, F::min, F::median, F::first}) {
    GroupBySpec spec;
    spec.aggregates = {{function, "x", std::nullopt}};
    spec.aggregates.front().as_state = true;
    auto const result = engine.group_by(table.view(), spec);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::usage);
  }
}

}  // namespace
}  // namespace garuda::resolve
