// Codes of bytes by the kernels of every instruction set, against digit after digit.
#include "keys/codes/byte_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/variable_value.hpp"

namespace garuda::keys {
namespace {

/// Values of `shortest` to `longest` bytes, each place's in a range of its own.
struct Shape {
  std::size_t shortest = 0;
  std::size_t longest = 0;
  std::array<std::uint8_t, kSummedBytes> least{};
  std::array<std::uint8_t, kSummedBytes> greatest{};

  std::uint32_t radix(std::size_t place) const {
    return greatest[place] - least[place] + 1U + (place >= shortest ? 1U : 0U);
  }
  std::vector<std::uint32_t> radices() const {
    std::vector<std::uint32_t> all(longest);
    for (std::size_t p = 0; p < longest; ++p) all[p] = radix(p);
    return all;
  }
  bool fits_word() const {
    UInt128 product = 1;
    for (auto const radix : radices()) {
      product *= radix;
      if (product >> 64 != 0) return false;
    }
    return true;
  }
  bool has(std::string const& value) const {
    if (value.size() < shortest || value.size() > longest) return false;
    for (std::size_t p = 0; p < value.size(); ++p) {
      auto const byte = static_cast<std::uint8_t>(value[p]);
      if (byte < least[p] || byte > greatest[p]) return false;
    }
    return true;
  }
  /// Digit after digit; the end of a value is digit 0 where values may end.
  std::uint64_t code(std::string const& value) const {
    std::uint64_t code = 0;
    for (std::size_t p = 0; p < longest; ++p) {
      auto const may_end = p >= shortest ? 1U : 0U;
      auto const digit = p < value.size() ? static_cast<std::uint8_t>(value[p]) - least[p] + may_end : 0U;
      code = code * radix(p) + digit;
    }
    return code;
  }
};

constexpr std::uint64_t kOthers = 0xDEAD'BEEF;

ByteSums sums_of(Shape const& shape, ByteSums sums) {
  sums.least.fill(0xFF);
  std::copy_n(shape.least.begin(), shape.longest, sums.least.begin());
  std::copy_n(shape.greatest.begin(), shape.longest, sums.greatest.begin());
  sums.shortest = shape.shortest;
  sums.longest = shape.longest;
  sums.of_others = kOthers;
  auto const radices = shape.radices();
  for (auto size = shape.shortest; size <= shape.longest; ++size)
    for (std::size_t p = 0; p < size; ++p) {
      if (radices[p] == 1) continue;
      auto const weight =
          std::accumulate(radices.begin() + static_cast<std::ptrdiff_t>(p) + 1, radices.end(), std::uint64_t{1},
                          [](std::uint64_t product, std::uint32_t radix) { return product * radix; });
      sums.of_length[size] += weight * ((p >= shape.shortest ? 1U : 0U) - std::uint64_t{shape.least[p]});
    }
  return sums;
}

template <class Offset>
void check(Shape const& shape, ByteSums const& sums, std::vector<std::string> const& values, WriteByteCodes kernel) {
  std::vector<Offset> offsets{0};
  std::string all;
  for (auto const& value : values) offsets.push_back(static_cast<Offset>((all += value).size()));
  // No byte behind the last one is there.
  std::unique_ptr<std::uint8_t[]> const bytes(new std::uint8_t[all.size()]);
  if (!all.empty()) std::memcpy(bytes.get(), all.data(), all.size());
  std::vector<std::uint64_t> codes(values.size());
  kernel({offsets.data(), bytes.get(), bytes.get() + all.size(), values.size()}, sums, codes.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(codes[i], shape.has(values[i]) ? shape.code(values[i]) : kOthers) << "value " << i << ": " << values[i];
}

void check_views(Shape const& shape, ByteSums const& sums, std::vector<std::string> const& values,
                 WriteViewCodes kernel) {
  // Each long value has a buffer of its own, behind which no byte is there.
  std::vector<std::unique_ptr<char[]>> bytes;
  std::vector<void const*> buffers;
  std::vector<ValueView> views;
  for (auto const& value : values) {
    auto& view = views.emplace_back(make_view(value, 0));
    if (view.length <= kInlineViewBytes) {
      // The bytes behind a value may be anything.
      std::fill(view.bytes + view.length, view.bytes + kInlineViewBytes, static_cast<char>(0xA7));
      continue;
    }
    auto const buffer = static_cast<std::int32_t>(buffers.size());
    std::memcpy(view.bytes + 4, &buffer, sizeof(buffer));
    bytes.emplace_back(new char[value.size()]);
    std::ranges::copy(value, bytes.back().get());
    buffers.push_back(bytes.back().get());
  }
  std::vector<std::uint64_t> codes(values.size());
  kernel({views.data(), buffers.data(), views.size()}, sums, codes.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(codes[i], shape.has(values[i]) ? shape.code(values[i]) : kOthers) << "view " << i << ": " << values[i];
}

Shape random_shape(std::mt19937_64& random) {
  Shape shape;
  shape.longest = random() % (kSummedBytes + 1);
  shape.shortest = random() % 2 == 0 ? shape.longest : random() % (shape.longest + 1);
  auto const most = std::array{1U, 10U, 30U, 126U}[random() % 4];
  for (std::size_t p = 0; p < shape.longest; ++p) {
    auto const radix = random() % most;
    shape.least[p] = static_cast<std::uint8_t>(random() % (256 - radix));
    shape.greatest[p] = static_cast<std::uint8_t>(shape.least[p] + radix);
  }
  return shape;
}

std::string random_value(Shape const& shape, std::mt19937_64& random) {
  std::string value(shape.shortest + random() % (shape.longest - shape.shortest + 1), '\0');
  for (std::size_t p = 0; p < value.size(); ++p)
    value[p] = static_cast<char>(shape.least[p] + random() % (shape.greatest[p] - shape.least[p] + 1U));
  switch (random() % 8) {
    case 0:  // a byte that may be another
      if (!value.empty()) value[random() % value.size()] = static_cast<char>(random());
      return value;
    case 1:
      return value + std::string(1 + random() % 20, static_cast<char>(random()));
    case 2:
      return value.substr(0, random() % (value.size() + 1));
    default:
      return value;
  }
}

TEST(ByteKernels, EverySetGivesTheCodesOfRandomShapes) {
  std::mt19937_64 random(1);
  std::size_t shapes = 0;
  for (int round = 0; round < 2000; ++round) {
    auto const shape = random_shape(random);
    if (!shape.fits_word()) continue;
    auto const weights = byte_weights(shape.radices());
    if (!weights) continue;
    ++shapes;
    auto const sums = sums_of(shape, *weights);
    std::vector<std::string> values;
    for (int i = 0; i < 50; ++i) values.push_back(random_value(shape, random));
    for (auto const set : instruction_sets()) {
      if (set == InstructionSet::baseline) continue;  // has none
      check<std::int32_t>(shape, sums, values, byte_kernels(set).of_offsets_32);
      check<std::int64_t>(shape, sums, values, byte_kernels(set).of_offsets_64);
      check_views(shape, sums, values, byte_kernels(set).of_views);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(shapes, 300U);
}

TEST(ByteKernels, WeightsThatDoNotFitHaveNoKernel) {
  auto const fits = [](std::vector<std::uint32_t> const& radices) { return byte_weights(radices).has_value(); };
  EXPECT_TRUE(fits({}));
  EXPECT_TRUE(fits({256, 127}));
  EXPECT_FALSE(fits({2, 128}));  // a weight of a byte has a sign and seven bits
  EXPECT_TRUE(fits({1, 1, 256, 127}));
  EXPECT_FALSE(fits({1, 1, 259, 127}));  // of two bytes, a sign and fifteen
  EXPECT_FALSE(fits({1, 1, 1, 1, 1, 1, 1, 200}));
}

TEST(ByteKernels, TheBaselineHasNone) {
  EXPECT_EQ(byte_kernels(InstructionSet::baseline).of_offsets_32, nullptr);
  EXPECT_EQ(byte_kernels(InstructionSet::baseline).of_offsets_64, nullptr);
  EXPECT_EQ(byte_kernels(InstructionSet::baseline).of_views, nullptr);
}

}  // namespace
}  // namespace garuda::keys
