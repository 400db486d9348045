// Expressions against an interpreter of single rows, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"
#include "tests/expr/random_trees.hpp"
#include "tests/expr/row_interpreter.hpp"
#include "tests/test_run.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

Cell cell_of(Vector const& vector, std::size_t i) {
  auto const at = i * vector.stride();
  Cell cell;
  cell.is_null = vector.valid != nullptr && vector.valid[at] == 0;
  with_kind(vector.kind, [&]<class Value>(Value) {
    if constexpr (std::is_same_v<Value, std::string_view>)
      cell.text = vector.as<Value>()[at];
    else if constexpr (std::is_floating_point_v<Value>)
      cell.real = vector.as<Value>()[at];
    else if (vector.is_narrow)
      cell.integer = vector.as<std::int64_t>()[at];
    else
      cell.integer = vector.as<Value>()[at];
  });
  return cell;
}

bool are_same(Cell const& a, Cell const& b) {
  if (a.is_null || b.is_null) return a.is_null == b.is_null;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.integer == b.integer && a.text == b.text && a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

/// The inputs of an evaluator, those as narrow vectors that may be and whose values are.
class NarrowInputs {
 public:
  NarrowInputs(std::span<Vector const> inputs, std::size_t count, Evaluator& evaluator) {
    for (std::size_t c = 0; c < inputs.size(); ++c) {
      auto& input = evaluator.inputs()[c] = inputs[c];
      if (!evaluator.takes_narrow(c) || input.is_constant) continue;
      auto const* const wide = input.as<Int128>();
      if (!std::all_of(wide, wide + count, [](Int128 value) { return value == static_cast<std::int64_t>(value); }))
        continue;
      auto& values = values_.emplace_back(wide, wide + count);
      input.values = values.data();
      input.is_narrow = true;
    }
  }

  std::size_t size() const noexcept { return values_.size(); }

 private:
  std::list<std::vector<std::int64_t>> values_;
};

std::string shown(Cell const& cell) {
  if (cell.is_null) return "null";
  return decimal_digits(cell.integer, 0) + " or " + std::to_string(cell.real) + " or '" + cell.text + "'";
}

TEST(Expression, RandomTreesGiveWhatAnInterpreterOfRowsGives) {
  std::size_t failures = 0;
  std::uint32_t const trees_of_run = testing::full_tests() ? 60'000 : testing::is_bounded() ? 600 : 3'000;
  for (std::uint32_t seed = 0; seed < trees_of_run; ++seed) {
    Trees trees(seed);
    auto const& type = tree_types()[trees.below(tree_types().size())];
    auto const expression = trees.of(type, 5);
    auto const count = seed % 61 == 0 ? kVectorRows - seed % 2 : trees.below(40);
    std::vector<DataType> types;
    std::vector<RandomColumn> columns;
    columns.reserve(2 * tree_types().size());
    std::vector<Vector> inputs;
    for (std::size_t c = 0; c < 2 * tree_types().size(); ++c) {
      types.push_back(tree_types()[c % tree_types().size()]);
      columns.emplace_back(types.back(), count, c < tree_types().size(), trees);
      inputs.push_back(columns.back().vector);
    }
    std::vector<Cell> wanted;
    bool fails = false;
    for (std::size_t i = 0; i < count && !fails; ++i) {
      std::vector<Cell> row;
      for (auto const& column : columns) row.push_back(column.cells[i]);
      try {
        wanted.push_back(Interpreter(row).value(expression));
      } catch (Failure const&) {
        fails = true;
      }
    }
    auto const program = compile(expression, types, Nulls::kept);
    ASSERT_TRUE(program) << program.error().describe();
    Evaluator evaluator(*program);
    std::ranges::copy(inputs, evaluator.inputs().begin());
    std::optional<NarrowInputs> narrow;
    if (seed % 3 != 0) narrow.emplace(inputs, count, evaluator);
    bool const has_place = type.id != TypeId::boolean && seed % 2 == 0;
    std::vector<Int128> place(count);  // as the widest kind has to be aligned
    auto const result = evaluator.run(count, has_place ? place.data() : nullptr);
    ASSERT_EQ(result.has_value(), !fails) << seed << ": " << to_string(expression);
    failures += fails ? 1 : 0;
    if (fails) continue;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(are_same(cell_of(*result, i), wanted[i]))
          << shown(cell_of(*result, i)) << " is not " << shown(wanted[i]) << ", seed " << seed << ", row " << i << ": "
          << to_string(expression);
    if (type.id != TypeId::boolean) continue;
    auto const condition = compile(expression, types, Nulls::false_);
    ASSERT_TRUE(condition);
    Evaluator filter(*condition);
    NarrowInputs const narrow_of_filter(inputs, count, filter);
    auto const* const mask = filter.mask(count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(mask[i] != 0, !wanted[i].is_null && wanted[i].integer != 0) << seed << ": " << to_string(expression);
  }
  EXPECT_GT(failures, trees_of_run / 30);
  EXPECT_LT(failures, trees_of_run / 3 * 2);
}

/// A sum, a difference or a product of decimals of any scales, or a column of decimals.
Expression decimal_tree(std::vector<DataType> const& types, Trees& trees, int depth) {
  if (depth == 0 || trees.below(4) == 0) {
    auto const place = trees.below(types.size() + 1);
    if (place < types.size()) return column(place, types[place], "c" + std::to_string(place));
    return constant(Int128{trees.below(300)} - 150, reference::typed(TypeId::decimal128, 5, 2)).value();
  }
  auto const a = decimal_tree(types, trees, depth - 1);
  auto const b = decimal_tree(types, trees, depth - 1);
  auto const function = std::array{Function::add, Function::subtract, Function::multiply}[trees.below(3)];
  auto result = a.type;
  result.id = TypeId::decimal128;
  result.precision = trees.below(3) == 0 ? 12 : 38;
  result.scale = function == Function::multiply ? a.type.scale + b.type.scale : std::max(a.type.scale, b.type.scale);
  if (trees.below(9) == 0) result.scale = std::max(result.scale - 1, 0);
  result.scale = std::min(result.scale, result.precision);
  auto const on_failure = trees.below(2) == 0 ? OnFailure::error : OnFailure::null;
  return call(function, {a, b}, on_failure, result).value();
}

TEST(Expression, DecimalsOfFewerBitsGiveTheSame) {
  std::size_t narrow_results = 0;
  std::size_t failures = 0;
  for (std::uint32_t seed = 0; seed < 4'000; ++seed) {
    Trees trees(seed);
    std::vector<DataType> types;
    std::list<std::vector<Int128>> values;
    std::list<std::vector<std::uint8_t>> valid;
    std::vector<Vector> inputs;
    auto const count = std::array<std::size_t, 3>{1, 30, kVectorRows}[trees.below(3)];
    for (std::int32_t const scale : {0, 2, 2, 6}) {
      types.push_back(reference::typed(TypeId::decimal128, 38, scale));
      auto const bits = trees.below(63);
      auto& of_column = values.emplace_back(count);
      auto& has_value = valid.emplace_back(count, std::uint8_t{1});
      for (std::size_t i = 0; i < count; ++i) {
        of_column[i] = (Int128{trees.below(1U << 31)} << 31 | trees.below(1U << 31)) >> (62 - bits);
        if (trees.below(2) == 0) of_column[i] = -of_column[i] - 1;
        if (trees.below(7) == 0) has_value[i] = 0;
      }
      inputs.push_back({Kind::int128, false, of_column.data(), trees.below(2) == 0 ? has_value.data() : nullptr});
    }
    auto expression = decimal_tree(types, trees, 3);
    if (trees.below(4) == 0) {
      auto other = decimal_tree(types, trees, 1);
      expression = compare(std::move(expression), static_cast<Comparator>(trees.below(6)), std::move(other)).value();
    }
    auto const program = compile(expression, types, Nulls::kept).value();
    Evaluator wide(program);
    std::ranges::copy(inputs, wide.inputs().begin());
    auto const expected = wide.run(count);
    Evaluator evaluator(program);
    NarrowInputs const narrow(inputs, count, evaluator);
    auto const found = evaluator.run(count);
    ASSERT_EQ(found.has_value(), expected.has_value()) << seed << ": " << to_string(expression);
    failures += found ? 0 : 1;
    if (!found) continue;
    narrow_results += found->is_narrow ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(are_same(cell_of(*found, i), cell_of(*expected, i))) << seed << ": " << to_string(expression);
  }
  EXPECT_GT(narrow_results, 200U);
  EXPECT_GT(failures, 100U);
}

TEST(Expression, AFailureNamesTheExpression) {
  auto const a = column(0, {TypeId::int32}, "price");
  auto const sum = call(Function::add, {a, constant(std::int64_t{1}, {TypeId::int32}).value()}).value();
  auto const program = compile(sum, {{TypeId::int32}}, Nulls::kept).value();
  Evaluator evaluator(program);
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  evaluator.inputs()[0] = {Kind::int32, false, &most, nullptr};
  auto const result = evaluator.run(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_input);
  EXPECT_EQ(result.error().message(),
            "an expression has no value for a row, beyond its type or divided by zero: (price + 1)");
  EXPECT_TRUE(evaluator.run(0));
}

/// The message of the failure of an expression over one text; empty: it has a value.
std::string failure_over(std::string_view text, Expression const& expression) {
  auto const program = testing::value_of(compile(expression, {{TypeId::utf8}}, Nulls::kept));
  Evaluator evaluator(program);
  evaluator.inputs()[0] = {Kind::bytes, false, &text, nullptr};
  auto const result = evaluator.run(1);
  return result ? std::string() : result.error().message();
}

TEST(Expression, AFailureShowsATextThatWasNotRead) {
  auto const text = column(0, {TypeId::utf8}, "t");
  auto const number = testing::value_of(cast(text, {TypeId::int8}));
  EXPECT_EQ(failure_over("127", number), "");
  EXPECT_EQ(failure_over("128", number), "a text is no value of int8, in cast(t as int8): '128'");
  EXPECT_EQ(failure_over("one", number), "a text is no value of int8, in cast(t as int8): 'one'");
  auto const date = testing::value_of(cast(text, {TypeId::date32}));
  EXPECT_EQ(failure_over("2023-02-29", date), "a text is no value of date32, in cast(t as date32): '2023-02-29'");
  // A row that does not ask for the value does not fail for it.
  auto const is_one = testing::value_of(
      compare(text, Comparator::equal, testing::value_of(constant(std::string("1"), {TypeId::utf8}))));
  auto const guarded = testing::value_of(
      call(Function::select, {is_one, number, testing::value_of(constant(std::int64_t{0}, {TypeId::int8}))}));
  EXPECT_EQ(failure_over("one", guarded), "");
  auto const first = testing::value_of(
      call(Function::coalesce, {testing::value_of(constant(std::int64_t{0}, {TypeId::int8})), number}));
  EXPECT_EQ(failure_over("one", first), "");
}

TEST(Expression, PartsAreFoundAtEveryPlace) {
  std::mt19937 random(7);
  auto const random_text = [&](std::size_t most) {
    std::string text;
    for (auto count = random() % most; count > 0; --count) text += random() % 3 == 0 ? 'b' : 'a';
    return text;
  };
  auto const whole = column(0, {TypeId::utf8}, "t");
  auto const part = column(1, {TypeId::utf8}, "p");
  auto const contains = testing::value_of(compile(testing::value_of(call(Function::contains, {whole, part})),
                                                  {{TypeId::utf8}, {TypeId::utf8}}, Nulls::kept));
  Evaluator evaluator(contains);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts(100);
    std::vector<std::string_view> views;
    for (auto& text : texts) views.push_back(text = random_text(90));
    auto const wanted = random_text(12);
    std::string_view const wanted_view = wanted;
    auto const literal = testing::value_of(constant("%" + wanted + "%a", {TypeId::utf8}));
    auto const like = testing::value_of(
        compile(testing::value_of(call(Function::like, {whole, literal})), {{TypeId::utf8}}, Nulls::kept));
    Evaluator matcher(like);
    evaluator.inputs()[0] = matcher.inputs()[0] = {Kind::bytes, false, views.data(), nullptr};
    evaluator.inputs()[1] = {Kind::bytes, true, &wanted_view, nullptr};
    auto const found = testing::value_of(evaluator.run(texts.size()));
    auto const matched = testing::value_of(matcher.run(texts.size()));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      auto const at = texts[i].find(wanted);
      bool const has_end = at != std::string::npos && texts[i].size() > at + wanted.size() && texts[i].back() == 'a';
      ASSERT_EQ(found.as<std::uint8_t>()[i] != 0, at != std::string::npos) << texts[i] << ", " << wanted;
      ASSERT_EQ(matched.as<std::uint8_t>()[i] != 0, has_end) << texts[i] << ", " << wanted;
    }
  }
}

TEST(Expression, PatternsAreChecked) {
  auto const text = column(0, {TypeId::utf8}, "t");
  auto const literal = [](std::string value) { return testing::value_of(constant(std::move(value), {TypeId::utf8})); };
  auto const message = [](Result<Expression> const& made) {
    auto const program = compile(testing::value_of(made), {{TypeId::utf8}}, Nulls::kept);
    return program ? std::string() : program.error().message();
  };
  EXPECT_EQ(message(call(Function::like, {text, literal("a!"), literal("!")})), "a pattern ends with its escape: 'a!'");
  EXPECT_EQ(message(call(Function::like, {text, literal("a"), literal("ab")})), "an escape is one character: 'ab'");
  EXPECT_EQ(message(call(Function::regexp_matches, {text, literal("(")})), "no pattern of RE2, missing ): (: (");
  EXPECT_EQ(message(call(Function::regexp_replace, {text, literal("(a)"), literal("\\2")})),
            "a replacement has \\0 to \\1 and \\\\ alone: \\2");
}

TEST(Expression, RoundsToAnyNumberOfDigits) {
  auto const most = std::numeric_limits<std::int64_t>::max();
  auto const rounded = [](DataType const& type, std::int64_t digits) {
    auto const value = testing::value_of(cast(testing::value_of(constant(std::int64_t{1'250}, {TypeId::int64})), type));
    auto const count = testing::value_of(constant(digits, {TypeId::int64}));
    auto const text = testing::value_of(
        cast(testing::value_of(call(Function::round, {value, count}, OnFailure::null)), {TypeId::utf8}));
    auto const program = testing::value_of(compile(text, {}, Nulls::kept));
    Evaluator evaluator(program);
    return std::string(testing::value_of(evaluator.run(1)).as<std::string_view>()[0]);
  };
  DataType decimal{TypeId::decimal128};
  decimal.precision = 10;
  decimal.scale = 2;
  for (auto const digits : {most, -most - 1, std::int64_t{-2}}) {
    auto const wanted = std::string(digits > 0 ? "1250" : digits == -2 ? "1300" : "0");
    EXPECT_EQ(rounded({TypeId::int32}, digits), wanted) << digits;
    EXPECT_EQ(rounded({TypeId::float64}, digits), wanted + ".0") << digits;
    EXPECT_EQ(rounded(decimal, digits), wanted + ".00") << digits;
  }
}

TEST(Expression, CallsAreChecked) {
  auto const number = column(0, {TypeId::int32}, "n");
  auto const wide = column(1, {TypeId::int64}, "w");
  auto const text = column(2, {TypeId::utf8}, "t");
  auto const message = [](auto const& result) { return result ? std::string() : result.error().message(); };
  EXPECT_EQ(message(call(Function::add, {number, wide})), "'+' does not take int32, int64");
  EXPECT_EQ(message(call(Function::add, {number})), "'+' does not take int32");
  EXPECT_EQ(message(compare(number, Comparator::less, wide)), "a comparison does not take int32, int64");
  EXPECT_EQ(message(call(Function::negate, {number})), "'not' does not take int32");
  EXPECT_EQ(message(cast(text, {TypeId::duration})), "utf8 cannot be cast to duration[s]");
  EXPECT_EQ(message(call(Function::upper, {number})), "'upper' does not take int32");
  EXPECT_EQ(message(call(Function::like, {text, text})),
            "'like' does not take utf8, utf8 (the arguments after the first are constants)");
  EXPECT_EQ(message(truncate(TimeField::day_of_week, column(0, {TypeId::date32}, "d"))),
            "'date_trunc' does not take date32");
  EXPECT_EQ(message(cast(column(0, {TypeId::date32}, "d"), {TypeId::float64})), "date32 cannot be cast to float64");
  EXPECT_EQ(message(constant(std::int64_t{300}, {TypeId::int8})), "a value of int8 is not 300");
  EXPECT_EQ(message(compile(number, {{TypeId::int64}}, Nulls::kept)),
            "an expression cannot compute with column 'n' of int32");
  EXPECT_EQ(message(compile(number, {{TypeId::int32}}, Nulls::false_)), "a condition is boolean, not int32: n");
}

}  // namespace
}  // namespace garuda::expr
