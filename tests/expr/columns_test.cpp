// Columns read as vectors and written again: every type, against the cells of the columns that were read.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/type_rows.hpp"
#include "expr/columns.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

using reference::dictionary_of;
using reference::timed;
using reference::typed;

DataType fixed_binary(std::int32_t width) {
  DataType type{TypeId::fixed_size_binary};
  type.fixed_byte_width = width;
  return type;
}

std::vector<DataType> column_types() {
  return {{TypeId::boolean},
          {TypeId::int8},
          {TypeId::uint16},
          {TypeId::int32},
          {TypeId::uint32},
          {TypeId::int64},
          {TypeId::uint64},
          {TypeId::float16},
          {TypeId::float32},
          {TypeId::float64},
          typed(TypeId::decimal32, 9, 2),
          typed(TypeId::decimal64, 18, 3),
          typed(TypeId::decimal128, 38, 4),
          {TypeId::date32},
          {TypeId::date64},
          timed(TypeId::time32, TimeUnit::millisecond),
          timed(TypeId::time64, TimeUnit::nanosecond),
          timed(TypeId::timestamp, TimeUnit::microsecond, "UTC"),
          timed(TypeId::duration, TimeUnit::second),
          {TypeId::utf8},
          {TypeId::large_utf8},
          {TypeId::utf8_view},
          {TypeId::binary},
          {TypeId::large_binary},
          {TypeId::binary_view},
          fixed_binary(5),
          dictionary_of({TypeId::utf8}),
          dictionary_of({TypeId::int16})};
}

/// Random columns; a null's slot holds something.
class Columns {
 public:
  explicit Columns(std::uint32_t seed) : random_(seed) {}

  reference::Column make(DataType const& type, std::size_t rows, bool has_nulls) {
    auto const& row = type_row(type.id);
    if (type.id == TypeId::dictionary) return dictionary(type, rows, has_nulls);
    if (type.id == TypeId::boolean) {
      std::vector<std::optional<bool>> values;
      for (std::size_t i = 0; i < rows; ++i) values.push_back(optional(has_nulls, random_() % 2 == 1));
      return reference::make_booleans(values);
    }
    if (row.family == TypeFamily::bytes && type.id != TypeId::fixed_size_binary) {
      std::vector<std::optional<std::string>> values;
      for (std::size_t i = 0; i < rows; ++i)
        values.push_back(optional(has_nulls, std::string(random_() % 20, static_cast<char>('a' + random_() % 26))));
      return reference::make_strings(values, type.id);
    }
    auto const width = static_cast<std::size_t>(byte_width(type));
    std::vector<std::byte> bytes(rows * width);
    // Bytes below 0x7C make no NaN, whose bits a float16 does not keep.
    for (auto& byte : bytes) byte = static_cast<std::byte>(random_() % (type.id == TypeId::float16 ? 0x7C : 0x80));
    std::vector<bool> valid(has_nulls ? rows : 0);
    for (std::size_t i = 0; i < valid.size(); ++i) valid[i] = random_() % 3 != 0;
    return reference::make_column(type, bytes, valid, static_cast<std::int64_t>(random_() % 11));
  }

 private:
  template <class T>
  std::optional<T> optional(bool has_nulls, T value) {
    return has_nulls && random_() % 3 == 0 ? std::nullopt : std::optional(value);
  }
  reference::Column dictionary(DataType const& type, std::size_t rows, bool has_nulls) {
    std::vector<std::optional<std::int32_t>> indices;
    for (std::size_t i = 0; i < rows; ++i)
      indices.push_back(optional(has_nulls, static_cast<std::int32_t>(random_() % 7)));
    return reference::make_dictionary(indices, make(*type.value, 7, false));
  }

  std::mt19937 random_;
};

/// The cells of rows [begin, begin + count) of a table's first column.
std::vector<std::optional<std::string>> cells_of(TableView const& table, std::uint64_t begin, std::size_t count) {
  std::vector<std::optional<std::string>> cells;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[0];
    for (std::int64_t i = 0; i < array.length; ++i)
      cells.push_back(reference::read_cell(table.schema()[0].type, array, i));
  }
  return {cells.begin() + static_cast<std::ptrdiff_t>(begin),
          cells.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

std::vector<std::optional<std::string>> cells_of(ColumnWriter& writer) {
  auto const written = writer.finish();
  std::vector<std::optional<std::string>> cells;
  for (std::int64_t i = 0; i < written.array.length; ++i)
    cells.push_back(reference::read_cell(writer.type(), written.array, i));
  EXPECT_EQ(written.array.null_count, std::ranges::count_if(cells, [](auto const& cell) { return !cell; }));
  return cells;
}

/// `narrow`: as narrow vectors where they may be.
void expect_written_as_read(bool narrow) {
  std::uint32_t seed = 0;
  for (auto const& type : column_types()) {
    for (auto const& batches : std::vector<std::vector<std::size_t>>{
             {0}, {1}, {1023}, {1024}, {1025}, {3000}, {5, 0, 700, 1, 1200}, {0, 0, 40, 2, 0}}) {
      SCOPED_TRACE(to_string(type) + ", seed " + std::to_string(seed));
      Columns columns(seed++);
      std::vector<reference::Column> parts;
      for (std::size_t b = 0; b < batches.size(); ++b) parts.push_back(columns.make(type, batches[b], b % 3 != 1));
      auto const table = reference::make_table("c", parts);
      auto reader = testing::value_of(ColumnReader::create(table.view(), 0));
      if (narrow) reader.allow_narrow();
      ColumnWriter writer(reader.type());
      auto const rows = static_cast<std::uint64_t>(table.num_rows());
      for (auto const block : {kVectorRows, std::size_t{1}, std::size_t{333}}) {
        auto const end = block == 1 ? std::min<std::uint64_t>(rows, 50) : rows;
        for (std::uint64_t begin = 0; begin < end; begin += block) {
          auto const count = std::min<std::uint64_t>(block, end - begin);
          testing::succeed(writer.append(reader.read(begin, count), count));
        }
        ASSERT_EQ(writer.length(), static_cast<std::int64_t>(end));
        ASSERT_EQ(cells_of(writer), cells_of(table.view(), 0, end));
      }
      for (std::uint64_t begin = 0; begin < rows; begin += 1'100) {  // backwards, and some rows of a block
        auto const from = rows - begin - 1;
        auto const count = std::min<std::uint64_t>(rows - from, kVectorRows);
        std::vector<std::uint16_t> chosen;
        auto const wanted = cells_of(table.view(), from, count);
        std::vector<std::optional<std::string>> chosen_cells;
        for (std::size_t i = 0; i < count; i += 3) {
          chosen.push_back(static_cast<std::uint16_t>(i));
          chosen_cells.push_back(wanted[i]);
        }
        testing::succeed(writer.append(reader.read(from, count), chosen));
        ASSERT_EQ(cells_of(writer), chosen_cells);
      }
    }
  }
}

TEST(Columns, AreWrittenAsTheyWereRead) { expect_written_as_read(false); }

TEST(Columns, AreWrittenAsTheyWereReadInVectorsOfFewerBits) { expect_written_as_read(true); }

TEST(Columns, DecimalsOfFewBitsAreReadSo) {
  struct Case {
    DataType type;
    std::size_t width;
    bool is_narrow;
  };
  for (auto const& [type, width, is_narrow] :
       {Case{typed(TypeId::decimal32, 9, 2), 4, true}, Case{typed(TypeId::decimal64, 18, 2), 8, true},
        Case{typed(TypeId::decimal128, 38, 2), 16, true}, Case{typed(TypeId::decimal128, 38, 3), 16, false}}) {
    std::vector<std::byte> bytes(3 * width);
    bytes[width] = std::byte{7};
    if (!is_narrow) bytes[2 * width + 8] = std::byte{1};
    auto const table = reference::make_table("d", {reference::make_column(type, bytes, std::vector<bool>(), 0)});
    auto reader = testing::value_of(ColumnReader::create(table.view(), 0));
    EXPECT_FALSE(reader.read(0, 3).is_narrow);
    reader.allow_narrow();
    auto const vector = reader.read(0, 3);
    ASSERT_EQ(vector.is_narrow, is_narrow) << to_string(type);
    if (is_narrow) EXPECT_EQ(vector.as<std::int64_t>()[1], 7);
    if (!is_narrow) EXPECT_EQ(vector.as<Int128>()[1], Int128{7});
  }
}

TEST(Columns, AConstantIsWrittenAsOftenAsThereAreRows) {
  std::string_view const text = "a text beyond twelve bytes";
  std::uint8_t const invalid = 0;
  for (auto const id : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view}) {
    ColumnWriter writer(DataType{id});
    testing::succeed(writer.append({Kind::bytes, true, &text, nullptr}, 1'025));
    testing::succeed(writer.append({Kind::bytes, true, &text, &invalid}, 2));
    testing::succeed(writer.append({Kind::bytes, true, &text, nullptr}, 0));
    auto cells = cells_of(writer);
    ASSERT_EQ(cells.size(), 1'027U);
    EXPECT_EQ(cells[1'024], std::string(text));
    EXPECT_EQ(cells[1'026], std::nullopt);
  }
}

TEST(Columns, ValuesInTheRoomOfAWriterAreAppendedWhereTheyLie) {
  ColumnWriter writer(DataType{TypeId::int64});
  std::int64_t const before = 7;
  testing::succeed(writer.append({Kind::int64, true, &before, nullptr}, 1'000));
  for (std::int64_t const first : {0, 100}) {
    auto* const room = static_cast<std::int64_t*>(writer.room(100));
    ASSERT_NE(room, nullptr);
    EXPECT_EQ(writer.length(), 1'000 + first);
    for (std::int64_t i = 0; i < 100; ++i) room[i] = first + i;
    testing::succeed(writer.append({Kind::int64, false, room, nullptr}, 100));
  }
  auto const cells = cells_of(writer);
  ASSERT_EQ(cells.size(), 1'200U);
  for (std::size_t i = 0; i < cells.size(); ++i) ASSERT_EQ(cells[i], std::to_string(i < 1'000 ? 7 : i - 1'000));
  for (auto const& type :
       {DataType{TypeId::boolean}, DataType{TypeId::int8}, DataType{TypeId::utf8}, typed(TypeId::decimal32, 9, 2)})
    EXPECT_EQ(ColumnWriter(type).room(8), nullptr) << to_string(type);
}

TEST(Columns, TypesThatExpressionsDoNotComputeWithAreRefused) {
  auto const column = reference::make_column(typed(TypeId::decimal256, 60, 2), std::vector<std::byte>(64), {}, 0);
  auto const table = reference::make_table("wide", {column});
  auto const reader = ColumnReader::create(table.view(), 0);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message(), "expressions do not compute with column 'wide' of decimal256(60, 2)");
}

}  // namespace
}  // namespace garuda::expr
