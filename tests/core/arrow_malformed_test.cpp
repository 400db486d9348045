// Arrow C arrays and schemas that break the interface's rules, each refused, and everything released exactly once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/sample_batch.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite
using ::testing::HasSubstr;

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

struct Malformed {
  std::string name;
  std::function<void(ForeignBatch&)> damage;
  std::string expected;  ///< part of the error
};

void PrintTo(Malformed const& malformed, std::ostream* out) { *out << malformed.name; }

auto on_array(SampleColumn column, std::function<void(ArrowArray&)> damage) {
  return [=](ForeignBatch& batch) { damage(batch.column(column).array); };
}
auto on_schema(SampleColumn column, std::function<void(ArrowSchema&)> damage) {
  return [=](ForeignBatch& batch) { damage(batch.column(column).schema); };
}
auto on_struct(std::function<void(ArrowArray&)> damage) {
  return [=](ForeignBatch& batch) { damage(*batch.array()); };
}
auto on_struct_schema(std::function<void(ArrowSchema&)> damage) {
  return [=](ForeignBatch& batch) { damage(*batch.schema()); };
}
auto with_format(SampleColumn column, char const* format) {
  return on_schema(column, [=](ArrowSchema& schema) { schema.format = format; });
}
/// Removes buffer `i` of a column.
auto without_buffer(SampleColumn column, std::size_t i) {
  return [=](ForeignBatch& batch) { batch.column(column).buffers[i] = nullptr; };
}

std::vector<Malformed> malformed_columns() {
  return {
      {"LengthNegative", on_array(kInt, [](auto& a) { a.length = -1; }), "column: int: length is negative: -1"},
      {"LengthSmallest", on_array(kText, [](auto& a) { a.length = kMin; }), "column: text: length is negative"},
      {"OffsetNegative", on_array(kText, [](auto& a) { a.offset = -3; }), "column: text: offset is negative: -3"},
      {"LengthPlusOffsetOverflows",
       on_array(kFlag,
                [](auto& a) {
                  a.length = kMax;
                  a.offset = 1;
                }),
       "column: flag: more rows than an address space holds"},
      {"OffsetGreatest", on_array(kInt, [](auto& a) { a.offset = kMax; }), "column: int: more rows"},
      {"BytesOverflow", on_array(kDecimal, [](auto& a) { a.offset = (std::int64_t{1} << 59) - 5; }),
       "column: decimal: more values than an address space holds"},
      {"NullCountBelow", on_array(kInt, [](auto& a) { a.null_count = -2; }),
       "column: int: null count out of range [-1, 5]: -2"},
      {"NullCountAbove", on_array(kInt, [](auto& a) { a.null_count = 6; }),
       "column: int: null count out of range [-1, 5]: 6"},
      {"NullCountWithoutBitmap", on_array(kBlob, [](auto& a) { a.null_count = 1; }),
       "column: blob: validity bitmap is missing, null count: 1"},
      {"NullCountTooHigh", on_array(kInt, [](auto& a) { a.null_count = 3; }),
       "column: int: null count contradicts the 2 nulls of the validity bitmap: 3"},
      {"NullCountTooLow", on_array(kInt, [](auto& a) { a.null_count = 0; }), "column: int: null count contradicts"},
      {"NullCountTooLowInASlice",
       [](ForeignBatch& batch) {
         batch.array()->length = 4;
         batch.column(kInt).array.null_count = 0;
       },
       "column: int: null count contradicts the 1 nulls"},
      {"BuffersTooFew", on_array(kText, [](auto& a) { a.n_buffers = 2; }),
       "column: text: number of buffers is not 3: 2"},
      {"BuffersTooMany", on_array(kInt, [](auto& a) { a.n_buffers = 3; }),
       "column: int: number of buffers is not 2: 3"},
      {"BuffersNegative", on_array(kInt, [](auto& a) { a.n_buffers = -1; }), "column: int: number of buffers"},
      {"BufferListNull", on_array(kFlag, [](auto& a) { a.buffers = nullptr; }),
       "column: flag: list of buffers is null"},
      {"ChildrenOfAFlatColumn", on_array(kInt, [](auto& a) { a.n_children = 1; }),
       "column: int: number of children is not 0: 1"},
      {"ValuesNull", without_buffer(kInt, 1), "column: int: values buffer is null, rows: 5"},
      {"BooleansNull", without_buffer(kFlag, 1), "column: flag: values buffer is null, rows: 5"},
      {"IndicesNull", without_buffer(kWord, 1), "column: word: values buffer is null, rows: 5"},
      {"OffsetsNull", without_buffer(kText, 1), "column: text: offsets buffer is null, rows: 5"},
      {"DataNull", without_buffer(kText, 2), "column: text: data buffer is null, bytes referred to: 6"},
      {"LargeDataNull", without_buffer(kBlob, 2), "column: blob: data buffer is null, bytes referred to: 7"},
      {"OffsetsDecrease", [](ForeignBatch& batch) { batch.column(kText).buffer<std::int32_t>(1)[2 + 3] = 1; },
       "column: text: offsets decrease at row 2: 1 after 3"},
      {"OffsetsNegative", [](ForeignBatch& batch) { batch.column(kText).buffer<std::int32_t>(1)[2] = -1; },
       "column: text: first offset is negative: -1"},
      {"OffsetsDecreaseAtTheEnd",
       [](ForeignBatch& batch) {
         batch.column(kText).buffer<std::int32_t>(1)[2 + 5] = std::numeric_limits<std::int32_t>::min();
       },
       "column: text: offsets decrease at row 4"},
      {"LargeOffsetsDecrease", [](ForeignBatch& batch) { batch.column(kBlob).buffer<std::int64_t>(1)[5] = kMin; },
       "column: blob: offsets decrease at row 4"},
      {"LargeOffsetsNegative", [](ForeignBatch& batch) { batch.column(kBlob).buffer<std::int64_t>(1)[0] = -9; },
       "column: blob: first offset is negative: -9"},
      {"ColumnShorterThanTheStruct", on_array(kBlob, [](auto& a) { a.length = 4; }),
       "column: blob: fewer rows than the 5 of its parent: 4"},
      {"ColumnReleased", [](ForeignBatch& batch) { batch.column(kBlob).array.release(&batch.column(kBlob).array); },
       "column: blob: array is released"},
      {"ColumnNull", on_struct([](auto& a) { a.children[kText] = nullptr; }), "column: text: array is null"},
      {"DictionaryMissing", on_array(kWord, [](auto& a) { a.dictionary = nullptr; }),
       "column: word: dictionary is missing"},
      {"DictionaryUnexpected",
       [](ForeignBatch& batch) { batch.column(kInt).array.dictionary = &batch.column(kBlob).array; },
       "column: int: dictionary is present, but the type is int64"},
      {"DictionaryIndexTooHigh", [](ForeignBatch& batch) { batch.column(kWord).buffer<std::int8_t>(1)[1 + 3] = 3; },
       "column: word: dictionary index out of range [0, 3) at row 3: 3"},
      {"DictionaryIndexNegative", [](ForeignBatch& batch) { batch.column(kWord).buffer<std::int8_t>(1)[1] = -1; },
       "column: word: dictionary index out of range [0, 3) at row 0: -1"},
      {"DictionaryItselfMalformed", [](ForeignBatch& batch) { batch.column(kWord).dictionary->array.length = -5; },
       "column: word: invalid dictionary: length is negative: -5"},
      {"DictionaryReleased",
       [](ForeignBatch& batch) {
         auto& dictionary = batch.column(kWord).dictionary->array;
         dictionary.release(&dictionary);
       },
       "column: word: invalid dictionary: array is released"},
      {"DictionaryOffsetsDecrease",
       [](ForeignBatch& batch) { batch.column(kWord).dictionary->buffer<std::int32_t>(1)[3] = 0; },
       "column: word: invalid dictionary: offsets decrease"},
  };
}

std::vector<Malformed> malformed_structs() {
  static std::uint8_t const one_null = 0b1110'1111;
  static void const* one_null_buffers[] = {&one_null};
  return {
      {"LengthNegative", on_struct([](auto& a) { a.length = -1; }), "length is negative: -1"},
      {"OffsetNegative", on_struct([](auto& a) { a.offset = -1; }), "offset is negative: -1"},
      {"LengthPlusOffsetOverflows", on_struct([](auto& a) {
         a.length = kMax - 1;
         a.offset = kMax - 1;
       }),
       "more rows than an address space holds"},
      {"OffsetBeyondTheColumns", on_struct([](auto& a) { a.offset = 1; }),
       "column: int: fewer rows than the 6 of its parent: 5"},
      {"NullCountWithoutBitmap", on_struct([](auto& a) { a.null_count = 2; }), "validity bitmap is missing"},
      {"NullRows", on_struct([](auto& a) {
         a.buffers = one_null_buffers;
         a.null_count = 1;
       }),
       "struct array has null rows: 1"},
      {"NullRowsUncounted", on_struct([](auto& a) {
         a.buffers = one_null_buffers;
         a.null_count = -1;
       }),
       "struct array has null rows: 1"},
      {"BuffersNone", on_struct([](auto& a) { a.n_buffers = 0; }), "number of buffers is not 1: 0"},
      {"BufferListNull", on_struct([](auto& a) { a.buffers = nullptr; }), "list of buffers is null"},
      {"ChildrenTooFew", on_struct([](auto& a) { a.n_children = 3; }), "number of children is not 7: 3"},
      {"ChildrenNegative", on_struct([](auto& a) { a.n_children = -1; }), "number of children is not 7: -1"},
      {"ChildListNull", on_struct([](auto& a) { a.children = nullptr; }), "list of children is null"},
      {"Dictionary", [](ForeignBatch& batch) { batch.array()->dictionary = &batch.column(kInt).array; },
       "struct array has a dictionary"},
  };
}

std::vector<Malformed> malformed_schemas() {
  return {
      {"Released", [](ForeignBatch& batch) { batch.schema()->release(batch.schema()); }, "schema is released"},
      {"FormatNull", on_struct_schema([](auto& s) { s.format = nullptr; }), "format string of the schema is null"},
      {"NotAStruct", on_struct_schema([](auto& s) { s.format = "l"; }), "schema is not that of a struct array: 'l'"},
      {"ChildrenNegative", on_struct_schema([](auto& s) { s.n_children = -1; }), "number of columns out of range: -1"},
      {"ChildrenTooMany", on_struct_schema([](auto& s) { s.n_children = kMax; }), "number of columns out of range"},
      {"ChildListNull", on_struct_schema([](auto& s) { s.children = nullptr; }), "list of columns is null"},
      {"ColumnNull", on_struct_schema([](auto& s) { s.children[2] = nullptr; }),
       "schema is null, of the column at position: 2"},
      {"Dictionary", [](ForeignBatch& batch) { batch.schema()->dictionary = &batch.column(kInt).schema; },
       "schema of a struct array has a dictionary"},
      {"ColumnReleased", [](ForeignBatch& batch) { batch.column(kFlag).schema.release(&batch.column(kFlag).schema); },
       "column: flag: schema is released"},
      {"ColumnFormatNull", with_format(kFlag, nullptr), "column: flag: format string is null"},
      {"ColumnFormatMalformed", with_format(kInt, "ll"), "column: int: malformed Arrow format string: 'll'"},
      {"DecimalPrecision", with_format(kDecimal, "d:39,0"), "column: decimal: decimal precision out of range"},
      {"DecimalScale", with_format(kDecimal, "d:3,77"), "column: decimal: decimal scale out of range"},
      {"TimeUnit", with_format(kInt, "ttx"), "column: int: malformed Arrow format string: 'ttx'"},
      {"TimestampUnit", with_format(kInt, "tsx:UTC"), "column: int: malformed Arrow format string: 'tsx:UTC'"},
      {"DateUnit", with_format(kInt, "tdx"), "column: int: malformed Arrow format string: 'tdx'"},
      {"List", with_format(kText, "+l"), "column: text: number of children of type list is not 1: 0"},
      {"Union", with_format(kText, "+us:0,1"), "column: text: malformed Arrow format string: '+us:0,1'"},
      {"RunEndEncoded", with_format(kText, "+r"), "number of children of type run_end_encoded is not 2: 0"},
      {"ChildrenOfAFlatColumn", on_schema(kInt, [](auto& s) { s.n_children = 2; }),
       "column: int: number of children of type int64 is not 0: 2"},
      {"DictionaryIndexNotInteger", with_format(kWord, "f"),
       "column: word: dictionary indices are not integers: float32"},
      {"DictionaryOfDictionaries",
       [](ForeignBatch& batch) { batch.column(kWord).dictionary->schema.dictionary = &batch.column(kText).schema; },
       "column: word: invalid dictionary type: dictionary indices are not integers: utf8"},
      {"DictionaryValuesMalformed", [](ForeignBatch& batch) { batch.column(kWord).dictionary->schema.format = "+w:x"; },
       "column: word: invalid dictionary type: number of children of type fixed_size_list is not 1: 0"},
      {"DictionaryReleased",
       [](ForeignBatch& batch) {
         auto& dictionary = batch.column(kWord).dictionary->schema;
         dictionary.release(&dictionary);
       },
       "column: word: invalid dictionary type: schema is released"},
  };
}

class MalformedArrow : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedArrow, IsRefusedAsAnArray) {
  auto batch = sample_batch();
  GetParam().damage(batch);
  auto const table = import_arrow(batch.array(), batch.schema());
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(table.error().describe(), HasSubstr(GetParam().expected));
  EXPECT_TRUE(batch.arrays_released());
  EXPECT_TRUE(batch.schemas_released());
}

TEST_P(MalformedArrow, IsRefusedBehindAGoodBatchOfAStream) {
  auto good = sample_batch();
  auto bad = sample_batch();
  GetParam().damage(bad);
  *good.schema() = *bad.schema();
  ForeignStream foreign({&good, &bad});
  auto const table = import_arrow(&foreign.stream);
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().describe(), HasSubstr(GetParam().expected));
  EXPECT_EQ(foreign.releases, 1);
  EXPECT_TRUE(bad.schemas_released());
  // A malformed schema ends the import before any array is taken.
  auto const taken = good.array()->release == nullptr;
  EXPECT_TRUE(good.arrays_released(taken ? 1 : 0));
  EXPECT_TRUE(bad.arrays_released(taken ? 1 : 0));
}

TEST_P(MalformedArrow, IsRefusedByThreadsThatShareTheBatches) {
  auto good = sample_batch();
  auto another = sample_batch();
  auto bad = sample_batch();
  GetParam().damage(bad);
  *good.schema() = *bad.schema();
  ForeignStream foreign({&good, &another, &bad});
  oneapi::tbb::task_arena arena(3);
  auto const table = arena.execute([&] { return import_arrow(&foreign.stream); });
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().describe(), HasSubstr(GetParam().expected));
  auto const taken = good.array()->release == nullptr;
  for (auto* batch : {&good, &another, &bad}) EXPECT_TRUE(batch->arrays_released(taken ? 1 : 0));
}

// Not in the tables: behind a batch of a stream, a released array is the end of the stream.
TEST(ReleasedArrow, IsRefused) {
  auto batch = sample_batch();
  batch.array()->release(batch.array());
  auto const table = import_arrow(batch.array(), batch.schema());
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message(), "array is released");
  EXPECT_TRUE(batch.arrays_released());
  EXPECT_TRUE(batch.schemas_released());
}

TEST(ReleasedArrow, IsRefusedWhenAColumnWasMovedOut) {
  auto batch = sample_batch();
  auto moved = batch.column(kText).array;
  batch.column(kText).array.release = nullptr;
  auto const table = import_arrow(batch.array(), batch.schema());
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().describe(), "cannot import column: text: array is released");
  EXPECT_EQ(batch.root().array_releases, 1);
  EXPECT_EQ(batch.column(kText).array_releases, 0);
  moved.release(&moved);
  EXPECT_TRUE(batch.arrays_released());
}

std::string name_of(::testing::TestParamInfo<Malformed> const& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Column, MalformedArrow, ::testing::ValuesIn(malformed_columns()), name_of);
INSTANTIATE_TEST_SUITE_P(Struct, MalformedArrow, ::testing::ValuesIn(malformed_structs()), name_of);
INSTANTIATE_TEST_SUITE_P(Schema, MalformedArrow, ::testing::ValuesIn(malformed_schemas()), name_of);

}  // namespace
}  // namespace garuda
