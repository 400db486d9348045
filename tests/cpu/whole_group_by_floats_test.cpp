// Sums of floats in the CPU path's group-by of whole tables: integers over the column's lowest bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "tests/cpu/whole_problem.hpp"

namespace garuda::cpu {
namespace {

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

}  // namespace
}  // namespace garuda::cpu
