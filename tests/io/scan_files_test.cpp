// Queries over files: they give the rows of the tables in the files, and read the columns and row groups that they
// need.
#include "io/scan_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "garuda/engine.hpp"
#include "tests/io/arrow_tables.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary

constexpr std::int64_t kRows = 5'000;

/// id ascends; text is one of a few strings; price has nulls.
Table orders() {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  arrow::DoubleBuilder prices;
  for (std::int64_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(ids.Append(i).ok() && texts.Append("customer " + std::to_string(i % 7)).ok());
    EXPECT_TRUE((i % 11 == 0 ? prices.AppendNull() : prices.Append(static_cast<double>(i) / 4)).ok());
  }
  return to_garuda({batch({{"id", ids.Finish().ValueOrDie()},
                           {"text", texts.Finish().ValueOrDie()},
                           {"price", prices.Finish().ValueOrDie()}})});
}

class ScanFiles : public ::testing::Test {
 protected:
  ScanFiles() : table_(orders()) {
    WriteOptions options;
    options.row_group_rows = 1'000;
    for (auto const* const name : {"orders.parquet", "orders.arrow", "orders.csv"})
      EXPECT_TRUE(write_table(folder_ / name, table_, options));
  }

  static Engine& engine() {
    static auto engine = Engine::create().value();
    return engine;
  }

  ScannedTable scan(std::string const& name) const { return scan_files((folder_ / name).string()).value(); }

  static Query sums(ScannedTable table) {
    return Query::scan(std::move(table))
        .filter(call("gte", {column("id"), literal(std::int64_t{4'200})}))
        .group_by({{"text", column("text")}},
                  {{"total", AggregateFunction::sum, {column("price")}}, {"n", AggregateFunction::count, {}}})
        .sort({{column("text")}});
  }

  static std::optional<std::uint64_t> counter(QueryResult const& result, std::string const& name) {
    for (auto const& [known, value] : result.stats().counters)
      if (known == name) return value;
    return std::nullopt;
  }

  static std::string rows_of(Query const& query, QueryOptions const& options = {}) {
    auto const result = engine().run(query, options);
    if (!result) return result.error().describe();
    auto const table = collect(**result);
    return table ? to_arrow(*table)->ToString() : table.error().describe();
  }

  TemporaryFolder folder_;
  Table table_;
};

TEST_F(ScanFiles, RowsAreThoseOfTheTable) {
  auto const wanted = rows_of(sums(table_.view()));
  EXPECT_NE(wanted.find("customer 6"), std::string::npos) << wanted;
  for (auto const* const name : {"orders.parquet", "orders.arrow", "orders.csv", "*.parquet"})
    EXPECT_EQ(rows_of(sums(scan(name))), wanted) << name;
  QueryOptions limited;
  limited.memory_limit_bytes = 200'000;
  limited.temp_folder = folder_.path();
  EXPECT_EQ(rows_of(sums(scan("orders.parquet")), limited), wanted);
  EXPECT_EQ(rows_of(Query::scan(scan("orders.parquet"))), rows_of(Query::scan(table_.view())));
}

TEST_F(ScanFiles, ReadsColumnsAndRowGroupsThatAreNeeded) {
  auto const result = engine().run(sums(scan("orders.parquet")), {}).value();
  ASSERT_TRUE(collect(*result));
  EXPECT_EQ(counter(*result, "row_groups_read"), 1U);
  EXPECT_EQ(counter(*result, "row_groups"), 5U);
  EXPECT_NE(to_string(result->plan()).find("1 of 5 row groups"), std::string::npos);
  auto const narrow = engine().run(Query::scan(scan("orders.parquet")).project({{"i", column("id")}}), {}).value();
  ASSERT_TRUE(collect(*narrow));
  EXPECT_LT(counter(*narrow, "file_bytes_read").value(), counter(*narrow, "file_bytes").value());
}

TEST_F(ScanFiles, ATableIsReadOnceForAllItsScans) {
  auto const orders = scan("orders.parquet");
  auto const few = [&](std::int64_t id) {
    return Query::scan(orders).filter(call("equal", {column("id"), literal(id)})).project({{"text", column("text")}});
  };
  auto const result = engine().run(Query::union_all({few(10), few(4'990), few(11)}), {}).value();
  auto const rows = collect(*result);
  ASSERT_TRUE(rows) << rows.error().describe();
  EXPECT_EQ(rows->num_rows(), 3);
  EXPECT_NE(to_string(result->plan()).find("2 of 5 row groups"), std::string::npos) << to_string(result->plan());
  auto const joined = Query::scan(orders).join(Query::scan(table_.view()).project({{"other", column("id")}}),
                                               {JoinKind::inner, {{column("id"), column("other")}}});
  EXPECT_EQ(collect(*engine().run(joined, {}).value())->num_rows(), kRows);
}

TEST_F(ScanFiles, TablesOfOneQueryAreReadSideBySide) {
  auto const of = [](ScannedTable table) {
    return Query::scan(std::move(table)).project({{"id", column("id")}, {"text", column("text")}});
  };
  auto const all = Query::union_all({of(scan("orders.parquet")), of(scan("orders.arrow")), of(scan("orders.csv"))});
  auto const wanted = rows_of(Query::union_all({of(table_.view()), of(table_.view()), of(table_.view())}));
  for (std::uint32_t const threads : {1U, 2U, 0U}) {
    QueryOptions options;
    options.threads = threads;
    auto const result = engine().run(all, options);
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_EQ(to_arrow(collect(**result).value())->CombineChunks().ValueOrDie()->ToString(), wanted) << threads;
  }
  std::filesystem::remove(folder_ / "orders.csv");
  EXPECT_NE(rows_of(all).find("orders.csv"), std::string::npos);
}

TEST_F(ScanFiles, BatchesOutliveTheResult) {
  auto const wanted = rows_of(Query::scan(table_.view()));
  auto rows = [&] {
    auto const result = engine().run(Query::scan(scan("orders.parquet")), {}).value();
    return collect(*result).value();
  }();
  EXPECT_EQ(to_arrow(rows)->ToString(), wanted);
}

TEST_F(ScanFiles, ErrorsNameTheFile) {
  auto const missing = scan_files((folder_ / "none.parquet").string());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().describe().find("none.parquet"), std::string::npos);
  EXPECT_EQ(scan_files((folder_ / "orders.txt").string()).error().code(), ErrorCode::usage);
  auto const scanned = scan("orders.parquet");
  std::filesystem::remove(folder_ / "orders.parquet");
  EXPECT_NE(rows_of(sums(scanned)).find("orders.parquet"), std::string::npos);
  EXPECT_NE(rows_of(Query::scan(scan("orders.arrow")).filter(column("nothing"))).find("nothing"), std::string::npos);
}

TEST_F(ScanFiles, ReadingIsCancelled) {
  std::atomic<bool> const cancelled = true;
  QueryOptions options;
  options.control.cancelled = &cancelled;
  auto const result = engine().run(sums(scan("orders.parquet")), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
}

TEST_F(ScanFiles, PlansAreMadeWithoutReading) {
  auto const plan = engine().explain(sums(scan("orders.parquet")));
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(to_string(*plan).find("group-by"), std::string::npos);
}

}  // namespace
}  // namespace garuda::io
