// Floats of expressions, by integers and by the device's float64, in compute passes and in vertices: the bits of the
// host.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"
#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/graphics/rows/drawn_rows.hpp"
#include "tests/compute/compute_device.hpp"
#include "tests/compute/float_pairs.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/test_run.hpp"

namespace garuda::compute {
namespace {

using expr::Expression;
using expr::Function;
using reference::typed;
using testing::succeed;
using testing::value_of;

constexpr char const* kPhase = "test";

/// A column as words of a device, each value's side by side.
struct Column {
  DataType type;
  std::uint32_t words = 0;
  std::vector<std::uint32_t> values;
};

template <class Value>
Column column_of(DataType const& type, std::vector<Value> const& values) {
  Column column{type, sizeof(Value) / 4, {}};
  column.values.resize(values.size() * column.words);
  std::memcpy(column.values.data(), values.data(), values.size() * sizeof(Value));
  return column;
}

/// An expression over columns, and its result's words on the host.
struct Computation {
  std::string text;
  expr::Program program;
  std::uint32_t words = 0;
  bool is_float = false;
  std::vector<std::uint32_t> expected;
};

std::vector<std::uint32_t> on_host(expr::Program const& program, std::span<Column const> columns, std::uint32_t words) {
  auto const rows = columns.front().values.size() / columns.front().words;
  expr::Evaluator evaluator(program);
  std::vector<std::uint32_t> results(rows * words);
  for (std::size_t begin = 0; begin < rows; begin += expr::kVectorRows) {
    auto const count = std::min(expr::kVectorRows, rows - begin);
    for (std::size_t c = 0; c < columns.size(); ++c)
      evaluator.inputs()[c] = {program.inputs[c], false, columns[c].values.data() + begin * columns[c].words, nullptr};
    auto const block = value_of(evaluator.run(count));
    if (block.kind == expr::Kind::boolean) {
      for (std::size_t i = 0; i < count; ++i) results[begin + i] = block.as<std::uint8_t>()[i];
    } else {
      std::memcpy(results.data() + begin * words, block.values, count * words * sizeof(std::uint32_t));
    }
  }
  return results;
}

Computation computation(Expression const& expression, std::span<Column const> columns) {
  std::vector<DataType> types;
  for (auto const& column : columns) types.push_back(column.type);
  Computation made;
  made.text = to_string(expression);
  made.program = value_of(expr::compile(expression, types, expr::Nulls::kept));
  made.words = expression.type.id == TypeId::float64 ? 2 : 1;
  made.is_float = expression.type.id != TypeId::boolean;
  made.expected = on_host(made.program, columns, made.words);
  return made;
}

Expression call(Function function, Expression first, Expression second) {
  return value_of(expr::call(function, {std::move(first), std::move(second)}));
}

/// The expressions that programs compute of two columns of floats.
std::vector<Expression> float_expressions(DataType const& type) {
  auto const a = expr::column(0, type, "a");
  auto const b = expr::column(1, type, "b");
  std::vector<Expression> expressions;
  for (auto const function : {Function::add, Function::subtract, Function::multiply, Function::divide})
    expressions.push_back(call(function, a, b));
  // A compiler would contract the first of these, and reassociate the others.
  expressions.push_back(call(Function::add, call(Function::multiply, a, b), a));
  expressions.push_back(call(Function::subtract, call(Function::add, a, b), a));
  expressions.push_back(call(Function::multiply, call(Function::divide, a, b), b));
  auto const other = typed(type.id == TypeId::float64 ? TypeId::float32 : TypeId::float64);
  expressions.push_back(value_of(expr::cast(b, other)));
  expressions.push_back(value_of(expr::compare(a, Comparator::less, b)));
  return expressions;
}

class FloatArithmetic : public testing::ComputeDeviceTest {
 protected:
  struct Form {
    bool native = false;
    bool draws = false;
  };

  /// Why the device does not compute in float64; nothing where it does.
  static std::string no_float64() {
    auto const& features = device().traits().features;
    if (features.exact_float64()) return {};
    return fmt::format("{} does not promise the bits of float64: {}", device().traits().name,
                       features.shader_float64
                           ? "no shaderRoundingModeRTEFloat64 and shaderSignedZeroInfNanPreserveFloat64"
                           : "no shaderFloat64");
  }

  static std::size_t drawn_pairs() {
    return testing::full_tests()          ? 1'000'000
           : testing::is_bounded()        ? 900
           : testing::is_further_driver() ? 4'500
                                          : 18'000;
  }

  static std::vector<std::uint32_t> on_device(Form form, Computation const& computation,
                                              std::span<Column const> columns) {
    auto shaped = tuning();
    shaped.native_floats = form.native;
    testing::ComputeLane lane(device(), store(), shaped);
    auto const rows = columns.front().values.size() / columns.front().words;
    std::vector<vk::Buffer> buffers;
    std::vector<ExpressionInput> inputs;
    for (auto const& column : columns) {
      buffers.push_back(lane.upload(column.values));
      inputs.push_back({column.type, {buffers.back().address(), column.words}, std::nullopt, {}});
    }
    auto const result = lane.buffer(rows * computation.words * sizeof(std::uint32_t));
    DeviceColumn const target{result.address(), computation.words};
    ExpressionSteps steps;
    succeed(steps.add_column(computation.program, inputs, target, std::nullopt));
    std::optional<graphics::DrawnRows> drawn;
    std::optional<ExpressionPass> pass;
    ExpressionState state;
    if (form.draws) {
      drawn = value_of(graphics::DrawnRows::create(lane.context(), store(), graphics::RowForm::values, {rows}));
      succeed(drawn->record_column(lane.context(), kPhase, steps, target, std::nullopt));
      state = value_of(drawn->read_state(lane.context(), kPhase));
    } else {
      pass = value_of(ExpressionPass::create(lane.context(), steps));
      succeed(pass->record(lane.context(), kPhase, rows));
      state = value_of(pass->read_state(lane.context(), kPhase));
    }
    EXPECT_FALSE(state.has_failed || state.is_unsettled) << computation.text;
    succeed(lane.context().order_all(kPhase));
    return lane.download<std::uint32_t>(result, rows * computation.words);
  }

  static bool is_nan(std::uint32_t const* words, std::uint32_t count) {
    if (count == 1) return std::isnan(std::bit_cast<float>(words[0]));
    return std::isnan(std::bit_cast<double>(words[0] | std::uint64_t{words[1]} << 32));
  }

  /// The host's NaNs have any sign and payload, a device's are one.
  static void expect_host_bits(std::span<std::uint32_t const> found, Computation const& computation,
                               std::span<Column const> columns, std::string const& form) {
    auto const words = computation.words;
    std::uint32_t const nan[] = {words == 1 ? 0x7fc00000U : 0U, 0x7ff80000U};
    for (std::size_t row = 0; row < found.size() / words; ++row) {
      auto const* const is = found.data() + row * words;
      auto const* expected = computation.expected.data() + row * words;
      if (computation.is_float && is_nan(expected, words)) expected = nan;
      if (std::equal(is, is + words, expected)) continue;
      std::string operands;
      for (auto const& column : columns)
        for (auto w = column.words; w-- > 0;) operands += fmt::format(" {:08x}", column.values[row * column.words + w]);
      ADD_FAILURE() << computation.text << " " << form << ", row " << row << ": of" << operands
                    << fmt::format(" is {:08x} {:08x} not {:08x} {:08x}", is[words - 1], is[0], expected[words - 1],
                                   expected[0]);
      return;
    }
  }

  static void check(Form form, std::vector<Expression> const& expressions, std::vector<Column> const& columns) {
    for (auto const& expression : expressions) {
      auto const expected = computation(expression, columns);
      auto const what = std::string(form.native ? "by float64" : "by integers") + (form.draws ? " in vertices" : "");
      expect_host_bits(on_device(form, expected, columns), expected, columns, what);
    }
  }

  template <class Float>
  static std::vector<Column> hard_columns(std::uint64_t seed) {
    auto const type = typed(sizeof(Float) == 8 ? TypeId::float64 : TypeId::float32);
    auto const pairs = testing::hard_pairs<Float>(drawn_pairs(), seed);
    return {column_of(type, pairs.first), column_of(type, pairs.second)};
  }

  static void check_floats(Form form, std::uint64_t seed) {
    for (auto const& columns : {hard_columns<double>(seed), hard_columns<float>(seed)})
      check(form, float_expressions(columns.front().type), columns);
  }

  /// Casts of integers and decimals. Half of them have few digits, so that many lie halfway between two floats, or
  /// beside that.
  template <class Integer>
  static void check_integers(Form form, DataType const& type, int most_bits, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Integer> values{0, 1, 9, static_cast<Integer>((std::uint64_t{1} << most_bits / 2) + 1)};
    while (values.size() < drawn_pairs()) {
      auto const bits = static_cast<int>(random() % static_cast<unsigned>(most_bits)) + 1;
      auto const value = random() >> (64 - bits) | std::uint64_t{1} << (bits - 1);
      auto const cut = random() % static_cast<unsigned>(bits);
      values.push_back(static_cast<Integer>(random() % 2 == 0 ? value : (value >> cut << cut) + random() % 3 - 1));
      if (type.id != TypeId::uint64 && random() % 2 == 0) values.back() = static_cast<Integer>(-values.back());
    }
    auto const from = expr::column(0, type, "n");
    std::vector<Expression> casts;
    for (auto const id : {TypeId::float64, TypeId::float32}) {
      if (type.id == TypeId::decimal128 && id == TypeId::float32) continue;  // beyond 24 bits left to the host
      casts.push_back(value_of(expr::cast(from, typed(id))));
    }
    check(form, casts, {column_of(type, values)});
  }

  static void check_all(Form form) {
    auto const seed = testing::first_seed(1);
    check_floats(form, seed);
    check_integers<std::int64_t>(form, typed(TypeId::int64), 63, seed);
    check_integers<std::uint64_t>(form, typed(TypeId::uint64), 64, seed);
    check_integers<Int128>(form, typed(TypeId::decimal128, 18, 2), 52, seed);
  }
};

TEST_F(FloatArithmetic, IntegersGiveTheBitsOfTheHost) { check_all({.native = false}); }

TEST_F(FloatArithmetic, IntegersGiveTheBitsOfTheHostInVertices) { check_all({.native = false, .draws = true}); }

TEST_F(FloatArithmetic, Float64GivesTheBitsOfTheHost) {
  if (auto const reason = no_float64(); !reason.empty()) GTEST_SKIP() << reason;
  check_all({.native = true});
}

TEST_F(FloatArithmetic, Float64GivesTheBitsOfTheHostInVertices) {
  if (auto const reason = no_float64(); !reason.empty()) GTEST_SKIP() << reason;
  check_all({.native = true, .draws = true});
}

TEST_F(FloatArithmetic, DevicesThatPromiseTheBitsOfFloat64ComputeInIt) {
  EXPECT_EQ(tuning().native_floats, device().traits().features.exact_float64());
  auto traits = device().traits();
  traits.features.shader_float64 = false;
  EXPECT_FALSE(value_of(compute_tuning(traits)).native_floats);
  traits.features.shader_float64 = traits.features.rounds_float64 = true;
  EXPECT_TRUE(value_of(compute_tuning(traits)).native_floats);
  traits.features.rounds_float64 = false;
  EXPECT_FALSE(value_of(compute_tuning(traits)).native_floats);
}

}  // namespace
}  // namespace garuda::compute
