#include "operators/materialize/spill_space.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/nested/nested_layout.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"

namespace garuda::materialize {
namespace {

using reference::typed;
using Texts = std::vector<std::optional<std::string>>;

os::TemporaryFolder folder() { return os::TemporaryFolder(std::filesystem::temp_directory_path()); }

/// A column of each layout, of `rows` rows behind `offset` others, every third one null.
Table every_layout(std::int64_t rows, std::int64_t offset) {
  Texts texts;
  std::vector<std::optional<std::int64_t>> wide;
  std::vector<std::optional<std::int8_t>> narrow;
  std::vector<std::optional<bool>> flags;
  std::vector<std::optional<reference::Decimal128>> decimals;
  std::vector<std::optional<std::int32_t>> codes;
  for (std::int64_t i = 0; i < rows; ++i) {
    bool const is_null = i % 3 == 2;
    texts.push_back(is_null ? std::nullopt : std::optional(std::string(static_cast<std::size_t>(i % 29), 'x') + "ü"));
    wide.push_back(is_null ? std::nullopt : std::optional(std::numeric_limits<std::int64_t>::min() + i));
    narrow.push_back(is_null ? std::nullopt : std::optional(static_cast<std::int8_t>(i)));
    flags.push_back(is_null ? std::nullopt : std::optional(i % 2 == 0));
    decimals.push_back(is_null ? std::nullopt : std::optional(reference::Decimal128{std::uint64_t(i), -i}));
    codes.push_back(is_null ? std::nullopt : std::optional(static_cast<std::int32_t>(i % 2)));
  }
  auto const words = reference::make_strings(Texts{"one", "a word that no view holds"}, TypeId::utf8);
  std::vector<reference::Column> columns{reference::make_column(typed(TypeId::int64), wide, offset),
                                         reference::make_column(typed(TypeId::int8), narrow, offset),
                                         reference::make_booleans(flags),
                                         reference::make_column({TypeId::decimal128, {}, 38, 2}, decimals, offset),
                                         reference::make_dictionary(codes, words)};
  for (auto const id : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view, TypeId::binary, TypeId::binary_view})
    columns.push_back(reference::make_strings(texts, id));
  Schema schema;
  for (auto const& column : columns) schema.push_back({"c" + std::to_string(schema.size()), column.type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return {std::move(schema), std::move(batches)};
}

std::vector<std::vector<reference::Cell>> rows_of(Table const& table) {
  return reference::read_table(table.view()).rows;
}

Table kept(SpillSpace& space, Table const& table, std::int64_t begin, std::int64_t length) {
  Batch part{length, {}, table.batches().front().owner};
  for (auto const& column : table.batches().front().columns) part.columns.push_back(slice(column, begin, length));
  std::vector<Batch> batches;
  batches.push_back(garuda::testing::value_of(space.keep(table.view().schema(), std::move(part))));
  return {table.view().schema(), std::move(batches)};
}

TEST(SpillSpaces, EveryLayoutComesBackFromAFile) {
  for (std::int64_t const rows : {0, 1, 7, 8, 9, 1'023, 1'024, 1'025})
    for (std::int64_t const offset : {0, 3}) {
      auto const table = every_layout(rows, offset);
      auto const wanted = rows_of(table);
      for (std::int64_t const begin : {0, 1, 5, 8}) {
        if (begin > rows) continue;
        std::optional<Table> found;
        {
          SpillSpace space(folder(), 0);
          found = kept(space, table, begin, rows - begin);
          EXPECT_EQ(space.spilled_bytes() > 0, rows > begin);
        }
        auto const rest = std::vector(wanted.begin() + begin, wanted.end());
        EXPECT_EQ(rows_of(*found), rest) << rows << " rows from " << begin;
      }
    }
}

TEST(SpillSpaces, BatchesStayInMemoryWithinTheShare) {
  auto const table = every_layout(1'000, 0);
  auto const bytes = bytes_of_rows(table.view());
  SpillSpace space(folder(), bytes + bytes / 2);
  {
    auto const first = kept(space, table, 0, 1'000);
    EXPECT_EQ(space.spilled_bytes(), 0U);
    auto const second = kept(space, table, 0, 1'000);
    auto const spilled = space.spilled_bytes();
    EXPECT_GT(spilled, bytes / 2);
    EXPECT_EQ(rows_of(first), rows_of(second));
  }
  auto const before = space.spilled_bytes();
  auto const third = kept(space, table, 0, 1'000);
  EXPECT_EQ(space.spilled_bytes(), before);  // the memory of the first one is free
}

TEST(SpillSpaces, SharedColumnsStayWhereTheyAre) {
  auto const table = every_layout(100, 0);
  SpillSpace space(folder(), 0);
  std::vector<KeptColumn> columns;
  for (auto const& column : table.batches().front().columns)
    columns.push_back({column, table.batches().front().owner, !columns.empty()});
  auto const batch = garuda::testing::value_of(space.keep(table.view().schema(), 100, std::move(columns)));
  EXPECT_NE(batch.columns[0].values, table.batches().front().columns[0].values);
  EXPECT_EQ(batch.columns[1].values, table.batches().front().columns[1].values);
}

TEST(SpillSpaces, OneDictionaryIsWrittenOnce) {
  auto const table = every_layout(100, 0);
  SpillSpace space(folder(), 0);
  auto const first = kept(space, table, 0, 50);
  auto const second = kept(space, table, 50, 50);
  EXPECT_EQ(first.batches().front().columns[4].dictionary, second.batches().front().columns[4].dictionary);
}

TEST(SpillSpaces, FoldersThatAreMissingAreNamed) {
  auto const table = every_layout(10, 0);
  SpillSpace space(os::TemporaryFolder("/nonexistent/folder"), 0);
  auto const failed = space.keep(table.view().schema(), Batch(table.batches().front()));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), ErrorCode::output);
  EXPECT_NE(failed.error().describe().find("cannot spill to /nonexistent/folder"), std::string::npos);
}

TEST(SpillSpaces, NestedColumnsAreRefused) {
  Field const field{"list", list_of(typed(TypeId::int64)), true};
  SpillSpace space(folder(), 0);
  std::vector<ArrayView> columns{{.length = 5}};
  auto const failed = space.keep({field}, Batch{5, std::move(columns), {}});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), ErrorCode::limit_exceeded);
  EXPECT_NE(failed.error().describe().find("list<item: int64>"), std::string::npos) << failed.error().describe();
}

}  // namespace
}  // namespace garuda::materialize
