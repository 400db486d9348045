// Sums of floats over a bit that a sample said: right wherever the other values lie.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "operators/cpu/group_by/float_range.hpp"
#include "operators/cpu/group_by/whole_group_by.hpp"

namespace garuda::cpu {
namespace {

constexpr std::uint64_t kRows = 70'000;
constexpr std::uint64_t kBlock = 1'000;  // of which a sample takes fewer
constexpr std::uint64_t kGroups = 7;
constexpr int kUnit = -92;  // all finite values that are summed are multiples of 2^kUnit

/// One column of floats, some of which are null.
template <class Float>
class Floats final : public contract::TableValues {
 public:
  std::vector<Float> values;
  std::vector<bool> valid;  ///< empty: no nulls

  Result<contract::SliceValues> read(std::size_t, contract::SliceRows const& rows) const override {
    contract::SliceValues slice;
    slice.input.kind = sizeof(Float) == 4 ? contract::ValueKind::float32 : contract::ValueKind::float64;
    slice.input.states = contract::kSumState;
    slice.input.values = {reinterpret_cast<std::uint32_t const*>(&values[rows.first_row()]),
                          rows.count * sizeof(Float) / 4};
    if (valid.empty()) return slice;
    auto const words = (rows.count + 31) / 32;
    GARUDA_TRY_ASSIGN(slice.validity, AlignedBuffer::allocate(static_cast<std::int64_t>(words * 4)));
    auto* const bits = slice.validity.template as<std::uint32_t>();
    std::fill_n(bits, words, 0U);
    for (std::uint64_t i = 0; i < rows.count; ++i)
      bits[i / 32] |= static_cast<std::uint32_t>(valid[rows[i]]) << (i % 32);
    slice.input.validity = {bits, words};
    return slice;
  }
  std::vector<partition::PayloadColumn::Part> in_place(std::size_t) const override {
    if (!valid.empty()) return {};
    return {{0, reinterpret_cast<std::byte const*>(values.data())}};
  }
  bool reads_row_ids(std::size_t) const override { return true; }
};

template <class Float>
Int128 units_of(Float value) {
  int exponent = 0;
  auto const mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  auto const shift = exponent - 53 - kUnit;
  return shift >= 0 ? Int128{mantissa} * (Int128{1} << shift) : Int128{mantissa >> -shift};
}

struct Case {
  std::string name;
  double first = 0;            ///< of the values, which lie in [first, 2 · first) with either sign
  std::vector<double> others;  ///< the last rows' values
  bool fits = true;
  bool are_others_null = false;
};

template <class Float>
void check(Case const& given, Grouping grouping) {
  SCOPED_TRACE(given.name + ", " + std::to_string(sizeof(Float)) + " bytes");
  std::mt19937_64 random(5);
  Floats<Float> floats;
  std::vector<std::uint32_t> keys;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    keys.push_back(static_cast<std::uint32_t>(random() % kGroups));
    auto const fraction = static_cast<Float>(static_cast<double>(random() >> 12) * 0x1p-52);
    auto const value = static_cast<Float>(given.first) * (1 + fraction);
    floats.values.push_back(random() % 2 == 0 ? value : -value);
  }
  if (given.are_others_null) floats.valid.assign(kRows, true);
  for (std::size_t i = 0; i < given.others.size(); ++i) {
    floats.values[kRows - 1 - i] = static_cast<Float>(given.others[i]);
    if (given.are_others_null) floats.valid[kRows - 1 - i] = false;
  }
  std::vector<Int128> expected(kGroups);
  for (std::uint64_t row = 0; row < kRows && given.fits; ++row)
    if (floats.valid.empty() || floats.valid[row]) expected[keys[row]] += units_of(floats.values[row]);

  contract::WholeTable table;
  table.num_rows = kRows;
  table.keys = contract::KeySpan{std::span<std::uint32_t const>(keys), 0, kGroups - 1, {}};
  table.estimated_groups = kGroups;
  for (std::uint64_t first = 0; first < kRows; first += kBlock) table.blocks.push_back({first, kBlock});
  table.requests = {{sizeof(Float) == 4 ? contract::ValueKind::float32 : contract::ValueKind::float64,
                     contract::kSumState, given.are_others_null}};
  table.values = &floats;
  oneapi::tbb::task_arena arena(2);
  auto const opened = arena.execute([&] { return open_cpu_whole_group_by(table, {grouping, nullptr, nullptr}); });
  ASSERT_TRUE(opened);
  ASSERT_EQ(*opened != nullptr, given.fits);
  if (!given.fits) return;
  std::uint64_t found = 0;
  for (std::size_t p = 0; p < (*opened)->num_parts(); ++p) {
    auto const part = (*opened)->part(p);
    ASSERT_TRUE(part);
    for (std::size_t g = 0; g < part->size(); ++g, ++found) {
      auto const& state = part->states[0];
      auto const sum = static_cast<Int128>(UInt128{state.sums[2 * g + 1]} << 64 | state.sums[2 * g]);
      auto const shift = *state.sum_exponent - kUnit;
      EXPECT_TRUE(shift >= 0 ? sum * (Int128{1} << shift) == expected[part->keys[g]]
                             : sum == expected[part->keys[g]] * (Int128{1} << -shift))
          << "key " << part->keys[g];
    }
  }
  EXPECT_EQ(found, kGroups);
}

TEST(FloatRanges, ValuesElsewhereThanASampleSays) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();
  Case const cases[] = {{"as the sample", 1, {}},
                        {"zeros", 1, {0.0, -0.0}},
                        {"a little below", 1, {0x1.8p-20}},
                        {"a little above", 1, {-0x1.8p20}},
                        {"far below", 1, {-0x1.8p-45}},
                        {"far above", 0x1p-40, {0x1.8p12}},
                        {"above and below", 0x1p-20, {0x1p5, 0x1p-45}},
                        {"too far", 1, {0x1p-100}, false},
                        {"infinite", 1, {kInfinity}, false},
                        {"NaN", 1, {kNan}, false},
                        {"nulls", 1, {kNan, kInfinity, 0x1p-100}, true, true}};
  for (auto const& given : cases)
    for (auto const grouping : {Grouping::direct, Grouping::local, Grouping::partitioned}) {
      check<double>(given, grouping);
      check<float>(given, grouping);
    }
  check<double>({"subnormal", 1, {5e-324}, false}, Grouping::direct);
}

TEST(FloatRanges, GuessesLeaveRoomOnBothSides) {
  for (auto const rows : {std::uint64_t{1}, std::uint64_t{1} << 24, std::uint64_t{1} << 40}) {
    std::vector<double> const values{1.5, 0x1p9, -0x1p-3};
    contract::AggregateInput input;
    input.kind = contract::ValueKind::float64;
    input.values = {reinterpret_cast<std::uint32_t const*>(values.data()), 2 * values.size()};
    FloatRange range;
    range.add(input, 0, values.size());
    auto const exact = range.fixed_point(rows);
    auto const guess = range.guess(rows);
    ASSERT_TRUE(exact && guess);
    EXPECT_EQ(exact->most_shift, 12U);
    EXPECT_FALSE(exact->is_guess);
    EXPECT_TRUE(guess->is_guess);
    EXPECT_TRUE(range.fits(*exact) && range.fits(*guess));
    auto const room = guess->most_shift - exact->most_shift;
    EXPECT_GE(room, 20U);
    EXPECT_EQ(exact->position - guess->position, room / 2);
    EXPECT_LE(guess->most_shift + 53 + std::bit_width(rows), 127U);
  }
}

}  // namespace
}  // namespace garuda::cpu
