// The loops over rows of sums, and over values side by side, of every instruction set, against one value at a time.
#include "operators/cpu/group_by/sum_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.hpp"
#include "core/numbers/wide_integer.hpp"

namespace garuda::cpu {
namespace {

constexpr std::size_t kSummedGroups = 7;

/// Adds `count` rows of words of all sizes, so that sums wrap; `counted`: the column that counts rows.
void check_sums(SumKernels const& kernels, std::size_t num_columns, std::size_t count, std::size_t counted) {
  std::mt19937_64 random(count);
  std::vector<std::uint32_t> groups(count);
  for (auto& group : groups) group = static_cast<std::uint32_t>(random() % kSummedGroups);
  std::vector<std::vector<std::uint64_t>> words(num_columns, std::vector<std::uint64_t>(count));
  std::vector<std::vector<std::byte>> unaligned;
  std::array<void const*, kSumRowWords> columns{};
  for (std::size_t c = 0; c < num_columns; ++c) {
    for (auto& word : words[c]) word = c == counted ? 1 : random();
    auto& bytes = unaligned.emplace_back(count * sizeof(std::uint64_t) + 4);
    if (count > 0) std::memcpy(bytes.data() + 4, words[c].data(), count * sizeof(std::uint64_t));
    if (c != counted) columns[c] = bytes.data() + 4;
  }
  std::vector<std::uint64_t> sums(kSumRowWords * kSummedGroups, 5);
  auto expected = sums;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < num_columns; ++c) expected[kSumRowWords * groups[i] + c] += words[c][i];
  (num_columns == 3 ? kernels.add_3 : kernels.add_4)(columns.data(), groups.data(), count, sums.data());
  EXPECT_EQ(sums, expected);
}

TEST(SumKernels, EverySetAddsEveryColumn) {
  for (auto const set : instruction_sets())
    for (std::size_t const num_columns : {3, 4})
      for (std::size_t const count : {0, 1, 3, 4, 5, 255, 256, 257, 511, 2048, 2049})
        for (std::size_t counted = 0; counted <= num_columns; ++counted) {
          SCOPED_TRACE(std::to_string(num_columns) + " columns, " + std::to_string(count) + " rows");
          check_sums(sum_kernels(set), num_columns, count, counted);
        }
}

Int128 number_of(RunSum sum) { return static_cast<Int128>(UInt128{sum.high} << 64 | sum.low); }

/// The values, from a byte on that is no multiple of their size.
template <class T>
std::vector<std::byte> bytes_of_run(std::vector<T> const& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T) + 1);
  if (!values.empty()) std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
  return bytes;
}

template <class T>
void check_integers(IntegerRuns<T> const& kernels, std::vector<T> const& values) {
  auto const bytes = bytes_of_run(values);
  Int128 sum = 0;
  for (auto const value : values) sum += value;
  EXPECT_TRUE(number_of(kernels.sum(bytes.data() + 1, values.size())) == sum);
  if (values.empty()) return;
  EXPECT_EQ(kernels.least(bytes.data() + 1, values.size()), std::ranges::min(values));
  EXPECT_EQ(kernels.greatest(bytes.data() + 1, values.size()), std::ranges::max(values));
}

/// Runs of random integers, and of the least and the greatest alone.
template <class T>
void check_integers(IntegerRuns<T> const& kernels) {
  std::mt19937_64 random(1);
  for (std::size_t const count : {0, 1, 7, 8, 9, 16, 17, 64, 2048, 2051}) {
    std::vector<T> values(count);
    for (auto& value : values) value = static_cast<T>(random());
    check_integers(kernels, values);
    for (auto const same : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()})
      check_integers(kernels, std::vector<T>(count, same));
  }
}

TEST(RunKernels, EverySetAddsAndComparesIntegers) {
  for (auto const set : instruction_sets()) {
    auto const& kernels = run_kernels(set);
    check_integers(kernels.int32);
    check_integers(kernels.uint32);
    check_integers(kernels.int64);
    check_integers(kernels.uint64);
  }
}

/// Floats that are integers of every size, and such runs with one float that is none.
template <class Float>
void check_integral_floats(bool (*sum_integers)(void const*, std::size_t, RunSum*),
                           bool (*integers)(void const*, std::size_t, std::int64_t*)) {
  using Limits = std::numeric_limits<Float>;
  std::mt19937_64 random(2);
  for (std::size_t const count : {0, 1, 7, 8, 9, 64, 250}) {
    std::vector<Float> values(count);
    Int128 sum = 0;
    for (auto& value : values) {
      value = std::round(static_cast<Float>(static_cast<std::int64_t>(random()) >> (1 + random() % 62)));
      sum += static_cast<std::int64_t>(value);
    }
    RunSum found;
    std::vector<std::int64_t> each(count);
    EXPECT_TRUE(sum_integers(bytes_of_run(values).data() + 1, count, &found));
    EXPECT_TRUE(integers(bytes_of_run(values).data() + 1, count, each.data()));
    EXPECT_TRUE(number_of(found) == sum);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(static_cast<Float>(each[i]), values[i]);
    if (count == 0) continue;
    for (auto const other : {Float{0.5F}, Float{0x1p63F}, -Limits::max(), Limits::infinity(), Limits::quiet_NaN(),
                             -Limits::quiet_NaN(), Limits::denorm_min()}) {
      auto others = values;
      others[random() % count] = other;
      EXPECT_FALSE(sum_integers(bytes_of_run(others).data() + 1, count, &found)) << other;
      EXPECT_FALSE(integers(bytes_of_run(others).data() + 1, count, each.data())) << other;
    }
    values[random() % count] = Float{-0.0F};
    EXPECT_TRUE(sum_integers(bytes_of_run(values).data() + 1, count, &found));
  }
}

/// A float64 that is an integer.
Int128 integer_of(double value) {
  auto const half = std::floor(value / 2);  // 2^63 is beyond the integers of 64 bits
  return Int128{static_cast<std::int64_t>(half)} * 2 + static_cast<std::int64_t>(value - 2 * half);
}

TEST(RunKernels, EverySetRoundsIntegersToFloats) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr auto kExact = std::int64_t{1} << 53;
  std::vector<std::int64_t> values{0, 1, -1, Limits::min(), Limits::max(), -Limits::max()};
  for (std::int64_t const near : {kExact, 2 * kExact, std::int64_t{1} << 62, Limits::max() - 1536})
    for (std::int64_t by = -1030; by <= 1030; ++by)
      for (auto const value : {near + by, -near - by}) values.push_back(value);
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < 1000; ++i) values.push_back(static_cast<std::int64_t>(random()) >> (random() % 63));
  Int128 sum = 0;
  for (auto const value : values) sum += integer_of(static_cast<double>(value));
  auto const bytes = bytes_of_run(values);
  for (auto const set : instruction_sets()) {
    std::vector<std::uint64_t> low(values.size());
    std::vector<std::uint64_t> high(values.size());
    float_kernels(set).round_int64(bytes.data() + 1, values.size(), low.data(), high.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(number_of({low[i], high[i]}) == integer_of(static_cast<double>(values[i]))) << values[i];
    EXPECT_TRUE(number_of(run_kernels(set).sum_rounded_int64(bytes.data() + 1, values.size())) == sum);
    EXPECT_TRUE(number_of(run_kernels(set).sum_rounded_int64(bytes.data() + 1, 0)) == 0);
  }
}

TEST(RunKernels, EverySetTellsWhetherFloatsAreIntegers) {
  for (auto const set : instruction_sets()) {
    check_integral_floats<float>(run_kernels(set).sum_integers_32, float_kernels(set).integers_32);
    check_integral_floats<double>(run_kernels(set).sum_integers_64, float_kernels(set).integers_64);
  }
}

}  // namespace
}  // namespace garuda::cpu
