#include "keys/codes/attribute_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::make_column;
using reference::typed;

std::vector<std::uint64_t> hashes_of(Column const& column, DataType const& as) {
  auto const table = reference::make_table("k", {column});
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(table.num_rows()), 0);
  auto const done = hash_key_column(table.view(), 0, as, hashes);
  EXPECT_TRUE(done) << done.error().describe();
  return hashes;
}

template <class T>
std::vector<std::uint64_t> hashes_of(TypeId id, std::vector<std::optional<T>> const& values, TypeId as) {
  return hashes_of(make_column<T>(typed(id), values, 3), typed(as));
}

std::size_t distinct(std::vector<std::uint64_t> const& hashes) { return std::set(hashes.begin(), hashes.end()).size(); }

TEST(KeyHash, EqualKeysOfDifferentTypesHashAlike) {
  auto const wide = hashes_of<std::int64_t>(TypeId::int64, {0, 1, 127, std::nullopt, 200}, TypeId::int64);
  EXPECT_EQ(hashes_of<std::uint8_t>(TypeId::uint8, {0, 1, 127, std::nullopt, 200}, TypeId::int64), wide);
  EXPECT_EQ(distinct(wide), 5U);
  EXPECT_EQ(hashes_of<std::int8_t>(TypeId::int8, {-128, -1, 0, std::nullopt}, TypeId::int32),
            hashes_of<std::int32_t>(TypeId::int32, {-128, -1, 0, std::nullopt}, TypeId::int32));
}

TEST(KeyHash, DecimalsOfDifferentWidthsHashAlike) {
  auto const as = typed(TypeId::decimal128, 30, 2);
  std::vector<std::optional<std::int32_t>> const narrow{-5, 0, 7, std::nullopt};
  std::vector<std::optional<reference::Decimal128>> const wide{
      reference::Decimal128{static_cast<std::uint64_t>(-5), -1}, reference::Decimal128{0, 0},
      reference::Decimal128{7, 0}, std::nullopt};
  EXPECT_EQ(hashes_of(make_column<std::int32_t>(typed(TypeId::decimal32, 9, 2), narrow), as),
            hashes_of(make_column<reference::Decimal128>(as, wide), as));
  std::vector<std::optional<reference::Decimal128>> const high{reference::Decimal128{7, 0},
                                                               reference::Decimal128{7, 1}};
  EXPECT_EQ(distinct(hashes_of(make_column<reference::Decimal128>(as, high), as)), 2U);
}

TEST(KeyHash, ZerosAndNansAreOneKeyEach) {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  auto const hashes = hashes_of<double>(TypeId::float64, {0.0, -0.0, nan, -nan, 1.0, std::nullopt}, TypeId::float64);
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[2], hashes[3]);
  EXPECT_EQ(distinct(hashes), 4U);
}

TEST(KeyHash, StringsHashByTheirBytes) {
  auto const hashes =
      hashes_of(reference::make_strings({"a", "", std::nullopt, "a", "a longer one"}), typed(TypeId::utf8));
  EXPECT_EQ(hashes[0], hashes[3]);
  EXPECT_EQ(distinct(hashes), 4U);
}

TEST(KeyHash, DictionariesHashAsTheirValues) {
  auto const words = reference::make_strings({"b", "a", std::nullopt, "a longer one"});
  auto const as = typed(TypeId::large_utf8);
  EXPECT_EQ(hashes_of(reference::make_dictionary({1, 0, std::nullopt, 3}, words), as),
            hashes_of(reference::make_strings({"a", "b", std::nullopt, "a longer one"}), as));
}

TEST(KeyHash, ColumnsAreMixedInTheirOrder) {
  EXPECT_NE(add_key_hash(add_key_hash(0, 1), 2), add_key_hash(add_key_hash(0, 2), 1));
}

}  // namespace
}  // namespace garuda::keys
