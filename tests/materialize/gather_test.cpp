#include "operators/materialize/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "operators/materialize/gather_rows.hpp"
#include "tests/core/column_cells.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/foreign_table.hpp"
#include "tests/test_run.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite
using Cells = std::vector<std::optional<std::string>>;
using RowIds = std::vector<std::int64_t>;

constexpr std::uint64_t kSeed = 20'250'612;

enum class Nulls { none, some, all };

std::vector<bool> random_validity(std::mt19937_64& random, std::size_t size, Nulls nulls) {
  std::vector<bool> valid;
  if (nulls == Nulls::none) return valid;
  for (std::size_t i = 0; i < size; ++i) valid.push_back(nulls == Nulls::some && random() % 4 != 0);
  return valid;
}

template <class T>
ForeignColumn random_fixed(std::mt19937_64& random, std::string format, std::size_t size, Nulls nulls,
                           std::int64_t offset) {
  std::vector<T> values(size);
  for (auto& value : values) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(&value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<std::uint8_t>(random());
  }
  return foreign_fixed<T>(format, format, values, random_validity(random, size, nulls), offset);
}

Cells random_text(std::mt19937_64& random, std::size_t size, Nulls nulls, std::size_t max_length) {
  Cells values;
  for (auto i = size; i > 0; --i) {
    std::string text(random() % (max_length + 1), 'a');
    for (auto& letter : text) letter = static_cast<char>('a' + random() % 26);
    auto const is_null = nulls == Nulls::all || (nulls == Nulls::some && random() % 4 == 0);
    values.push_back(is_null ? std::nullopt : std::optional(text));
  }
  return values;
}

/// Column types of random_batch: every width, booleans, all variable-width types, dictionaries.
ForeignBatch random_batch(std::mt19937_64& random, std::size_t size, Nulls nulls, std::int64_t offset) {
  auto const text = [&](std::size_t length) { return random_text(random, size, nulls, length); };
  std::vector<bool> flags(size);
  for (std::size_t i = 0; i < size; ++i) flags[i] = random() % 2 == 0;
  auto const entries = 1 + random() % 9;
  std::vector<std::int16_t> indices(size);
  for (auto& index : indices) index = static_cast<std::int16_t>(random() % entries);
  auto words = random_text(random, entries, Nulls::none, 2);
  if (nulls == Nulls::some) words.back() = std::nullopt;
  return ForeignBatch(
      random_fixed<std::int8_t>(random, "c", size, nulls, offset),
      random_fixed<std::uint16_t>(random, "S", size, nulls, offset + 1),
      random_fixed<std::int32_t>(random, "i", size, nulls, offset),
      random_fixed<std::int64_t>(random, "l", size, nulls, offset),
      random_fixed<std::array<std::int64_t, 2>>(random, "d:30,4", size, nulls, offset),
      random_fixed<std::array<char, 3>>(random, "w:3", size, nulls, offset),
      random_fixed<std::array<char, 37>>(random, "w:37", size, nulls, offset),
      foreign_booleans("b", flags, random_validity(random, size, nulls), offset),
      foreign_text<std::int32_t>("u", "u", text(20), offset), foreign_text<std::int32_t>("z", "z", text(3), offset),
      foreign_text<std::int64_t>("U", "U", text(9), offset), foreign_text<std::int64_t>("Z", "Z", text(0), offset),
      foreign_dictionary(
          foreign_fixed<std::int16_t>("word", "s", indices, random_validity(random, size, nulls), offset),
          foreign_text<std::int32_t>("", "u", words, offset % 3)),
      foreign_dictionary(
          foreign_fixed<std::int16_t>("number", "s", indices, random_validity(random, size, nulls), offset),
          random_fixed<std::int64_t>(random, "l", entries, nulls, 1)));
}

ForeignTable random_table(std::mt19937_64& random, std::vector<std::size_t> const& sizes, Nulls nulls) {
  ForeignTable result;
  for (auto const size : sizes) {
    result.batches.push_back(
        std::make_unique<ForeignBatch>(random_batch(random, size, nulls, static_cast<std::int64_t>(random() % 20))));
  }
  result.table = import_all(result.batches);
  return result;
}

std::vector<std::size_t> all_columns(TableView const& table) {
  std::vector<std::size_t> columns(table.num_columns());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

template <class RowId>
Cells expected_cells(Cells const& source, std::vector<RowId> const& ids) {
  Cells expected;
  for (auto const id : ids) {
    expected.push_back(std::int64_t{id} < 0 ? std::nullopt : source[static_cast<std::size_t>(id)]);
  }
  return expected;
}

/// Checks what a consumer may rely on, besides the values.
void expect_well_formed(Batch const& batch, Schema const& schema) {
  ASSERT_EQ(batch.columns.size(), schema.size());
  for (std::size_t c = 0; c < schema.size(); ++c) {
    auto const& column = batch.columns[c];
    EXPECT_EQ(column.length, batch.num_rows);
    EXPECT_EQ(column.offset, 0);
    EXPECT_EQ(column.validity != nullptr, column.null_count > 0) << schema[c].name;
    for (auto const* buffer : {column.values, column.offsets, static_cast<void const*>(column.validity)}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 4'096, 0U);
    }
    auto uncounted = column;
    uncounted.null_count = -1;
    EXPECT_EQ(count_nulls(uncounted), column.null_count);
    EXPECT_EQ(column.offsets != nullptr, is_variable_width(schema[c].type));
  }
}

/// Gathers `ids` with all columns and compares every value; the source table is gone by then.
template <class RowId>
void expect_gathered(ForeignTable source, std::vector<RowId> const& ids, GatherLimits limits = {}) {
  std::vector<Cells> expected;
  for (auto const c : all_columns(source.table.view())) {
    expected.push_back(expected_cells(cells(source.table.view(), c), ids));
  }
  auto const source_schema = source.table.schema();
  std::vector<Cells> gathered(expected.size());
  std::vector<Batch> batches;
  Schema schema;
  {
    auto const gatherer =
        Gatherer::create(source.table.view(), all_columns(source.table.view()), StringForm::utf8, limits);
    ASSERT_TRUE(gatherer) << gatherer.error().describe();
    schema = gatherer->schema();
    std::span<RowId const> rest(ids);
    do {
      auto result = gatherer->gather(rest);
      ASSERT_TRUE(result) << result.error().describe();
      ASSERT_EQ(result->batch.num_rows, result->rows_taken);
      ASSERT_GT(result->rows_taken, rest.empty() ? -1 : 0);
      rest = rest.subspan(static_cast<std::size_t>(result->rows_taken));
      batches.push_back(std::move(result->batch));
    } while (!rest.empty());
  }
  source.table = Table();
  for (auto const& foreign : source.batches) ASSERT_TRUE(foreign->arrays_released());
  for (auto const& batch : batches) {
    expect_well_formed(batch, schema);
    for (std::size_t c = 0; c < schema.size(); ++c) {
      for (auto& value : cells(batch.columns[c], schema[c].type)) gathered[c].push_back(std::move(value));
    }
  }
  for (std::size_t c = 0; c < schema.size(); ++c) {
    EXPECT_EQ(schema[c].name, source_schema[c].name);
    EXPECT_EQ(gathered[c], expected[c]) << schema[c].name << " " << to_string(schema[c].type);
  }
}

RowIds random_ids(std::mt19937_64& random, std::size_t count, std::size_t num_rows, bool with_null_rows) {
  RowIds ids(count);
  for (auto& id : ids) {
    id = num_rows == 0 || (with_null_rows && random() % 5 == 0) ? -1 : static_cast<std::int64_t>(random() % num_rows);
  }
  return ids;
}

struct Shape {
  std::vector<std::size_t> batch_sizes;
  std::size_t num_ids;
};

class GatherShapes : public ::testing::TestWithParam<std::tuple<Shape, Nulls, bool>> {};

TEST_P(GatherShapes, GathersEveryType) {
  auto const& [shape, nulls, with_null_rows] = GetParam();
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  auto const num_rows = std::accumulate(shape.batch_sizes.begin(), shape.batch_sizes.end(), std::size_t{0});
  auto const ids = random_ids(random, shape.num_ids, num_rows, with_null_rows);
  expect_gathered(random_table(random, shape.batch_sizes, nulls), ids);
}

INSTANTIATE_TEST_SUITE_P(
    All, GatherShapes,
    ::testing::Combine(::testing::Values(Shape{{0}, 0}, Shape{{0}, 9}, Shape{{1}, 0}, Shape{{1}, 1}, Shape{{5}, 63},
                                         Shape{{70}, 64}, Shape{{257}, 65}, Shape{{0, 0}, 3}, Shape{{0, 8, 0}, 20},
                                         Shape{{3, 1, 0, 250, 2, 1}, 257},
                                         Shape{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 90}, 300}),
                       ::testing::Values(Nulls::none, Nulls::some, Nulls::all), ::testing::Bool()));

TEST(Gather, SpansSeveralBlocks) {
  std::mt19937_64 random(kSeed);
  for (auto const count : {kGatherBlockRows - 1, kGatherBlockRows, kGatherBlockRows + 1, 2 * kGatherBlockRows + 77}) {
    auto const ids = random_ids(random, static_cast<std::size_t>(count), 200, true);
    expect_gathered(random_table(random, {100, 100}, Nulls::some), ids);
  }
}

TEST(Gather, TakesUnsignedRowIds) {
  std::mt19937_64 random(kSeed);
  for (auto const& sizes : {std::vector<std::size_t>{90}, std::vector<std::size_t>{40, 0, 50}}) {
    std::vector<std::uint32_t> ids(500);
    for (auto& id : ids) id = static_cast<std::uint32_t>(random() % 90);
    expect_gathered(random_table(random, sizes, Nulls::some), ids);
  }
}

/// Most rows of a table in order, as a join leaves them: runs that end with blocks, batches and the table.
TEST(Gather, CopiesRunsOfRows) {
  std::mt19937_64 random(kSeed);
  std::uint64_t turn = 0;
  for (auto const nulls : {Nulls::none, Nulls::some})
    for (std::size_t const gap : {3, 5, 40, 1'000'000}) {
      ++turn;
      if (testing::is_bounded() ? !testing::takes_host_case(turn) : !testing::takes_every_second(turn / 3)) continue;
      std::vector<std::uint32_t> ids;
      for (std::uint32_t row = 0; row < 30'000; ++row)
        if (random() % gap != 0 || row + 1 == 30'000) ids.push_back(row);
      for (std::uint32_t row = 0; row < 70; ++row) ids.push_back(29'930 + row);
      for (auto const& limits : {GatherLimits{}, GatherLimits{.max_offset_32 = 70'000}}) {
        expect_gathered(random_table(random, {17'000, 12'000, 1'000}, nulls), ids, limits);
        RowIds wide(ids.begin(), ids.end());
        if (gap == 40) wide[20'000] = -1;
        expect_gathered(random_table(random, {30'000}, nulls), wide, limits);
      }
    }
}

TEST(Gather, RepeatsAndReordersColumns) {
  std::mt19937_64 random(kSeed);
  auto const source = random_table(random, {20}, Nulls::some);
  auto const text = find_column(source.table.schema(), "u").value();
  std::vector<std::size_t> const columns{text, 0, text};
  auto const gatherer = Gatherer::create(source.table.view(), columns).value();
  auto const result = gatherer.gather(RowIds{7, 3}).value();
  ASSERT_EQ(gatherer.schema().size(), 3U);
  EXPECT_EQ(gatherer.schema()[2].name, "u");
  auto const expected = expected_cells(cells(source.table.view(), text), RowIds{7, 3});
  EXPECT_EQ(cells(result.batch.columns[0], gatherer.schema()[0].type), expected);
  EXPECT_EQ(cells(result.batch.columns[2], gatherer.schema()[2].type), expected);
}

TEST(Gather, HasNoBitmapWhenNoRowTakenIsNull) {
  auto const source = table_of(ForeignBatch(foreign_fixed<std::int32_t>("k", "i", {1, 2, 3}, {true, false, true}),
                                            foreign_text<std::int32_t>("s", "u", Cells{"x", std::nullopt, "z"})));
  auto const gatherer = Gatherer::create(source.table.view(), all_columns(source.table.view())).value();
  auto const without = gatherer.gather(RowIds{2, 0}).value();
  expect_well_formed(without.batch, gatherer.schema());
  for (auto const& column : without.batch.columns) EXPECT_EQ(column.validity, nullptr);
  auto const with = gatherer.gather(RowIds{2, 1}).value();
  expect_well_formed(with.batch, gatherer.schema());
  for (auto const& column : with.batch.columns) EXPECT_EQ(column.null_count, 1);
}

TEST(Gather, LeavesOutTheBytesBehindNulls) {
  ForeignBatch foreign(foreign_text<std::int32_t>("s", "u", Cells{"x", "hidden", "z"}));
  std::uint8_t const validity = 0b101;
  foreign.column(0).buffers[0] = &validity;
  foreign.column(0).array.null_count = 1;
  auto const table = import_arrow(foreign.array(), foreign.schema()).value();
  auto const gatherer = Gatherer::create(table.view(), all_columns(table.view())).value();
  auto const result = gatherer.gather(RowIds{0, 1, 2}).value();
  auto const& column = result.batch.columns[0];
  auto const* offsets = static_cast<std::int32_t const*>(column.offsets);
  EXPECT_EQ(std::vector<std::int32_t>(offsets, offsets + 4), (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(cells(column, gatherer.schema()[0].type), (Cells{"x", std::nullopt, "z"}));
}

TEST(Gather, CountsRowsWithoutColumns) {
  auto const source = table_of(ForeignBatch(foreign_fixed<std::int32_t>("k", "i", {1, 2, 3})));
  auto const result = Gatherer::create(source.table.view(), {})->gather(RowIds{2, 2, -1, 0}).value();
  EXPECT_EQ(result.rows_taken, 4);
  EXPECT_EQ(result.batch.num_rows, 4);
  EXPECT_TRUE(result.batch.columns.empty());
}

TEST(Gather, RefusesRowIdsOutOfRange) {
  auto const source = table_of(ForeignBatch(foreign_fixed<std::int32_t>("k", "i", {1, 2, 3})));
  auto const gatherer = Gatherer::create(source.table.view(), all_columns(source.table.view())).value();
  EXPECT_THROW((void)gatherer.gather(RowIds{0, 3}), LogicError);
  EXPECT_THROW((void)gatherer.gather(RowIds{-2}), LogicError);
  EXPECT_THROW((void)gatherer.gather(std::vector<std::uint32_t>{0xFFFF'FFFF}), LogicError);
  EXPECT_THROW((void)Gatherer::create(source.table.view(), std::vector<std::size_t>{1}), LogicError);
}

TEST(Gather, IsSafeFromSeveralThreads) {
  std::mt19937_64 random(kSeed);
  auto const source = random_table(random, {60, 60}, Nulls::some);
  auto const gatherer = Gatherer::create(source.table.view(), all_columns(source.table.view())).value();
  auto const ids = random_ids(random, 400, 120, true);
  std::vector<Cells> expected;
  for (auto const c : all_columns(source.table.view())) {
    expected.push_back(expected_cells(cells(source.table.view(), c), ids));
  }
  std::vector<Batch> batches(16);
  tbb::parallel_for(std::size_t{0}, batches.size(),
                    [&](std::size_t i) { batches[i] = std::move(gatherer.gather(ids)->batch); });
  for (auto const& batch : batches) {
    for (std::size_t c = 0; c < expected.size(); ++c) {
      EXPECT_EQ(cells(batch.columns[c], gatherer.schema()[c].type), expected[c]);
    }
  }
}

// --- limits
// -----------------------------------------------------------------------------------------------------------

std::vector<std::int64_t> rows_taken(TableView const& table, RowIds const& ids, GatherLimits limits) {
  auto const gatherer = Gatherer::create(table, all_columns(table), StringForm::utf8, limits).value();
  std::vector<std::int64_t> taken;
  for (std::span<std::int64_t const> rest(ids); !rest.empty();) {
    taken.push_back(gatherer.gather(rest)->rows_taken);
    rest = rest.subspan(static_cast<std::size_t>(taken.back()));
  }
  return taken;
}

TEST(GatherLimit, CutsWhereOffsetsWouldOverflow) {
  using ::testing::ElementsAre;
  auto const source = table_of(
      ForeignBatch(foreign_text<std::int32_t>("s", "u", Cells{"", "1", "22", "333", "4444", "55555", std::nullopt})));
  auto const taken = [&](RowIds const& ids, std::int64_t max_offset) {
    return rows_taken(source.table.view(), ids, {.max_offset_32 = max_offset});
  };
  EXPECT_THAT(taken({2, 2, 1, 2, 3, 1}, 5), ElementsAre(3, 2, 1));
  EXPECT_THAT(taken({5, 5, 5}, 5), ElementsAre(1, 1, 1));
  EXPECT_THAT(taken({5, 0, -1, 6, 1}, 5), ElementsAre(4, 1));
  EXPECT_THAT(taken({5, 5}, 10), ElementsAre(2));
  EXPECT_THAT(taken({5, 1, 0}, 4), ElementsAre(1, 2)) << "a row that is too long alone is taken alone";
  EXPECT_THAT(taken({0, 0, -1, 6}, 0), ElementsAre(4));
}

TEST(GatherLimit, TheTightestColumnDecides) {
  using ::testing::ElementsAre;
  auto const source = table_of(ForeignBatch(foreign_text<std::int32_t>("a", "u", Cells{"1", "22", "333"}),
                                            foreign_text<std::int32_t>("b", "z", Cells{"1", "4444", "1"}),
                                            foreign_text<std::int64_t>("c", "U", Cells{"1", "999999999", "1"})));
  EXPECT_THAT(rows_taken(source.table.view(), {0, 1, 2, 2}, {.max_offset_32 = 5}), ElementsAre(2, 1, 1));
  EXPECT_THAT(rows_taken(source.table.view(), {0, 1, 2, 2}, {.max_offset_32 = 9}), ElementsAre(4));
  EXPECT_THAT(rows_taken(source.table.view(), {0, 1, 2, 2}, {.max_variable_bytes = 9}), ElementsAre(1, 1, 2));
}

TEST(GatherLimit, KeepsEveryValueOverManyCuts) {
  std::mt19937_64 random(kSeed);
  auto const ids = random_ids(random, 2 * kGatherBlockRows + 99, 120, true);
  expect_gathered(random_table(random, {60, 60}, Nulls::some), ids, {.max_offset_32 = 50'000});
  expect_gathered(random_table(random, {60, 60}, Nulls::some), ids, {.max_offset_32 = 1 << 17});
  expect_gathered(random_table(random, {120}, Nulls::some), ids, {.max_variable_bytes = 40'000});
}

// --- batches
// ----------------------------------------------------------------------------------------------------------

TEST(BatchIndex, FindsTheBatchOfEveryRow) {
  std::vector<std::vector<std::int64_t>> const shapes{
      {1, 1}, {1, 1, 1, 1, 1}, {1'000, 1}, {1, 1'000}, {1, 1, 1, 5'000, 1, 1, 1}, {7, 300, 2, 64, 64, 64, 1}};
  for (auto const& sizes : shapes) {
    std::vector<std::int64_t> first_rows{0};
    for (auto const size : sizes) first_rows.push_back(first_rows.back() + size);
    BatchIndex const index(first_rows);
    std::uint32_t expected = 0;
    for (std::int64_t row = 0; row < first_rows.back(); ++row) {
      if (row == first_rows[expected + 1]) ++expected;
      ASSERT_EQ(index.batch_of(row), expected) << row;
    }
  }
}

}  // namespace
}  // namespace garuda
