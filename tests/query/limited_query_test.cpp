// Queries whose rows do not fit their memory limit: they give the rows, and the bits, of those that have all memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/os/environment.hpp"
#include "core/os/process.hpp"
#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#ifndef _WIN32
#include "tests/small_files.hpp"
#endif

namespace garuda {
namespace {

using reference::typed;
using Rows = std::vector<std::vector<std::string>>;

/// A few times what the least build side takes; the tables below are some forty times as large.
constexpr std::uint64_t kLimit = 60'000;

/// `rows` rows in batches of uneven sizes: many (half the rows are distinct), few (7 values), text (long and short,
/// with nulls), real (with nulls, NaN, infinities and both zeros), word (a dictionary).
Table numbers(std::int64_t rows, std::int64_t first = 0) {
  auto const words =
      reference::make_strings({"ash", "birch", "cedar", "a longer name than a view holds"}, TypeId::utf8);
  std::vector<Batch> batches;
  for (std::int64_t begin = 0; begin < rows;) {
    auto const end = std::min(rows, begin + 1 + 1'023 * static_cast<std::int64_t>(batches.size() % 4));
    std::vector<std::optional<std::int64_t>> many;
    std::vector<std::optional<std::int32_t>> few;
    std::vector<std::optional<std::string>> text;
    std::vector<std::optional<double>> real;
    std::vector<std::optional<std::int32_t>> word;
    for (auto i = begin; i < end; ++i) {
      auto const mixed = (first + i) * 7'919 % 10'007;
      many.emplace_back(i % 101 == 0 ? std::nullopt : std::optional(mixed / 2));
      few.emplace_back(static_cast<std::int32_t>(mixed % 7));
      text.push_back(mixed % 31 == 0 ? std::nullopt
                                     : std::optional((mixed % 2 == 0 ? "a rather long text, number " : "t") +
                                                     std::to_string(mixed % 500)));
      constexpr double kSpecial[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
      real.push_back(mixed % 13 == 0    ? std::nullopt
                     : mixed % 499 == 0 ? std::optional(kSpecial[mixed % 5])
                                        : std::optional(1.0 / static_cast<double>(mixed + 1)));
      word.push_back(mixed % 17 == 0 ? std::nullopt : std::optional(static_cast<std::int32_t>(mixed % 4)));
    }
    batches.push_back(reference::make_batch(
        {reference::make_column(typed(TypeId::int64), many, begin % 3),
         reference::make_column(typed(TypeId::int32), few, 0), reference::make_strings(text, TypeId::utf8),
         reference::make_column(typed(TypeId::float64), real, begin % 5), reference::make_dictionary(word, words)}));
    begin = end;
  }
  return {Schema{{"many", typed(TypeId::int64), true},
                 {"few", typed(TypeId::int32), true},
                 {"text", typed(TypeId::utf8), true},
                 {"real", typed(TypeId::float64), true},
                 {"word", reference::make_dictionary({}, words).type, true}},
          std::move(batches)};
}

/// The columns of numbers(), under other names.
Query renamed(Table const& table, std::string const& prefix) {
  std::vector<NamedExpression> columns;
  for (auto const& field : table.view().schema()) columns.push_back({prefix + field.name, column(field.name)});
  return Query::scan(table.view()).project(columns);
}

class LimitedQueries : public testing::EngineTest {
 protected:
  struct Answer {
    Rows rows;
    std::uint64_t spilled_bytes = 0;
    std::string error;
    ErrorCode code = ErrorCode::usage;
  };

  static QueryOptions host() {
    QueryOptions options;
    options.path = Path::cpu;
    return options;
  }

  static Answer answer(Query const& query, std::uint64_t limit, std::uint32_t threads = 2,
                       QueryOptions options = host()) {
    options.threads = threads;
    options.memory_limit_bytes = limit;
    Answer answer;
    auto const result = engine().run(query, options);
    if (!result) return {{}, 0, result.error().describe(), result.error().code()};
    for (auto const& [name, value] : (*result)->stats().counters)
      if (name == "spilled_bytes") answer.spilled_bytes = value;
    auto const table = collect(**result);
    for (auto const& row : reference::read_table(table->view()).rows) {
      answer.rows.emplace_back();
      for (auto const& value : row) answer.rows.back().push_back(value.value_or("null"));
    }
    return answer;
  }

  /// Compares the rows with those of a run that has all memory, and requires files.
  static void expect_same(Query const& query, bool in_order = false, bool spills = true) {
    auto wanted = answer(query, 0);
    ASSERT_EQ(wanted.error, "");
    EXPECT_EQ(wanted.spilled_bytes, 0U);
    for (std::uint32_t const threads : {1, 3}) {
      auto found = answer(query, kLimit, threads);
      ASSERT_EQ(found.error, "");
      EXPECT_EQ(found.spilled_bytes > 0, spills);
      if (!in_order) {
        std::ranges::sort(wanted.rows);
        std::ranges::sort(found.rows);
      }
      ASSERT_EQ(found.rows.size(), wanted.rows.size());
      for (std::size_t i = 0; i < found.rows.size(); ++i) ASSERT_EQ(found.rows[i], wanted.rows[i]) << "row " << i;
    }
  }
};

std::vector<AggregateCall> every_mergeable_aggregate() {
  using F = AggregateFunction;
  return {{"n", F::count, {}},
          {"reals", F::count, {column("real")}},
          {"total", F::sum, {column("real")}},
          {"whole", F::sum, {column("many")}},
          {"mean", F::mean, {column("real")}},
          {"spread", F::std_dev, {column("many")}},
          {"least", F::min, {column("text")}},
          {"most", F::max, {column("real")}},
          {"some", F::sum, {column("few")}, false, call("gt", {column("many"), literal(std::int64_t{900})})}};
}

TEST_F(LimitedQueries, FewGroupsOfManyRowsMergeByBlocks) {
  auto const table = numbers(20'011);
  expect_same(Query::scan(table.view()).group_by({{"few", column("few")}}, every_mergeable_aggregate()));
  expect_same(Query::scan(table.view())
                  .group_by({{"word", column("word")}, {"few", column("few")}}, every_mergeable_aggregate()));
  expect_same(Query::scan(table.view()).group_by({}, every_mergeable_aggregate()));
}

TEST_F(LimitedQueries, ManyGroupsGoByPartitions) {
  auto const table = numbers(8'009);
  expect_same(Query::scan(table.view())
                  .group_by({{"many", column("many")}, {"text", column("text")}}, every_mergeable_aggregate()));
  expect_same(Query::scan(table.view()).group_by({{"real", column("real")}}, {{"n", AggregateFunction::count, {}}}));
  expect_same(Query::scan(table.view()).project({{"text", column("text")}, {"word", column("word")}}).distinct());
}

TEST_F(LimitedQueries, AggregatesThatKeepAllValues) {
  auto const table = numbers(20'011);
  std::vector<AggregateCall> const kept{{"middle", AggregateFunction::median, {column("real")}},
                                        {"n", AggregateFunction::count, {column("text")}, true}};
  expect_same(Query::scan(table.view()).group_by({{"many", column("many")}}, kept));
  auto const refused = answer(Query::scan(table.view()).group_by({}, kept), kLimit);
  EXPECT_EQ(refused.code, ErrorCode::limit_exceeded);
  EXPECT_NE(refused.error.find("all values of a group"), std::string::npos) << refused.error;
}

TEST_F(LimitedQueries, JoinsOfEveryKind) {
  auto const left = numbers(2'503);
  auto const right = numbers(1'501, 1'000);
  for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full, JoinKind::semi,
                          JoinKind::anti, JoinKind::mark}) {
    JoinClause clause{kind, {{column("many"), column("r_many")}}, std::nullopt, false};
    expect_same(renamed(left, "").join(renamed(right, "r_"), clause));
    clause.on.emplace_back(column("word"), column("r_word"));
    clause.nulls_equal = true;
    expect_same(renamed(left, "").join(renamed(right, "r_"), clause));
    clause.where = call("lt", {column("real"), column("r_real")});
    expect_same(renamed(left, "").join(renamed(right, "r_"), clause));
  }
}

TEST_F(LimitedQueries, JoinsAndGroupsOnEveryPath) {
  auto const left = numbers(3'001);
  auto const right = numbers(2'503, 1'000);
  for (auto const kind : {JoinKind::inner, JoinKind::full}) {
    auto const query = renamed(left, "")
                           .join(renamed(right, "r_"), {kind, {{column("many"), column("r_many")}}})
                           .group_by({{"few", column("r_few")}}, {{"n", AggregateFunction::count, {}},
                                                                  {"total", AggregateFunction::sum, {column("real")}}})
                           .sort({{column("few")}});
    auto const wanted = answer(query, 0);
    for (auto const& path : all_paths<QueryOptions>()) {
      auto const found = answer(query, 100'000, 2, path);
      EXPECT_EQ(found.error, "") << to_string(path.path);
      EXPECT_GT(found.spilled_bytes, 0U) << to_string(path.path);
      EXPECT_EQ(found.rows, wanted.rows) << to_string(path.path);
    }
  }
}

TEST_F(LimitedQueries, SeveralJoinsOfOnePipeline) {
  auto const table = numbers(5'003);
  auto const others = numbers(2'003, 50);
  auto query = renamed(table, "");
  for (auto const* const prefix : {"a_", "b_", "c_"}) {
    auto const name = [&](char const* of) { return column(std::string(prefix) + of); };
    query = query.join(renamed(others, prefix).filter(call("is_not_null", {name("text")})),
                       {JoinKind::inner, {{column("many"), name("many")}}});
  }
  expect_same(query.group_by({{"text", column("c_text")}}, {{"n", AggregateFunction::count, {}},
                                                            {"total", AggregateFunction::sum, {column("a_real")}}}));
}

TEST_F(LimitedQueries, OneHeavyKey) {
  auto const left = numbers(97);
  auto const right = numbers(2'503);
  auto const one = literal(std::int64_t{1});
  auto const query = Query::scan(left.view())
                         .project({{"l", column("many")}, {"one", one}})
                         .join(renamed(right, "r_").project({{"r", column("r_many")}, {"r_one", one}}),
                               {JoinKind::inner, {{column("one"), column("r_one")}}})
                         .group_by({{"r", column("r")}}, {{"n", AggregateFunction::count, {}}});
  expect_same(query);
}

TEST_F(LimitedQueries, SortsKeepTheirOrder) {
  for (std::int64_t const rows : {2'047, 2'048, 2'049, 20'011}) {
    auto const table = numbers(rows);
    auto const all = Query::scan(table.view());
    expect_same(all.sort({{column("real"), true}, {column("many")}}), true);
    expect_same(all.sort({{column("few")}}), true);
    expect_same(all.sort({{column("text"), false, true}}), true);
    expect_same(all.project({{"few", column("few")}, {"more", call("add", {column("few"), column("few")})}})
                    .sort({{column("few"), true}}),
                true);
  }
  auto const table = numbers(20'011);
  auto const sorted = Query::scan(table.view()).sort({{column("many"), true}, {column("word")}});
  expect_same(sorted.limit(10), true, false);
  expect_same(sorted.limit(700, 9'000), true);
}

TEST_F(LimitedQueries, RowsAreNumbered) {
  auto const table = numbers(20'011);
  auto const all = Query::scan(table.view());
  expect_same(all.number_rows("place", {column("few")}, {{column("real"), true}}));
  expect_same(all.number_rows("place", {}, {{column("text")}}));
}

TEST_F(LimitedQueries, UnionsAndComputedColumns) {
  auto const table = numbers(9'001);
  auto const computed = Query::scan(table.view())
                            .filter(call("is_not_null", {column("text")}))
                            .project({{"text", call("upper", {column("text")})},
                                      {"both", call("concat", {column("text"), column("text")})},
                                      {"word", column("word")},
                                      {"is_small", call("lt", {column("few"), literal(std::int64_t{3})})}});
  expect_same(computed);
  expect_same(Query::union_all({computed, computed}));
}

TEST_F(LimitedQueries, LimitsThatHoldEverythingLeaveTheDiskAlone) {
  auto const table = numbers(2'001);
  auto const query = Query::scan(table.view()).sort({{column("text")}});
  EXPECT_EQ(answer(query, 100'000'000).spilled_bytes, 0U);
}

TEST_F(LimitedQueries, NothingFitsALimitOfNearlyNothing) {
  auto const table = numbers(3'001);
  JoinClause const clause{JoinKind::inner, {{column("many"), column("r_many")}}};
  auto const refused = answer(renamed(table, "").join(renamed(table, "r_"), clause), 100);
  EXPECT_EQ(refused.code, ErrorCode::limit_exceeded);
  EXPECT_NE(refused.error.find("a build side of"), std::string::npos) << refused.error;
}

TEST_F(LimitedQueries, AFolderThatIsMissingIsNamed) {
  auto const before = os::path_variable("TMPDIR");
  os::set_variable("TMPDIR", "/nonexistent/folder");
  auto const table = numbers(20'011);
  auto const refused = answer(Query::scan(table.view()).sort({{column("text")}}), kLimit);
  os::set_variable("TMPDIR", before ? std::optional(before->string()) : std::nullopt);
  EXPECT_EQ(refused.code, ErrorCode::output);
  EXPECT_NE(refused.error.find("cannot spill to /nonexistent/folder"), std::string::npos) << refused.error;
}

TEST_F(LimitedQueries, PlansSayWhatWasSpilled) {
  auto const table = numbers(20'011);
  auto options = host();
  options.memory_limit_bytes = kLimit;
  auto const result = engine().run(Query::scan(table.view()).sort({{column("text")}}), options);
  ASSERT_TRUE(result.has_value());
  auto const& details = (*result)->plan().details;
  EXPECT_TRUE(std::ranges::any_of(details, [](auto const& detail) { return detail.first == "spilled"; }));
  EXPECT_NE(to_string((*result)->plan()).find("spilled"), std::string::npos);
}

/// A query of every operator that spills, and a folder of their own for their files.
class InterruptedQueries : public LimitedQueries {
 protected:
  InterruptedQueries() { std::filesystem::create_directory(folder_); }
  ~InterruptedQueries() override { std::filesystem::remove_all(folder_); }

  struct Named {
    char const* name;
    Query query;
    Rows rows;
  };

  std::vector<Named> queries() const {
    auto const all = Query::scan(left_.view());
    std::vector<Named> queries{
        {"blocks of a group-by", all.group_by({{"few", column("few")}}, every_mergeable_aggregate()), {}},
        {"partitions of a group-by",
         all.group_by({{"many", column("many")}, {"text", column("text")}}, every_mergeable_aggregate()),
         {}},
        {"join",
         renamed(left_, "").join(renamed(right_, "r_"), {JoinKind::full, {{column("many"), column("r_many")}}}),
         {}},
        {"sort", all.sort({{column("text")}, {column("real"), true}}), {}},
        {"numbers of rows", all.number_rows("place", {column("few")}, {{column("real"), true}}), {}}};
    for (auto& [name, query, rows] : queries) rows = sorted(answer(query, 0).rows);
    return queries;
  }

  QueryOptions in_folder() const {
    auto options = host();
    options.temp_folder = folder_;
    return options;
  }

  static Rows sorted(Rows rows) {
    std::ranges::sort(rows);
    return rows;
  }

  /// Requires that no file is left in the folder, with a name or open without one.
  void expect_no_file(Named const& named) const {
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << named.name;
    std::error_code none;
    for (auto const& open : std::filesystem::directory_iterator("/proc/self/fd", none)) {
      auto const file = std::filesystem::read_symlink(open.path(), none).string();
      EXPECT_FALSE(file.starts_with(folder_.string())) << named.name << ": " << file;
    }
  }

  /// Requires that the query runs after all.
  void expect_usable(Named const& named) const {
    expect_no_file(named);
    auto const found = answer(named.query, kLimit, 2, in_folder());
    EXPECT_EQ(found.error, "") << named.name;
    EXPECT_GT(found.spilled_bytes, 0U) << named.name;
    EXPECT_EQ(sorted(found.rows), named.rows) << named.name;
  }

  std::filesystem::path const folder_ =
      std::filesystem::temp_directory_path() / ("garuda-limited-" + std::to_string(os::process_id()));

 private:
  Table const left_ = numbers(8'009);
  Table const right_ = numbers(2'503, 1'000);
};

#ifndef _WIN32
TEST_F(InterruptedQueries, AFullDiskIsOneErrorThatNamesTheFolder) {
  for (auto const& named : queries()) {
    for (std::uint64_t const file_bytes : {1'000, 10'000, 40'000}) {
      auto const found = [&] {
        testing::SmallFiles const full(file_bytes);
        return answer(named.query, kLimit, 2, in_folder());
      }();
      if (found.error.empty()) {
        EXPECT_EQ(sorted(found.rows), named.rows) << named.name;
        EXPECT_GT(file_bytes, 1'000U) << named.name;
      } else {
        EXPECT_EQ(found.code, ErrorCode::output) << named.name;
        EXPECT_EQ(found.error, "cannot spill to " + folder_.string() + ": file too large") << named.name;
      }
      expect_no_file(named);
    }
    expect_usable(named);
  }
}
#endif

TEST_F(InterruptedQueries, CancellingInTheMiddleLeavesNothing) {
  using Clock = std::chrono::steady_clock;
  int cancelled_later = 0;
  for (auto const& named : queries()) {
    auto const begin = Clock::now();
    expect_usable(named);
    auto const whole = Clock::now() - begin;
    for (int quarter = 0; quarter < 4; ++quarter) {
      std::atomic<bool> cancelled = quarter == 0;
      auto options = in_folder();
      options.control.cancelled = &cancelled;
      Answer found;
      {
        std::jthread const canceller([&] {
          std::this_thread::sleep_for(whole * quarter / 4);
          cancelled = true;
        });
        found = answer(named.query, kLimit, 2, options);
      }
      if (found.error.empty()) {
        EXPECT_EQ(sorted(found.rows), named.rows) << named.name;
        EXPECT_GT(quarter, 0) << named.name;
      } else {
        EXPECT_EQ(found.code, ErrorCode::cancelled) << named.name << ": " << found.error;
        cancelled_later += quarter > 0;
      }
      expect_no_file(named);
    }
    expect_usable(named);
  }
  EXPECT_GT(cancelled_later, 2);
}

}  // namespace
}  // namespace garuda
