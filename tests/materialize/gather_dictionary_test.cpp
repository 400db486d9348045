// Gathering dictionary columns: one dictionary for all batches, of what each of them had.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/materialize/gather.hpp"
#include "tests/core/column_cells.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/foreign_table.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite
using Cells = std::vector<std::optional<std::string>>;
using RowIds = std::vector<std::int64_t>;

ForeignBatch word_batch(std::vector<std::int8_t> const& indices, Cells const& words, std::vector<bool> valid = {}) {
  return ForeignBatch(foreign_dictionary(foreign_fixed<std::int8_t>("w", "c", indices, std::move(valid)),
                                         foreign_text<std::int32_t>("", "u", words)));
}

/// The result of gathering all rows of the only column, and its type.
struct Gathered {
  Batch batch;
  DataType type;

  Cells values() const { return cells(batch.columns[0], type); }
  Cells dictionary() const { return cells(*batch.columns[0].dictionary, *type.value); }
};

Gathered gather_all(ForeignTable const& source, GatherLimits limits = {}) {
  auto const gatherer =
      Gatherer::create(source.table.view(), std::vector<std::size_t>{0}, StringForm::utf8, limits).value();
  RowIds ids(static_cast<std::size_t>(source.table.num_rows()));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return {std::move(gatherer.gather(ids)->batch), gatherer.schema()[0].type};
}

TEST(GatherDictionary, KeepsASingleDictionaryAsItIs) {
  auto const source = table_of(word_batch({1, 0, 1}, {"b", "a", "a", std::nullopt}));
  auto const gathered = gather_all(source);
  EXPECT_EQ(gathered.dictionary(), (Cells{"b", "a", "a", std::nullopt}));
  EXPECT_EQ(gathered.values(), (Cells{"a", "b", "a"}));
  EXPECT_EQ(gathered.type, source.table.schema()[0].type);
}

TEST(GatherDictionary, UnifiesWhatDiffers) {
  auto const source = table_of(word_batch({0, 1}, {"a", "b"}), word_batch({}, {"unused"}),
                               word_batch({0, 1, 2, 99}, {"c", "b", std::nullopt}, {true, true, true, false}),
                               word_batch({1, 0}, {std::nullopt, "a"}), word_batch({1, 0}, {"a", "b"}));
  auto const gathered = gather_all(source);
  EXPECT_EQ(gathered.dictionary(), (Cells{"a", "b", "c", std::nullopt}));
  EXPECT_EQ(gathered.values(), (Cells{"a", "b", "c", "b", {}, {}, "a", {}, "b", "a"}));
  EXPECT_EQ(gathered.batch.columns[0].null_count, 3) << "nulls of the dictionary are nulls of the column";
  EXPECT_EQ(gathered.type.index, TypeId::int8);
}

TEST(GatherDictionary, KeepsIndicesThatNeedNoMap) {
  auto const source =
      table_of(word_batch({0, 1}, {"a", "b"}), word_batch({2, 1}, {"a", "b", "c"}), word_batch({0}, {"a"}));
  auto const gathered = gather_all(source);
  EXPECT_EQ(gathered.dictionary(), (Cells{"a", "b", "c"}));
  EXPECT_EQ(gathered.values(), (Cells{"a", "b", "c", "b", "a"}));
}

TEST(GatherDictionary, UnifiesBooleansAndNumbers) {
  auto const flags = [](std::vector<bool> const& values) {
    return ForeignBatch(
        foreign_dictionary(foreign_fixed<std::uint8_t>("w", "C", {0, 1}), foreign_booleans("", values, {}, 3)));
  };
  auto const gathered_flags = gather_all(table_of(flags({true, false}), flags({false, true})));
  EXPECT_EQ(gathered_flags.dictionary(), (Cells{"1", "0"}));
  EXPECT_EQ(gathered_flags.values(), (Cells{"1", "0", "0", "1"}));

  auto const numbers = [](std::vector<std::uint16_t> const& values) {
    return ForeignBatch(foreign_dictionary(foreign_fixed<std::int64_t>("w", "l", {1, 0}),
                                           foreign_fixed<std::uint16_t>("", "S", values)));
  };
  auto const gathered_numbers = gather_all(table_of(numbers({0x4141, 0x4242}), numbers({0x4242, 0x4343})));
  EXPECT_EQ(gathered_numbers.dictionary(), (Cells{"AA", "BB", "CC"}));
  EXPECT_EQ(gathered_numbers.values(), (Cells{"BB", "AA", "CC", "BB"}));
}

/// Batches of 100 words each, all different, so that the union has 100 × num_batches.
template <class Index>
ForeignTable many_words(std::string const& format, int num_batches) {
  ForeignTable result;
  int next = 0;
  for (int b = 0; b < num_batches; ++b) {
    Cells words;
    std::vector<Index> indices;
    for (int i = 0; i < 100; ++i) {
      words.push_back(std::to_string(next++));
      indices.push_back(static_cast<Index>(i));
    }
    result.batches.push_back(std::make_unique<ForeignBatch>(
        foreign_dictionary(foreign_fixed<Index>("w", format, indices), foreign_text<std::int32_t>("", "u", words))));
  }
  result.table = import_all(result.batches);
  return result;
}

template <class Index>
void expect_index_type(std::string const& format, int num_batches, TypeId expected) {
  auto const source = many_words<Index>(format, num_batches);
  auto const gathered = gather_all(source);
  EXPECT_EQ(gathered.type.index, expected) << format << " " << num_batches;
  EXPECT_EQ(gathered.type.value->id, TypeId::utf8);
  EXPECT_EQ(gathered.values(), cells(source.table.view(), 0));
}

TEST(GatherDictionary, WidensIndicesWhenTheUnionNeedsIt) {
  expect_index_type<std::int8_t>("c", 1, TypeId::int8);
  expect_index_type<std::int8_t>("c", 2, TypeId::int16);
  expect_index_type<std::uint8_t>("C", 2, TypeId::uint8);
  expect_index_type<std::uint8_t>("C", 3, TypeId::uint16);
  expect_index_type<std::int16_t>("s", 3, TypeId::int16);
  expect_index_type<std::int8_t>("c", 328, TypeId::int32);
  expect_index_type<std::uint16_t>("S", 656, TypeId::uint32);
}

TEST(GatherDictionary, WidensOffsetsWhenTheUnionNeedsIt) {
  auto const source = table_of(word_batch({0, 1}, {"aaa", "bb"}), word_batch({0, 1}, {"cccc", "bb"}));
  auto const within = gather_all(source, {.max_offset_32 = 9});
  EXPECT_EQ(within.type.value->id, TypeId::utf8);
  auto const beyond = gather_all(source, {.max_offset_32 = 8});
  EXPECT_EQ(beyond.type.value->id, TypeId::large_utf8);
  for (auto const* gathered : {&within, &beyond}) {
    EXPECT_EQ(gathered->dictionary(), (Cells{"aaa", "bb", "cccc"}));
    EXPECT_EQ(gathered->values(), (Cells{"aaa", "bb", "cccc", "bb"}));
  }
}

TEST(GatherDictionary, IsKeptWithoutRows) {
  auto const source = table_of(word_batch({}, {"a"}));
  auto const gatherer = Gatherer::create(source.table.view(), std::vector<std::size_t>{0}).value();
  for (auto const& ids : {RowIds{}, RowIds{-1, -1}}) {
    auto const result = gatherer.gather(ids).value();
    ASSERT_NE(result.batch.columns[0].dictionary, nullptr);
    EXPECT_EQ(result.batch.columns[0].dictionary->length, 1);
    EXPECT_EQ(cells(result.batch.columns[0], gatherer.schema()[0].type), Cells(ids.size()));
  }
}

}  // namespace
}  // namespace garuda
