// Expressions against an interpreter of single rows, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"

namespace garuda::expr {
namespace {

/// A value of a row: an integer (booleans are 0 and 1) or a float.
struct Cell {
  bool is_null = false;
  Int128 integer = 0;
  double real = 0;
};

bool is_float(DataType const& type) { return type_row(type.id).family == TypeFamily::floating; }

/// A row that has no value though it must.
struct Failure {};

/// Evaluates an expression a row at a time, in integers that cannot overflow.
class Interpreter {
 public:
  explicit Interpreter(std::vector<Cell> const& row) : row_(row) {}

  Cell value(Expression const& expression) const {
    if (expression.form == Expression::Form::column) return row_[expression.column];
    if (expression.form == Expression::Form::constant) return constant_cell(expression.value);
    auto const& arguments = expression.arguments;
    auto const first = value(arguments[0]);
    switch (expression.function) {
      case Function::all:
        if (!first.is_null && first.integer == 0) return first;
        return both(first, value(arguments[1]), 0);
      case Function::any:
        if (!first.is_null && first.integer != 0) return first;
        return both(first, value(arguments[1]), 1);
      case Function::negate:
        return {first.is_null, 1 - first.integer, 0};
      case Function::is_null:
        return {false, first.is_null ? 1 : 0, 0};
      case Function::is_true:
        return {false, !first.is_null && first.integer != 0 ? 1 : 0, 0};
      case Function::select:
        return value(arguments[!first.is_null && first.integer != 0 ? 1 : 2]);
      case Function::compare:
        return compared(expression, first, value(arguments[1]));
      case Function::cast:
        return cast(expression, first);
      default:
        return computed(expression, first, arguments.size() > 1 ? value(arguments[1]) : Cell{});
    }
  }

 private:
  static Cell constant_cell(Scalar const& value) {
    if (auto const* const held = std::get_if<bool>(&value)) return {false, *held ? 1 : 0, 0};
    if (auto const* const held = std::get_if<std::int64_t>(&value)) return {false, *held, 0};
    if (auto const* const held = std::get_if<std::uint64_t>(&value)) return {false, static_cast<Int128>(*held), 0};
    if (auto const* const held = std::get_if<double>(&value)) return {false, 0, *held};
    return {true, 0, 0};
  }
  static Cell both(Cell const& a, Cell const& b, int deciding) {
    for (auto const* const cell : {&a, &b})
      if (!cell->is_null && cell->integer == deciding) return *cell;
    return {a.is_null || b.is_null, 1 - deciding, 0};
  }
  static int order(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? (std::isnan(b) ? 0 : 1) : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  static Cell compared(Expression const& expression, Cell const& a, Cell const& b) {
    if (a.is_null || b.is_null) return {true, 0, 0};
    auto const sign = is_float(expression.arguments[0].type) ? order(a.real, b.real)
                      : a.integer < b.integer                ? -1
                      : a.integer > b.integer                ? 1
                                                             : 0;
    bool const holds[] = {sign == 0, sign != 0, sign<0, sign <= 0, sign> 0, sign >= 0};
    return {false, holds[static_cast<int>(expression.comparator)] ? 1 : 0, 0};
  }
  static Cell lost(OnFailure on_failure) {
    if (on_failure == OnFailure::error) throw Failure{};
    return {true, 0, 0};
  }
  static Cell fitted(Expression const& expression, Int128 value) {
    auto const& row = type_row(expression.type.id);
    auto const bits = row.width * 8;
    auto const span = Int128{1} << bits;
    auto const low = row.is_signed ? -(span / 2) : Int128{0};
    if (value >= low && value < low + span) return {false, value, 0};
    if (expression.on_failure != OnFailure::wrap) return lost(expression.on_failure);
    auto rest = (value - low) % span;
    if (rest < 0) rest += span;
    return {false, rest + low, 0};
  }
  static Cell cast(Expression const& expression, Cell const& from) {
    if (from.is_null) return from;
    bool const was_float = is_float(expression.arguments[0].type);
    if (expression.type.id == TypeId::boolean)
      return {false, (was_float ? from.real != 0 : from.integer != 0) ? 1 : 0, 0};
    if (is_float(expression.type)) {
      auto const real = was_float ? from.real : static_cast<double>(static_cast<std::int64_t>(from.integer));
      bool const is_single = expression.type.id == TypeId::float32;
      if (!is_single)
        return {false, 0,
                was_float || from.integer >= 0
                    ? (was_float ? real : static_cast<double>(static_cast<std::uint64_t>(from.integer)))
                    : real};
      if (was_float) return {false, 0, static_cast<double>(static_cast<float>(real))};
      return {false, 0,
              from.integer < 0 ? static_cast<float>(static_cast<std::int64_t>(from.integer))
                               : static_cast<float>(static_cast<std::uint64_t>(from.integer))};
    }
    if (!was_float) return fitted(expression, from.integer);
    auto const whole = std::trunc(from.real);
    if (!(std::abs(whole) < 0x1p100))
      return lost(expression.on_failure == OnFailure::wrap ? OnFailure::null : expression.on_failure);
    Expression strict = expression;
    if (strict.on_failure == OnFailure::wrap) strict.on_failure = OnFailure::null;
    return fitted(strict, static_cast<Int128>(whole));
  }
  static Int128 floor_quotient(Int128 a, Int128 b) {
    auto const quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
  template <class Real>
  static double real(Function function, Real a, Real b) {
    switch (function) {
      case Function::add:
        return a + b;
      case Function::subtract:
        return a - b;
      case Function::multiply:
        return a * b;
      case Function::divide:
        return a / b;
      case Function::floor_divide:
        return std::floor(a / b);
      case Function::remainder:
        return std::fmod(a, b);
      case Function::opposite:
        return -a;
      default: {
        auto const rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      }
    }
  }
  static Cell computed(Expression const& expression, Cell const& a, Cell const& b) {
    if (a.is_null || b.is_null) return {true, 0, 0};
    auto const function = expression.function;
    if (expression.type.id == TypeId::float32)
      return {false, 0, real(function, static_cast<float>(a.real), static_cast<float>(b.real))};
    if (is_float(expression.type)) return {false, 0, real(function, a.real, b.real)};
    bool const divides = function >= Function::divide && function <= Function::floor_remainder;
    if (divides && b.integer == 0)
      return lost(expression.on_failure == OnFailure::wrap ? OnFailure::null : expression.on_failure);
    switch (function) {
      case Function::add:
        return fitted(expression, a.integer + b.integer);
      case Function::subtract:
        return fitted(expression, a.integer - b.integer);
      case Function::multiply:
        return fitted(expression, a.integer * b.integer);
      case Function::divide:
        return fitted(expression, a.integer / b.integer);
      case Function::remainder:
        return fitted(expression, a.integer % b.integer);
      case Function::floor_divide:
        return fitted(expression, floor_quotient(a.integer, b.integer));
      case Function::floor_remainder:
        return fitted(expression, a.integer - floor_quotient(a.integer, b.integer) * b.integer);
      default:
        return fitted(expression, -a.integer);
    }
  }

  std::vector<Cell> const& row_;
};

std::vector<DataType> const kTypes{{TypeId::boolean}, {TypeId::int8},   {TypeId::int32},  {TypeId::int64},
                                   {TypeId::uint16},  {TypeId::uint32}, {TypeId::uint64}, {TypeId::float32},
                                   {TypeId::float64}, {TypeId::date32}, {TypeId::int16}};

/// Random typed trees over a column of each type, twice.
class Trees {
 public:
  explicit Trees(std::uint32_t seed) : random_(seed) {}

  Expression of(DataType const& type, int depth) {
    if (depth == 0 || below(6) == 0) return leaf(type);
    if (below(5) == 0)
      return call(Function::select, {of({TypeId::boolean}, depth - 1), of(type, depth - 1), of(type, depth - 1)})
          .value();
    auto const on_failure = static_cast<OnFailure>(below(3));
    if (type.id == TypeId::boolean) return boolean(depth);
    if (type.id == TypeId::date32) return leaf(type);
    if (below(3) == 0) {
      auto from = kTypes[below(kTypes.size())];
      if (from.id == TypeId::date32) from = {TypeId::int32};
      return cast(of(from, depth - 1), type, on_failure).value();
    }
    auto const function = static_cast<Function>(static_cast<std::uint32_t>(Function::add) + below(8));
    std::vector<Expression> arguments{of(type, depth - 1)};
    if (function != Function::opposite) arguments.push_back(of(type, depth - 1));
    return call(function, std::move(arguments), on_failure).value();
  }

  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  Expression boolean(int depth) {
    auto const which = below(7);
    if (which == 0) return call(Function::negate, {of({TypeId::boolean}, depth - 1)}).value();
    if (which == 1) return call(Function::is_null, {of(kTypes[below(kTypes.size())], depth - 1)}).value();
    if (which == 2) return call(Function::is_true, {of({TypeId::boolean}, depth - 1)}).value();
    if (which < 5)
      return call(which == 3 ? Function::all : Function::any,
                  {of({TypeId::boolean}, depth - 1), of({TypeId::boolean}, depth - 1)})
          .value();
    auto const& type = kTypes[below(kTypes.size())];
    return compare(of(type, depth - 1), static_cast<Comparator>(below(6)), of(type, depth - 1)).value();
  }
  Expression leaf(DataType const& type) {
    for (std::size_t t = 0; t < kTypes.size(); ++t)
      if (kTypes[t] == type && below(4) != 0) return column(t + below(2) * kTypes.size(), type, "c");
    if (below(5) == 0) return constant({}, type).value();
    if (type.id == TypeId::boolean) return constant(below(2) == 1, type).value();
    if (is_float(type)) return constant(static_cast<double>(below(9)) - 4, type).value();
    return constant(static_cast<std::int64_t>(below(5)), type).value();
  }

  std::mt19937 random_;
};

/// A column of random values, extremes among them, as the evaluator and the interpreter have it.
struct Column {
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(kVectorRows);
  std::vector<std::uint8_t> valid = std::vector<std::uint8_t>(kVectorRows, 1);
  std::vector<Cell> cells = std::vector<Cell>(kVectorRows);
  Vector vector;

  Column(DataType const& type, std::size_t count, bool has_nulls, Trees& random) {
    vector = {*kind_of(type), false, memory.data(), has_nulls ? valid.data() : nullptr};
    for (std::size_t i = 0; i < count; ++i) {
      if (has_nulls) valid[i] = random.below(4) != 0 ? 1 : 0;
      cells[i].is_null = valid[i] == 0;
      with_machine_kind(vector.kind, [&]<class Value>(Value) { put<Value>(type, i, random); });
    }
  }

  template <class Value>
  void put(DataType const& type, std::size_t i, Trees& random) {
    auto* const to = reinterpret_cast<Value*>(memory.data()) + i;
    if constexpr (std::is_floating_point_v<Value>) {
      Value const values[] = {0,
                              Value(-0.0),
                              1,
                              -1,
                              Value(2.5),
                              std::numeric_limits<Value>::quiet_NaN(),
                              std::numeric_limits<Value>::infinity(),
                              std::numeric_limits<Value>::max(),
                              Value(-3e9),
                              Value(1e19)};
      *to = values[random.below(std::size(values))];
      cells[i].real = *to;
    } else {
      auto const bits = type.id == TypeId::boolean ? 1 : type_row(type.id).width * 8;
      auto const span = Int128{1} << bits;
      auto const low = type_row(type.id).is_signed ? -(span / 2) : Int128{0};
      Int128 const values[] = {0, 1, low, low + span - 1, low + span / 2, static_cast<Int128>(random.below(100))};
      auto value = values[random.below(std::size(values))];
      if (value < low || value >= low + span) value = 0;
      *to = static_cast<Value>(value);
      cells[i].integer = value;
    }
  }
};

Cell cell_of(Vector const& vector, std::size_t i) {
  auto const at = i * vector.stride();
  Cell cell;
  cell.is_null = vector.valid != nullptr && vector.valid[at] == 0;
  with_machine_kind(vector.kind, [&]<class Value>(Value) {
    if constexpr (std::is_floating_point_v<Value>)
      cell.real = vector.as<Value>()[at];
    else
      cell.integer = vector.as<Value>()[at];
  });
  return cell;
}

bool are_same(Cell const& a, Cell const& b) {
  if (a.is_null || b.is_null) return a.is_null == b.is_null;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.integer == b.integer && a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

TEST(Expression, RandomTreesGiveWhatAnInterpreterOfRowsGives) {
  std::size_t failures = 0;
  for (std::uint32_t seed = 0; seed < 3'000; ++seed) {
    Trees trees(seed);
    auto const& type = kTypes[trees.below(kTypes.size())];
    auto const expression = trees.of(type, 5);
    auto const count = seed % 7 == 0 ? kVectorRows : trees.below(40);
    std::vector<DataType> types;
    std::vector<Column> columns;
    columns.reserve(2 * kTypes.size());
    std::vector<Vector> inputs;
    for (std::size_t c = 0; c < 2 * kTypes.size(); ++c) {
      types.push_back(kTypes[c % kTypes.size()]);
      columns.emplace_back(types.back(), count, c < kTypes.size(), trees);
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
    auto const result = evaluator.run(count);
    ASSERT_EQ(result.has_value(), !fails) << seed << ": " << to_string(expression);
    failures += fails ? 1 : 0;
    if (fails) continue;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(are_same(cell_of(*result, i), wanted[i])) << seed << ", row " << i << ": " << to_string(expression);
    if (type.id != TypeId::boolean) continue;
    auto const condition = compile(expression, types, Nulls::false_);
    ASSERT_TRUE(condition);
    Evaluator filter(*condition);
    std::ranges::copy(inputs, filter.inputs().begin());
    auto const* const mask = filter.mask(count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(mask[i] != 0, !wanted[i].is_null && wanted[i].integer != 0) << seed << ": " << to_string(expression);
  }
  EXPECT_GT(failures, 100U);
  EXPECT_LT(failures, 2'000U);
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
