#include "keys/join_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <limits>
#include <map>
#include <random>

#include "tests/keys/encoded_words.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::Decimal128;
using reference::make_column;
using reference::make_table;
using reference::typed;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
struct TypeOf;
#define GARUDA_TEST_TYPE(cpp_type, type_id)        \
  template <>                                      \
  struct TypeOf<cpp_type> {                        \
    static constexpr TypeId kId = TypeId::type_id; \
  };
GARUDA_TEST_TYPE(std::int8_t, int8)
GARUDA_TEST_TYPE(std::int16_t, int16)
GARUDA_TEST_TYPE(std::int32_t, int32)
GARUDA_TEST_TYPE(std::int64_t, int64)
GARUDA_TEST_TYPE(std::uint8_t, uint8)
GARUDA_TEST_TYPE(std::uint16_t, uint16)
GARUDA_TEST_TYPE(std::uint32_t, uint32)
GARUDA_TEST_TYPE(std::uint64_t, uint64)

template <class T>
Column column_of(std::vector<std::optional<T>> const& values, std::int64_t offset = 0) {
  return make_column(typed(TypeOf<T>::kId), values, offset);
}

/// The keys that the words stand for, by row.
std::map<std::uint64_t, std::uint64_t> decoded(EncodedKeys const& keys, std::uint64_t base) {
  std::map<std::uint64_t, std::uint64_t> rows;
  auto const mask = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t i = 0; i < keys.num_rows; ++i) rows[row_at(keys, i)] = (word_at(keys, i) + base) & mask;
  return rows;
}

template <class T>
std::map<std::uint64_t, std::uint64_t> expected(std::vector<std::optional<T>> const& values) {
  std::map<std::uint64_t, std::uint64_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) rows[i] = static_cast<std::uint64_t>(*values[i]);
  return rows;
}

template <class L, class R>
void round_trip(std::vector<std::optional<L>> const& left, std::vector<std::optional<R>> const& right,
                std::uint32_t key_bits, std::int64_t offset = 0) {
  auto const left_table = make_table("l", {column_of(left, offset)});
  auto const right_table = make_table("r", {column_of(right, offset)});
  auto const keys = encode_first(left_table, right_table);
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_EQ(keys->left.key_bits, key_bits);
  EXPECT_EQ(keys->right.key_bits, key_bits);
  EXPECT_EQ(keys->left.table_rows, left.size());
  EXPECT_EQ(keys->right.table_rows, right.size());
  EXPECT_EQ(decoded(keys->left, keys->base.value()), expected(left));
  EXPECT_EQ(decoded(keys->right, keys->base.value()), expected(right));
  expect_statistics(keys->left);
  expect_statistics(keys->right);
}

template <class T>
class KeyEncodingOf : public ::testing::Test {};
using AllIntegers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                     std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(KeyEncodingOf, AllIntegers);

TYPED_TEST(KeyEncodingOf, EdgesNullsAndSlices) {
  using T = TypeParam;
  using OfType = std::vector<std::optional<T>>;
  T const min = std::numeric_limits<T>::min();
  T const max = std::numeric_limits<T>::max();
  auto const whole_range = sizeof(T) == 8 ? 64U : 32U;
  for (std::int64_t const offset : {0, 1, 9}) {
    round_trip<T, T>(OfType{min, T{0}, max}, OfType{T{1}, max}, whole_range, offset);
    round_trip<T, T>(OfType{std::nullopt, min, std::nullopt, max}, OfType{T{5}, std::nullopt}, whole_range, offset);
    round_trip<T, T>(OfType{max}, OfType{max}, 32, offset);
    round_trip<T, T>(OfType{min}, OfType{min}, 32, offset);
    round_trip<T, T>(OfType{T{3}, T{4}}, OfType{}, 32, offset);
    round_trip<T, T>(OfType{}, OfType{}, 32, offset);
    round_trip<T, T>(OfType{std::nullopt, std::nullopt}, OfType{std::nullopt}, 32, offset);
  }
}

TEST(KeyEncoding, WidensSafely) {
  round_trip<std::int8_t, std::int64_t>({-128, 127}, {-128, std::int64_t{1} << 40}, 64);
  round_trip<std::uint32_t, std::int64_t>({0, 0xFFFF'FFFF}, {-1, 0}, 64);
  round_trip<std::uint8_t, std::uint64_t>({0, 255}, {255, ~std::uint64_t{0}}, 64);
  round_trip<std::uint8_t, std::int16_t>({0, 255}, {-1, 255}, 32);
  round_trip<std::int64_t, std::int32_t>({-5, 70'000}, {-5, 3}, 32);
}

TEST(KeyEncoding, WidthFollowsTheSpanOfBothSides) {
  std::int64_t const far = std::int64_t{1} << 60;
  round_trip<std::int64_t, std::int64_t>({far, far + 5}, {far + 0xFFFF'FFFF}, 32);
  round_trip<std::int64_t, std::int64_t>({far, far + 5}, {far + 0x1'0000'0000}, 64);
  round_trip<std::int64_t, std::int64_t>({-1}, {0xFFFF'FFFE}, 32);
  round_trip<std::int64_t, std::int64_t>({-1}, {0xFFFF'FFFF}, 64);
}

TEST(KeyEncoding, ManyBlocksAndBatches) {
  std::mt19937_64 random(1);
  std::vector<std::optional<std::int32_t>> all;
  std::vector<Column> columns;
  for (std::size_t const rows : {0, 100'000, 1, 0, 65'536, 70'000}) {
    std::vector<std::optional<std::int32_t>> values(rows);
    for (auto& value : values)
      if (rows != 65'536 && random() % 5 != 0) value = static_cast<std::int32_t>(random());
    all.insert(all.end(), values.begin(), values.end());
    columns.push_back(column_of(values, static_cast<std::int64_t>(rows % 7)));
  }
  auto const left = make_table("l", columns);
  auto const right = make_table("r", {column_of<std::int32_t>({1, 2, 3})});
  for (auto const threads : {1, 2, 4}) {
    // More threads than this machine may have cores.
    oneapi::tbb::global_control const limit(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    oneapi::tbb::task_arena arena(threads);
    auto const keys = arena.execute([&] { return encode_first(left, right); });
    ASSERT_TRUE(keys) << keys.error().describe();
    EXPECT_EQ(decoded(keys->left, keys->base.value()), expected(all));
    expect_statistics(keys->left);
  }
}

TEST(KeyEncoding, BatchesWithoutNullsNeedNoRowIds) {
  auto const left = make_table("l", {column_of<std::int32_t>({1, 2}), column_of<std::int32_t>({3})});
  auto const right = make_table("r", {column_of<std::int32_t>({2, 3})});
  auto const keys = encode_first(left, right);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->left.row_ids.size_bytes(), 0);
  EXPECT_THAT(keys->left.words32(), ElementsAre(1, 2, 3));
}

/// Whether the left column of a join with `right` is read in place.
bool borrows(Column const& left, Column const& right) {
  auto const left_table = make_table("l", {left});
  auto const right_table = make_table("r", {right});
  auto const keys = encode_first(left_table, right_table);
  EXPECT_TRUE(keys) << keys.error().describe();
  auto const* const values =
      static_cast<std::byte const*>(left.array.values) + left.array.offset * byte_width(left.type);
  bool const borrowed = keys->left.words == values;
  EXPECT_EQ(borrowed, keys->left.owned_words.size_bytes() == 0);
  if (borrowed) {
    EXPECT_EQ(keys->base, 0U);
  }
  return borrowed;
}

TEST(KeyEncoding, BorrowsColumnsThatAreWordsAlready) {
  auto const right = column_of<std::int32_t>({7, 0});
  EXPECT_TRUE(borrows(column_of<std::int32_t>({5, 6}), right));
  EXPECT_TRUE(borrows(column_of<std::int32_t>({5, 6}, 3), right));
  EXPECT_TRUE(borrows(column_of<std::uint32_t>({5, 0xFFFF'FFFF}), column_of<std::uint8_t>({1})));
  EXPECT_TRUE(borrows(make_column<std::int32_t>(typed(TypeId::date32), std::vector<std::int32_t>{1}),
                      make_column<std::int32_t>(typed(TypeId::date32), std::vector<std::int32_t>{2})));
  EXPECT_TRUE(borrows(column_of<std::int64_t>({1, std::int64_t{1} << 40}), column_of<std::int64_t>({std::nullopt, 1})));
  EXPECT_TRUE(borrows(column_of<std::uint64_t>({1, ~std::uint64_t{0}}), column_of<std::uint64_t>({3})));
  EXPECT_TRUE(borrows(column_of<std::int64_t>({-1, std::int64_t{1} << 40}), column_of<std::int64_t>({-5})));
}

TEST(KeyEncoding, CopiesColumnsThatAreNot) {
  auto const right = column_of<std::int32_t>({7, 0});
  EXPECT_FALSE(borrows(column_of<std::int32_t>({5, std::nullopt}), right));               // nulls
  EXPECT_FALSE(borrows(column_of<std::int32_t>({5, -6}), right));                         // negative here
  EXPECT_FALSE(borrows(column_of<std::int32_t>({5, 6}), column_of<std::int32_t>({-1})));  // negative there
  EXPECT_FALSE(borrows(column_of<std::int64_t>({5, 6}), right));                          // wider than the words
  EXPECT_FALSE(borrows(column_of<std::int16_t>({5, 6}), right));                          // narrower
  EXPECT_FALSE(borrows(column_of<std::int32_t>({5}), column_of<std::int64_t>({std::int64_t{1} << 40})));
  auto unaligned = column_of<std::int32_t>({0x0505'0505, 0x0505'0505});
  unaligned.array.values = static_cast<std::byte const*>(unaligned.array.values) + 1;
  unaligned.array.length = 1;
  EXPECT_FALSE(borrows(unaligned, right));
}

TEST(KeyEncoding, SeveralBatchesAreBorrowedOnlyWhenOneHasRows) {
  auto const right = make_table("r", {column_of<std::int32_t>({1})});
  auto const empty = column_of<std::int32_t>({});
  auto const some = column_of<std::int32_t>({1, 2});
  auto const one = encode_first(make_table("l", {empty, some, empty}), right);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->left.words, some.array.values);
  auto const two = encode_first(make_table("l", {some, some}), right);
  ASSERT_TRUE(two);
  EXPECT_THAT(two->left.words32(), ElementsAre(1, 2, 1, 2));
}

TEST(KeyEncoding, TemporalAndDecimalColumns) {
  for (auto const id : {TypeId::date64, TypeId::timestamp, TypeId::decimal64}) {
    auto const column = make_column<std::int64_t>(typed(id), std::vector<std::int64_t>{-3, 1'700'000'000'000});
    auto const keys = encode_first(column, column);
    ASSERT_TRUE(keys) << keys.error().describe();
    EXPECT_EQ(decoded(keys->left, keys->base.value()), expected<std::int64_t>({-3, 1'700'000'000'000}));
  }
  auto const narrow = make_column<std::int32_t>(typed(TypeId::decimal32, 9, 2), std::vector<std::int32_t>{-7, 8});
  auto const wide = make_column(typed(TypeId::decimal128, 38, 2),
                                std::vector<std::optional<Decimal128>>{Decimal128{static_cast<std::uint64_t>(-7), -1},
                                                                       std::nullopt, Decimal128{1'000'000, 0}},
                                2);
  auto const keys = encode_first(narrow, wide);
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_EQ(decoded(keys->left, keys->base.value()), expected<std::int64_t>({-7, 8}));
  EXPECT_EQ(decoded(keys->right, keys->base.value()), expected<std::int64_t>({-7, std::nullopt, 1'000'000}));
}

TEST(KeyEncoding, DecimalsBeyond64Bits) {
  constexpr auto kLargest = std::uint64_t{1} << 63;
  auto const type = typed(TypeId::decimal128, 38, 0);
  std::vector<std::optional<Decimal128>> const values{Decimal128{kLargest - 1, 0}, Decimal128{kLargest, -1}};
  EXPECT_TRUE(encode_first(make_column(type, values), make_column(type, values))->base);
  // Near each other: packed, but words tell no values. Far from each other: numbered.
  std::vector<std::optional<Decimal128>> const near{Decimal128{0, 5}, Decimal128{7, 5}};
  auto keys = encode_first(make_column(type, near), make_column(type, near));
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_FALSE(keys->base);
  EXPECT_FALSE(keys->is_numbered);
  EXPECT_THAT(keys->left.words32(), ElementsAre(0, 7));
  std::vector<std::optional<Decimal128>> const far{Decimal128{0, 5}, Decimal128{0, -5}, Decimal128{0, 5}};
  keys = encode_first(make_column(type, far), make_column(type, near));
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_TRUE(keys->is_numbered);
  EXPECT_THAT(keys->left.words32(), ElementsAre(0, 1, 0));
  EXPECT_THAT(keys->right.words32(), ElementsAre(0, 2));
  expect_statistics(keys->left);
  expect_statistics(keys->right);
}

TEST(KeyEncoding, DeviceMemoryIsRefused) {
  auto column = column_of<std::int32_t>({1});
  column.array.location.kind = Location::Kind::device;
  auto const keys = encode_first(column_of<std::int32_t>({1}), column);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(keys.error().message(), HasSubstr("'r'"));
}

TEST(KeyEncoding, CancellationIsSeen) {
  std::atomic<bool> const cancelled = true;
  Control control;
  control.cancelled = &cancelled;
  auto const table = make_table("k", {column_of<std::int32_t>({1})});
  auto const keys = encode_join_keys({table.view(), {0}}, {table.view(), {0}}, control);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code(), ErrorCode::cancelled);
  EXPECT_THROW((void)encode_join_keys({table.view(), {1}}, {table.view(), {0}}, {}), LogicError);
}

}  // namespace
}  // namespace garuda::keys
