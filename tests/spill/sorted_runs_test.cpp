// External sorting: whatever the runs and the memory, all rows come back in order.
#include "spill/sorted_runs.hpp"

#include <arrow/array/array_nested.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/test_run.hpp"
#include "tests/unwrap.hpp"

namespace garuda::spill {
namespace {

using testing::succeed;
using testing::value_of;

struct Row {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> second;
  std::string text;

  RowOrder order() const {
    return {first ? static_cast<std::uint64_t>(*first) : ~std::uint64_t{0},
            second ? static_cast<std::uint64_t>(*second) : 0};
  }
  friend bool operator==(Row const&, Row const&) = default;
};

std::shared_ptr<arrow::Schema> schema() {
  return arrow::schema({arrow::field("text", arrow::utf8()), arrow::field("first", arrow::int64()),
                        arrow::field("second", arrow::int64())});
}

std::shared_ptr<arrow::RecordBatch> batch_of(std::vector<Row> const& rows, std::size_t begin, std::size_t end) {
  arrow::StringBuilder text;
  arrow::Int64Builder first;
  arrow::Int64Builder second;
  for (auto i = begin; i < end; ++i) {
    EXPECT_TRUE(text.Append(rows[i].text).ok());
    EXPECT_TRUE((rows[i].first ? first.Append(*rows[i].first) : first.AppendNull()).ok());
    EXPECT_TRUE((rows[i].second ? second.Append(*rows[i].second) : second.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(
      schema(), static_cast<std::int64_t>(end - begin),
      {text.Finish().ValueOrDie(), first.Finish().ValueOrDie(), second.Finish().ValueOrDie()});
}

/// Pairs of row numbers, each once: some left rows alone, then right rows alone.
std::vector<Row> random_rows(std::size_t count, std::mt19937_64& random) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    Row row;
    auto const number = static_cast<std::int64_t>(i);
    if (i % 10 != 9) row.first = number / 3;
    if (i % 10 != 8 || row.first == std::nullopt) row.second = number;
    row.text = std::string(random() % 40, static_cast<char>('a' + random() % 26));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Deals `rows` out to runs, writes them in batches and reads all back.
std::map<std::string, std::uint64_t> check(std::vector<Row> const& rows, std::size_t num_runs, std::size_t batch_rows,
                                           std::uint64_t limit_bytes, std::mt19937_64& random) {
  TemporaryFolder const folder(std::filesystem::temp_directory_path());
  Control const control;
  run::RunRecorder recorder;
  SortedRuns sorted(schema(), {1, 2}, limit_bytes, folder, control, recorder);
  std::vector<std::vector<Row>> runs(num_runs);
  for (auto const& row : rows) runs[random() % num_runs].push_back(row);
  for (auto& run : runs) {
    std::ranges::sort(run, {}, &Row::order);
    for (std::size_t begin = 0; begin < run.size(); begin += batch_rows)
      succeed(sorted.add(batch_of(run, begin, std::min(run.size(), begin + batch_rows))));
  }
  succeed(sorted.finish());
  std::vector<Row> back;
  while (auto const batch = value_of(sorted.next())) {
    auto const& text = static_cast<arrow::StringArray const&>(*batch->column(0));
    auto const number = [&](int column, std::int64_t i) {
      auto const& array = static_cast<arrow::Int64Array const&>(*batch->column(column));
      return array.IsNull(i) ? std::nullopt : std::optional(array.Value(i));
    };
    for (std::int64_t i = 0; i < batch->num_rows(); ++i)
      back.push_back({number(1, i), number(2, i), text.GetString(i)});
  }
  auto expected = rows;
  std::ranges::sort(expected, {}, &Row::order);
  EXPECT_TRUE(back == expected);
  std::map<std::string, std::uint64_t> counters;
  for (auto const& [name, value] : recorder.counters()) counters[name] = value;
  return counters;
}

TEST(SortedRuns, AnyNumberOfRunsInAnyMemory) {
  std::uint64_t turn = 0;
  std::mt19937_64 random(7);
  for (std::size_t const runs : {1, 2, 3, 4, 5, 17, 70, 300})
    for (std::uint64_t const limit : {1U, 4096U, 1U << 20})
      for (std::size_t const batch : {1, 7, 1000}) {
        if (!testing::takes_host_case(turn++)) continue;
        SCOPED_TRACE(std::to_string(runs) + " runs, " + std::to_string(limit) + " bytes, batches of " +
                     std::to_string(batch));
        auto const count = limit == 1 || batch == 1 ? 300U : 3000U;
        check(random_rows(count, random), runs, batch, limit, random);
      }
}

TEST(SortedRuns, RowsInOrderAreOneRun) {
  std::mt19937_64 random(8);
  auto counters = check(random_rows(1000, random), 1, 50, 1 << 16, random);
  EXPECT_EQ(counters["sorted_runs"], 1U);
}

TEST(SortedRuns, NoRows) {
  std::mt19937_64 random(9);
  check({}, 3, 10, 1 << 16, random);
}

TEST(SortedRuns, AFolderThatIsMissingIsNamed) {
  TemporaryFolder const folder(std::filesystem::path("/nonexistent/folder"));
  Control const control;
  run::RunRecorder recorder;
  SortedRuns sorted(schema(), {1, 2}, 1 << 16, folder, control, recorder);
  auto const added = sorted.add(batch_of({Row{1, 2, "x"}}, 0, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), ErrorCode::output);
  EXPECT_NE(added.error().describe().find("cannot spill to /nonexistent/folder"), std::string::npos);
}

TEST(SortedRuns, ACancelledRunStops) {
  TemporaryFolder const folder(std::filesystem::temp_directory_path());
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  run::RunRecorder recorder;
  SortedRuns sorted(schema(), {1, 2}, 1 << 16, folder, control, recorder);
  auto const added = sorted.add(batch_of({Row{1, 2, "x"}}, 0, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), ErrorCode::cancelled);
}

TEST(SpillFile, HoldsSlicesOfUnions) {
  constexpr std::int64_t kRows = 1'741;  // 1 792 bytes of types: no multiple of 64 behind the last slice
  arrow::Int8Builder types;
  arrow::Int64Builder longs;
  arrow::Int32Builder shorts;
  for (std::int64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(types.Append(static_cast<std::int8_t>(i % 2)).ok());
    ASSERT_TRUE(longs.Append(i).ok());
    ASSERT_TRUE(shorts.Append(static_cast<std::int32_t>(-i)).ok());
  }
  auto const column = arrow::SparseUnionArray::Make(*types.Finish().ValueOrDie(),
                                                    {longs.Finish().ValueOrDie(), shorts.Finish().ValueOrDie()})
                          .ValueOrDie();
  auto const rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("u", column->type())}), kRows, {column});
  TemporaryFolder const folder(std::filesystem::temp_directory_path());
  SpillFile file(folder, rows->schema());
  std::vector<std::int64_t> const cuts{0, 640, 1'141, kRows};
  for (std::size_t i = 1; i < cuts.size(); ++i) succeed(file.write(*rows->Slice(cuts[i - 1], cuts[i] - cuts[i - 1])));
  succeed(file.finish());
  auto const next = value_of(file.read());
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    auto const batch = value_of(next());
    ASSERT_NE(batch, nullptr);
    EXPECT_TRUE(batch->Equals(*rows->Slice(cuts[i - 1], cuts[i] - cuts[i - 1])));
  }
}

}  // namespace
}  // namespace garuda::spill
