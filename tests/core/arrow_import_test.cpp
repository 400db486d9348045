#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/arrow/arrow_format.hpp"
#include "garuda/arrow_c.hpp"
#include "tests/core/column_cells.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/sample_batch.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Cells = std::vector<std::optional<std::string>>;

template <class T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<char const*>(&value), sizeof(value));
}

void expect_sample(TableView const& table) {
  ASSERT_EQ(table.num_columns(), kSampleColumns);
  auto const int_cell = [](std::int64_t value) { return std::optional(bytes_of(value)); };
  EXPECT_EQ(cells(table, kInt), (Cells{int_cell(1), {}, int_cell(3), int_cell(-4), {}}));
  EXPECT_EQ(cells(table, kText), (Cells{"x", {}, "", "four", "5"}));
  EXPECT_EQ(cells(table, kFlag), (Cells{"1", "0", {}, "1", "0"}));
  EXPECT_EQ(cells(table, kWord), (Cells{"red", {}, {}, "green", "red"}));
  EXPECT_EQ(cells(table, kBlob), (Cells{"a", "bc", "def", "", "g"}));
  EXPECT_EQ(cells(table, kDecimal)[2], bytes_of(std::array<std::int64_t, 2>{-3, -1}));
  EXPECT_EQ(cells(table, kFixed), (Cells{"abc", "def", "ghi", "jkl", "mno"}));
}

TEST(ArrowImport, ReadsEveryLayout) {
  auto foreign = sample_batch();
  {
    auto const table = import_arrow(foreign.array(), foreign.schema());
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(foreign.array()->release, nullptr);
    EXPECT_EQ(foreign.schema()->release, nullptr);
    EXPECT_TRUE(foreign.arrays_released(0));
    expect_sample(table->view());
    EXPECT_EQ(table->schema()[kWord].type.index, TypeId::int8);
    EXPECT_EQ(to_string(table->schema()[kDecimal].type), "decimal128(20, 3)");
    EXPECT_TRUE(table->schema()[kInt].nullable);
    // A column without nulls has no bitmap; the others are counted.
    auto const columns = table->view().batch(0).columns;
    EXPECT_EQ(columns[kBlob].validity, nullptr);
    EXPECT_EQ(columns[kInt].null_count, 2);
    EXPECT_EQ(columns[kText].null_count, 1);
  }
  EXPECT_TRUE(foreign.arrays_released());
  EXPECT_TRUE(foreign.schemas_released());
}

TEST(ArrowImport, KeepsTheArrayForTheLastOwner) {
  auto foreign = sample_batch();
  std::shared_ptr<void const> owner;
  {
    auto const table = import_arrow(foreign.array(), foreign.schema());
    ASSERT_TRUE(table);
    owner = table->batches()[0].owner;
  }
  EXPECT_TRUE(foreign.arrays_released(0));
  owner.reset();
  EXPECT_TRUE(foreign.arrays_released());
}

TEST(ArrowImport, AppliesTheOffsetOfTheStructArray) {
  auto foreign = sample_batch();
  foreign.array()->offset = 2;
  foreign.array()->length = 3;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 3);
  EXPECT_EQ(cells(table->view(), kText), (Cells{"", "four", "5"}));
  EXPECT_EQ(cells(table->view(), kFlag), (Cells{{}, "1", "0"}));
  EXPECT_EQ(cells(table->view(), kWord), (Cells{{}, "green", "red"}));
  EXPECT_EQ(table->view().batch(0).columns[kInt].null_count, 1);
  EXPECT_EQ(table->view().batch(0).columns[kText].validity, nullptr);
}

TEST(ArrowImport, DoesNotReadRowsOutsideOfTheStructArray) {
  auto foreign = sample_batch();
  foreign.array()->length = 2;
  foreign.column(kText).buffer<std::int32_t>(1)[2 + 4] = -7;  // offsets that decrease, of a row that is not used
  foreign.column(kWord).buffer<std::int8_t>(1)[1 + 4] = 77;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(cells(table->view(), kText), (Cells{"x", {}}));
}

TEST(ArrowImport, AcceptsUncountedNullsAndAStructBitmapWithoutNulls) {
  auto foreign = sample_batch();
  for (std::size_t i = 0; i < kSampleColumns; ++i) foreign.column(i).array.null_count = -1;
  std::uint8_t const all_valid = 0x1F;
  void const* buffers[] = {&all_valid};
  foreign.array()->buffers = buffers;
  foreign.array()->null_count = -1;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  expect_sample(table->view());
}

TEST(ArrowImport, ReadsArraysWithoutRowsAndWithoutBuffers) {
  using Text = Cells;
  ForeignBatch foreign(
      foreign_fixed<std::int64_t>("int", "l", {}), foreign_text<std::int32_t>("text", "u", Text{}),
      foreign_booleans("flag", {}),
      foreign_dictionary(foreign_fixed<std::int32_t>("word", "i", {}), foreign_text<std::int32_t>("", "u", Text{})));
  for (std::size_t i = 0; i < 4; ++i) {
    for (auto& buffer : foreign.column(i).buffers) buffer = nullptr;
    foreign.column(i).array.offset = 3;
  }
  foreign.column(3).dictionary->buffers[1] = nullptr;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 0);
  for (auto const& column : table->view().batch(0).columns) {
    EXPECT_EQ(column.length, 0);
    EXPECT_EQ(column.offset, 0);
  }
  EXPECT_EQ(*static_cast<std::int32_t const*>(table->view().batch(0).columns[1].offsets), 0);
  EXPECT_EQ(table->view().batch(0).columns[3].dictionary->length, 0);
}

TEST(ArrowImport, ReadsRowsWithoutColumns) {
  ForeignBatch foreign;
  foreign.array()->length = 7;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 7);
  EXPECT_TRUE(table->schema().empty());
}

TEST(ArrowImport, AcceptsEmptyStringsWithoutDataBuffer) {
  ForeignBatch foreign(foreign_text<std::int32_t>("text", "u", Cells{"", "", {}}));
  ASSERT_EQ(foreign.column(0).buffers[2], nullptr);
  for (int i = 0; i < 4; ++i) foreign.column(0).buffer<std::int32_t>(1)[i] = 5;  // need not start at 0
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
}

TEST(ArrowImport, CopiesBuffersThatAreNotAligned) {
  auto foreign = sample_batch();
  std::vector<std::vector<std::byte>> shifted;
  auto const shift = [&](void const*& buffer, std::size_t size) {
    auto& copy = shifted.emplace_back(size + 1);
    std::memcpy(copy.data() + 1, buffer, size);
    buffer = copy.data() + 1;
  };
  shift(foreign.column(kInt).buffers[1], (3 + 5) * 8);
  shift(foreign.column(kText).buffers[1], (2 + 5 + 1) * 4);
  shift(foreign.column(kBlob).buffers[1], (5 + 1) * 8);
  shift(foreign.column(kDecimal).buffers[1], 5 * 16);
  shift(foreign.column(kFixed).buffers[1], (4 + 5) * 3);
  auto const* fixed = foreign.column(kFixed).buffers[1];
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  expect_sample(table->view());
  auto const columns = table->view().batch(0).columns;
  for (auto const column : {kInt, kDecimal}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(columns[column].values) % 8, 0U);
  }
  EXPECT_EQ(columns[kFixed].values, fixed);
}

TEST(ArrowImport, ReadsTheFlagsOfTheSchema) {
  auto foreign = sample_batch();
  foreign.column(kBlob).schema.flags = 0;
  foreign.column(kBlob).schema.name = nullptr;
  foreign.column(kWord).schema.flags = ARROW_FLAG_DICTIONARY_ORDERED | ARROW_FLAG_NULLABLE;
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_FALSE(table->schema()[kBlob].nullable);
  EXPECT_EQ(table->schema()[kBlob].name, "");
  EXPECT_TRUE(table->schema()[kWord].type.ordered);
  EXPECT_TRUE(table->schema()[kWord].nullable);
}

template <class Index>
void expect_indices_checked(std::string const& format, Index bad) {
  for (auto const index : {Index{2}, bad}) {
    ForeignBatch foreign(foreign_dictionary(
        foreign_fixed<Index>("word", format, {0, index, 1}),
        foreign_fixed<std::int16_t>(
            "", "s", index == 2 ? std::vector<std::int16_t>{1, 2, 3} : std::vector<std::int16_t>{1, 2})));
    auto const table = import_arrow(foreign.array(), foreign.schema());
    EXPECT_EQ(table.has_value(), index != bad) << format;
    if (table) continue;
    EXPECT_THAT(table.error().describe(), HasSubstr("dictionary index out of range [0, 2) at row 1: "));
  }
}

TEST(ArrowImport, ChecksIndicesOfEveryType) {
  expect_indices_checked<std::int8_t>("c", -1);
  expect_indices_checked<std::int16_t>("s", -1);
  expect_indices_checked<std::int32_t>("i", std::numeric_limits<std::int32_t>::max());
  expect_indices_checked<std::int64_t>("l", std::numeric_limits<std::int64_t>::min());
  expect_indices_checked<std::uint8_t>("C", 255);
  expect_indices_checked<std::uint16_t>("S", 65'535);
  expect_indices_checked<std::uint32_t>("I", std::numeric_limits<std::uint32_t>::max());
  expect_indices_checked<std::uint64_t>("L", std::numeric_limits<std::uint64_t>::max());
}

TEST(ArrowStreamImport, ReadsAllBatches) {
  auto first = sample_batch();
  auto second = sample_batch();
  auto third = sample_batch();
  second.array()->length = 0;
  third.array()->offset = 4;
  third.array()->length = 1;
  ForeignStream foreign({&first, &second, &third});
  {
    auto const table = import_arrow(&foreign.stream);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(foreign.releases, 1);
    EXPECT_EQ(foreign.stream.release, nullptr);
    EXPECT_EQ(table->num_rows(), 6);
    EXPECT_EQ(table->batches().size(), 3U);
    EXPECT_EQ(cells(table->view(), kText), (Cells{"x", {}, "", "four", "5", "5"}));
  }
  EXPECT_EQ(foreign.releases, 1);
  for (auto* batch : {&first, &second, &third}) EXPECT_TRUE(batch->arrays_released());
  EXPECT_TRUE(first.schemas_released());
}

TEST(ArrowStreamImport, GivesTheSameOnSeveralThreads) {
  std::vector<Cells> texts;
  for (bool const is_shared : {false, true}) {
    std::list<ForeignBatch> batches;
    std::vector<ForeignBatch*> given;
    for (std::int64_t b = 0; b < 600; ++b) {
      auto& batch = batches.emplace_back(sample_batch());
      batch.array()->offset = b % 4;
      batch.array()->length = 5 - b % 4;
      given.push_back(&batch);
    }
    ForeignStream foreign(given);
    oneapi::tbb::task_arena arena(3);
    auto const table =
        is_shared ? arena.execute([&] { return import_arrow(&foreign.stream); }) : import_arrow(&foreign.stream);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(table->batches().size(), 600U);
    texts.push_back(cells(table->view(), kText));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(ArrowStreamImport, RefusesABatchOfAnotherSchema) {
  auto first = sample_batch();
  ForeignBatch second(foreign_fixed<std::int64_t>("int", "l", {1}));
  ForeignStream foreign({&first, &second});
  auto const table = import_arrow(&foreign.stream);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), ErrorCode::invalid_input);
  EXPECT_EQ(table.error().describe(), "invalid batch at position: 1: number of children is not 7: 1");
  EXPECT_EQ(foreign.releases, 1);
  EXPECT_TRUE(first.arrays_released());
  EXPECT_TRUE(second.arrays_released());
}

TEST(ArrowStreamImport, RefusesABatchWhoseColumnHasAnotherLayout) {
  ForeignBatch first(foreign_fixed<std::int64_t>("int", "l", {1}));
  ForeignBatch second(foreign_text<std::int32_t>("int", "u", {"x"}));
  ForeignStream foreign({&first, &second});
  auto const table = import_arrow(&foreign.stream);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().describe(),
            "invalid batch at position: 1: cannot import column: int: number of buffers is not 2: 3");
  EXPECT_TRUE(first.arrays_released());
  EXPECT_TRUE(second.arrays_released());
}

TEST(ArrowStreamImport, PassesOnWhatTheProducerReports) {
  auto batch = sample_batch();
  ForeignStream foreign({&batch});
  foreign.next_code = 5;
  foreign.last_error = "the disk is gone";
  auto const table = import_arrow(&foreign.stream);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), ErrorCode::invalid_input);
  EXPECT_EQ(table.error().message(), "the producer of the stream failed with code 5: the disk is gone");
  EXPECT_EQ(foreign.releases, 1);
  EXPECT_TRUE(batch.arrays_released());
}

TEST(ArrowStreamImport, CopesWithProducersThatGiveNoMessage) {
  for (auto const has_callback : {false, true}) {
    auto batch = sample_batch();
    ForeignStream foreign({&batch});
    foreign.schema_code = 22;
    if (!has_callback) foreign.stream.get_last_error = nullptr;
    auto const table = import_arrow(&foreign.stream);
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().message(), "the producer of the stream failed with code 22: no message given");
    EXPECT_EQ(foreign.releases, 1);
    EXPECT_TRUE(batch.schemas_released(0));
  }
}

TEST(ArrowStreamImport, RefusesReleasedAndIncompleteStreams) {
  auto batch = sample_batch();
  ForeignStream released({&batch});
  released.stream.release = nullptr;
  EXPECT_EQ(import_arrow(&released.stream).error().message(), "stream is released");
  EXPECT_EQ(released.releases, 0);

  ForeignStream without_schema({&batch});
  without_schema.stream.get_schema = nullptr;
  EXPECT_EQ(import_arrow(&without_schema.stream).error().message(), "stream lacks a callback");
  EXPECT_EQ(without_schema.releases, 1);

  ForeignStream without_next({&batch});
  without_next.stream.get_next = nullptr;
  EXPECT_EQ(import_arrow(&without_next.stream).error().message(), "stream lacks a callback");
  EXPECT_EQ(without_next.releases, 1);

  ForeignStream no_schema({&batch});
  batch.schema()->release = nullptr;
  EXPECT_EQ(import_arrow(&no_schema.stream).error().message(), "schema is released");
  EXPECT_EQ(no_schema.releases, 1);
}

TEST(ArrowImport, NullsOfADictionaryAreNullsOfItsRows) {
  using Words = std::vector<std::optional<std::string>>;
  auto const words = [] { return foreign_text<std::int32_t>("", "u", Words{"a", std::nullopt, "b"}); };
  ForeignBatch foreign(
      foreign_dictionary(foreign_fixed<std::int8_t>("none", "c", {0, 1, 2, 1}, {}, 3), words()),
      foreign_dictionary(foreign_fixed<std::int64_t>("some", "l", {1, 99, 2, 0}, {true, false, true, true}), words()),
      foreign_dictionary(foreign_fixed<std::uint16_t>("unused", "S", {0, 2, 2, 0}), words()));
  auto const table = import_arrow(foreign.array(), foreign.schema());
  ASSERT_TRUE(table) << table.error().describe();
  auto const columns = table->view().batch(0).columns;
  EXPECT_EQ(cells(table->view(), 0), (Cells{"a", {}, "b", {}}));
  EXPECT_EQ(cells(table->view(), 1), (Cells{{}, {}, "b", "a"}));
  EXPECT_EQ(columns[0].null_count, 2);
  EXPECT_TRUE(columns[0].is_null(1) && columns[0].is_null(3));
  EXPECT_EQ(columns[1].null_count, 2);
  EXPECT_TRUE(columns[1].is_null(0) && columns[1].is_null(1));
  EXPECT_EQ(columns[2].validity, nullptr);
}

TEST(ArrowImport, RefusesNullPointersAsTheCallersBug) {
  auto batch = sample_batch();
  EXPECT_THROW((void)import_arrow(nullptr, batch.schema()), LogicError);
  EXPECT_THROW((void)import_arrow(batch.array(), nullptr), LogicError);
  EXPECT_THROW((void)import_arrow(nullptr), LogicError);
  EXPECT_NE(batch.array()->release, nullptr);
  EXPECT_NE(batch.schema()->release, nullptr);
}

}  // namespace
}  // namespace garuda
