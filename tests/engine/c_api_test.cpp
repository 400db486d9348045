// The C ABI, as a program in C uses it.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "garuda/arrow_c.hpp"
#include "garuda/garuda.h"
#include "tests/core/sample_batch.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

struct DestroyTable {
  void operator()(garuda_table* table) const { garuda_table_destroy(table); }
};
using OwnTable = std::unique_ptr<garuda_table, DestroyTable>;
struct DestroyResult {
  void operator()(garuda_result* result) const { garuda_result_destroy(result); }
};
using OwnResult = std::unique_ptr<garuda_result, DestroyResult>;

ArrowArrayStream stream_of_keys(char const* name, std::int32_t first, std::size_t rows) {
  TestColumn<std::int32_t> keys{name, type_of(TypeId::int32), std::vector<std::int32_t>(rows), {}};
  std::iota(keys.values.begin(), keys.values.end(), first);
  ArrowArrayStream stream;
  export_arrow(std::make_shared<Table const>(TestTable().add(std::move(keys)).build(7)), &stream);
  return stream;
}

OwnTable table_of_keys(char const* name, std::int32_t first, std::size_t rows) {
  auto stream = stream_of_keys(name, first, rows);
  garuda_table* table = nullptr;
  EXPECT_EQ(garuda_table_read(&stream, &table, nullptr), GARUDA_OK);
  EXPECT_EQ(stream.release, nullptr);
  return OwnTable(table);
}

/// A text that a call gave, and the memory back.
std::string taken(char* text) {
  std::string const copy = text == nullptr ? "" : text;
  garuda_string_free(text);
  return copy;
}

/// All rows of a result; it is at its end.
Result<Table> rows_of(garuda_result* result) {
  ArrowArrayStream out;
  EXPECT_EQ(garuda_result_stream(result, &out, nullptr), GARUDA_OK);
  return import_arrow(&out);
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(garuda_engine_create(&engine_, nullptr), GARUDA_OK);
    run_.size = sizeof run_;
    run_.path = "cpu";
    join_.size = sizeof join_;
    join_.left_keys = left_keys_;
    join_.right_keys = right_keys_;
    join_.num_keys = 1;
    join_.run = &run_;
    group_by_.size = sizeof group_by_;
    group_by_.run = &run_;
    left_ = table_of_keys("a", 0, 20);
    right_ = table_of_keys("b", 15, 20);
  }
  void TearDown() override {
    left_.reset();
    right_.reset();
    garuda_engine_destroy(engine_);
  }

  OwnResult join() {
    garuda_result* result = nullptr;
    char* error = nullptr;
    EXPECT_EQ(garuda_join(engine_, left_.get(), right_.get(), &join_, &result, &error), GARUDA_OK) << taken(error);
    return OwnResult(result);
  }
  OwnResult group_by(garuda_table const* table) {
    garuda_result* result = nullptr;
    char* error = nullptr;
    EXPECT_EQ(garuda_group_by(engine_, table, &group_by_, &result, &error), GARUDA_OK) << taken(error);
    return OwnResult(result);
  }

  char const* left_keys_[1] = {"a"};
  char const* right_keys_[1] = {"b"};
  garuda_engine* engine_ = nullptr;
  garuda_run_options run_{};
  garuda_join_options join_{};
  garuda_group_by_options group_by_{};
  OwnTable left_, right_;
};

TEST_F(CApi, JoinsTables) {
  char const* columns[] = {"right.b", "left.a"};
  join_.columns = columns;
  join_.num_columns = 2;
  join_.ordered = 1;
  auto const result = join();
  // Results keep what they read.
  left_.reset();
  right_.reset();
  auto const table = rows_of(result.get());
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 5);
  EXPECT_EQ(table->schema()[0].name, "b");
  EXPECT_EQ(table->batches()[0].columns[1].data<std::int32_t>()[0], 15);

  ArrowArrayStream again;
  char* error = nullptr;
  EXPECT_EQ(garuda_result_stream(result.get(), &again, &error), GARUDA_USAGE);
  EXPECT_NE(taken(error).find("taken before"), std::string::npos);
}

TEST_F(CApi, ABuildSideServesSeveralJoins) {
  char const* keys[] = {"b"};
  char* error = nullptr;
  garuda_table* build = nullptr;
  ASSERT_EQ(garuda_join_build(engine_, right_.get(), keys, 1, 0, &run_, &build, &error), GARUDA_OK) << taken(error);
  right_.reset(build);  // it keeps the rows
  for (int turn = 0; turn < 2; ++turn) {
    auto const table = rows_of(join().get());
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(table->num_rows(), 5);
  }
  join_.nulls_equal = 1;
  std::uint64_t rows = 0;
  EXPECT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, nullptr, &error), GARUDA_USAGE);
  EXPECT_NE(taken(error).find("nulls_equal=false"), std::string::npos);
  EXPECT_EQ(garuda_join_build(engine_, right_.get(), keys, 0, 0, nullptr, &build, &error), GARUDA_USAGE);
  EXPECT_NE(taken(error).find("1 to 16 key columns"), std::string::npos);
}

TEST_F(CApi, BoundsThreads) {
  run_.threads = 4'096;
  {
    auto const result = join();
    auto const table = rows_of(result.get());
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(table->num_rows(), 5);
  }
  char const* keys[] = {"a"};
  group_by_.keys = keys;
  group_by_.num_keys = 1;
  for (std::uint32_t const threads : {4'097U, 100'000U, ~0U}) {
    run_.threads = threads;
    auto const sentence = "threads must be at most 4096: " + std::to_string(threads);
    garuda_result* result = nullptr;
    char* error = nullptr;
    EXPECT_EQ(garuda_join(engine_, left_.get(), right_.get(), &join_, &result, &error), GARUDA_USAGE);
    EXPECT_EQ(taken(error), sentence);
    EXPECT_EQ(garuda_group_by(engine_, left_.get(), &group_by_, &result, &error), GARUDA_USAGE);
    EXPECT_EQ(taken(error), sentence);
    std::uint64_t rows = 0;
    EXPECT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, nullptr, &error), GARUDA_USAGE);
    EXPECT_EQ(taken(error), sentence);
  }
}

TEST_F(CApi, JoinsByEveryKind) {
  struct Kind {
    char const* how;
    std::uint64_t rows;
  };
  for (auto const& [how, expected] : {Kind{nullptr, 5}, Kind{"inner", 5}, Kind{"left", 20}, Kind{"right", 20},
                                      Kind{"full", 35}, Kind{"semi", 5}, Kind{"anti", 15}, Kind{"mark", 20}}) {
    join_.how = how;
    std::uint64_t rows = 0;
    ASSERT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, nullptr, nullptr), GARUDA_OK);
    EXPECT_EQ(rows, expected);
    garuda_table* table = nullptr;
    ASSERT_EQ(garuda_result_table(join().get(), &table, nullptr), GARUDA_OK);
    EXPECT_EQ(garuda_table_rows(OwnTable(table).get()), expected);
  }
}

TEST_F(CApi, JoinsUnderACondition) {
  join_.where = "left.a < 18 and not right.b = 16";
  for (auto const& [how, expected] : {std::pair{"inner", 2}, std::pair{"full", 38}, std::pair{"anti", 18}}) {
    join_.how = how;
    std::uint64_t rows = 0;
    ASSERT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, nullptr, nullptr), GARUDA_OK);
    EXPECT_EQ(rows, static_cast<std::uint64_t>(expected));
    EXPECT_EQ(rows_of(join().get())->num_rows(), expected);
  }
}

TEST_F(CApi, SaysWhatItDoesAndWhatItDid) {
  char* json = nullptr;
  ASSERT_EQ(garuda_explain_join(engine_, left_.get(), right_.get(), &join_, &json, nullptr), GARUDA_OK);
  auto const plan = nlohmann::json::parse(taken(json));
  EXPECT_EQ(plan["path"], "cpu");
  EXPECT_FALSE(plan["candidates"].empty());
  ASSERT_EQ(garuda_explain_join_count(engine_, left_.get(), right_.get(), &join_, &json, nullptr), GARUDA_OK);
  EXPECT_EQ(nlohmann::json::parse(taken(json))["path"], "cpu");

  auto const result = join();
  ASSERT_EQ(garuda_result_plan(result.get(), &json, nullptr), GARUDA_OK);
  EXPECT_EQ(nlohmann::json::parse(taken(json))["tuning"], plan["tuning"]);
  ASSERT_TRUE(rows_of(result.get()));
  ASSERT_EQ(garuda_result_statistics(result.get(), &json, nullptr), GARUDA_OK);
  auto const statistics = nlohmann::json::parse(taken(json));
  EXPECT_EQ(statistics["rows_left"], 20);
  EXPECT_EQ(statistics["rows_out"], 5);
  EXPECT_FALSE(statistics["phases"].empty());

  std::uint64_t rows = 0;
  ASSERT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, &json, nullptr), GARUDA_OK);
  EXPECT_EQ(nlohmann::json::parse(taken(json))["rows_out"], 5);

  group_by_.aggregates = "count";
  ASSERT_EQ(garuda_explain_group_by(engine_, left_.get(), &group_by_, &json, nullptr), GARUDA_OK);
  EXPECT_EQ(nlohmann::json::parse(taken(json))["path"], "cpu");
}

TEST_F(CApi, ReportsProgress) {
  struct Calls {
    std::uint64_t number = 0;
    std::string phase;
  } calls;
  run_.progress_context = &calls;
  run_.on_progress = [](void* context, garuda_progress const* progress) {
    auto& seen = *static_cast<Calls*>(context);
    ++seen.number;
    seen.phase = progress->phase;
    EXPECT_LE(progress->done, progress->total);
  };
  ASSERT_TRUE(rows_of(join().get()));
  EXPECT_GT(calls.number, 0U);
  EXPECT_EQ(calls.phase, "join");
}

TEST_F(CApi, SaysWhatIsWrongWithAJoin) {
  struct Case {
    void (*change)(garuda_join_options&, garuda_run_options&);
    int code;
    char const* word;
  };
  static char const* const kUnknown[] = {"c"};
  static char const* const kNull[] = {nullptr};
  for (auto const &wrong :
       {Case{[](auto&join, auto&) { join.left_keys = kUnknown; }, GARUDA_INVALID_INPUT, "left table"},
        Case{[](auto&join, auto&) { join.left_keys = nullptr; }, GARUDA_USAGE, "key columns"},
        Case{[](auto&join, auto&) { join.num_keys = 0; }, GARUDA_USAGE, "--allow-cross"},
        Case{[](auto&join, auto&) { join.right_keys = kNull; }, GARUDA_LOGIC_ERROR, "nullptr"},
        Case{[](auto&join, auto&) { join.how = "outer"; }, GARUDA_USAGE, "outer"},
        Case{[](auto&join, auto&) { join.where = "left.a <"; }, GARUDA_USAGE, "at position 9"},
        Case{[](auto&join, auto&) { join.where = "left.c < 1"; }, GARUDA_INVALID_INPUT, "left table"},
        Case{[](auto&join, auto&) { join.size = 3; }, GARUDA_USAGE, "size"},
        Case{[](auto&join, auto&) { join.strings = "utf16"; }, GARUDA_USAGE, "utf8 or view"},
        Case{[](auto&, auto&run) { run.path = "gpu"; }, GARUDA_USAGE, "path"},
        Case{[](auto&, auto&run) { run.path = "cuda"; }, GARUDA_NO_DEVICE, "cuda"},
        Case{[](auto&, auto&run) { run.tuning = "x=1"; }, GARUDA_USAGE, "x"},
        Case{[](auto&, auto&run) { run.memory_limit_bytes = 1; }, GARUDA_LIMIT_EXCEEDED, "limit"},
        Case{[](auto&, auto&run) { run.size = 3; }, GARUDA_USAGE, "size"}}) {
    auto run = run_;
    auto options = join_;
    options.run = &run;
    wrong.change(options, run);
    garuda_result* result = nullptr;
    char* error = nullptr;
    EXPECT_EQ(garuda_join(engine_, left_.get(), right_.get(), &options, &result, &error), wrong.code);
    EXPECT_EQ(result, nullptr);
    auto const sentence = taken(error);
    EXPECT_NE(sentence.find(wrong.word), std::string::npos) << sentence;
  }
  char* error = nullptr;
  EXPECT_EQ(garuda_join(engine_, nullptr, right_.get(), &join_, nullptr, &error), GARUDA_LOGIC_ERROR);
  taken(error);
}

TEST_F(CApi, AStreamThatCannotBeReadIsReleased) {
  auto stream = stream_of_keys("a", 0, 20);
  garuda_table* table = nullptr;
  stream.get_next = [](ArrowArrayStream*, ArrowArray*) { return 5; };
  char* error = nullptr;
  EXPECT_EQ(garuda_table_read(&stream, &table, &error), GARUDA_INVALID_INPUT);
  EXPECT_FALSE(taken(error).empty());
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_EQ(table, nullptr);
}

TEST_F(CApi, ChecksTheOffsetsThatACallReads) {
  auto batch = testing::sample_batch();
  batch.column(testing::kText).buffer<std::int32_t>(1)[2 + 3] = 1;
  testing::ForeignStream foreign({&batch});
  garuda_table* read = nullptr;
  ASSERT_EQ(garuda_table_read(&foreign.stream, &read, nullptr), GARUDA_OK);
  OwnTable const table(read);
  group_by_.aggregates = "sum:int=total";
  auto const total = rows_of(group_by(table.get()).get());
  ASSERT_TRUE(total) << total.error().describe();
  EXPECT_EQ(total->batches()[0].columns[0].data<std::int64_t>()[0], 1 + 3 - 4);

  auto const fails = [](auto const& call) {
    char* error = nullptr;
    EXPECT_EQ(call(&error), GARUDA_INVALID_INPUT);
    EXPECT_EQ(taken(error),
              "invalid batch at position: 0: cannot import column: text: offsets decrease at row 2: 1 after 3");
  };
  garuda_result* result = nullptr;
  for (auto const* aggregates : {"count_distinct:text", "arg_min:int:text"}) {
    group_by_.aggregates = aggregates;
    fails([&](char** error) { return garuda_group_by(engine_, table.get(), &group_by_, &result, error); });
  }
  char const* keys[] = {"int"};
  join_.left_keys = join_.right_keys = keys;
  fails([&](char** error) { return garuda_join(engine_, table.get(), table.get(), &join_, &result, error); });
  ArrowArrayStream out;
  fails([&](char** error) { return garuda_table_stream(table.get(), &out, error); });
}

TEST_F(CApi, ChecksTheViewsThatACallReads) {
  constexpr std::int64_t kRows = 600'000;  // of more than one task
  constexpr std::int64_t kWrong = 500'000;
  std::vector<std::int32_t> numbers(kRows, 1);
  std::vector<std::array<std::int32_t, 4>> views(kRows);
  for (auto& view : views) view = {1, 'x', 0, 0};
  views[kWrong][0] = -7;
  std::int64_t const no_sizes = 0;
  std::array<void const*, 2> const of_numbers{nullptr, numbers.data()};
  std::array<void const*, 3> const of_views{nullptr, views.data(), &no_sizes};
  std::array<void const*, 1> const of_rows{nullptr};
  auto const array_of = [](auto const& buffers) {
    ArrowArray array{};
    array.length = kRows;
    array.n_buffers = static_cast<std::int64_t>(buffers.size());
    array.buffers = const_cast<void const**>(buffers.data());
    array.release = [](ArrowArray* self) { self->release = nullptr; };
    return array;
  };
  auto const schema_of = [](char const* format, char const* name) {
    ArrowSchema schema{};
    schema.format = format;
    schema.name = name;
    schema.release = [](ArrowSchema* self) { self->release = nullptr; };
    return schema;
  };
  struct Source {
    ArrowArray rows, numbers, views;
    ArrowSchema schema, number_schema, view_schema;
    std::array<ArrowArray*, 2> children{&numbers, &views};
    std::array<ArrowSchema*, 2> child_schemas{&number_schema, &view_schema};
    bool is_read = false;
  } source{array_of(of_rows),   array_of(of_numbers),     array_of(of_views),
           schema_of("+s", ""), schema_of("i", "number"), schema_of("vu", "text")};
  source.rows.n_children = source.schema.n_children = 2;
  source.rows.children = source.children.data();
  source.schema.children = source.child_schemas.data();
  ArrowArrayStream stream{};
  stream.private_data = &source;
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    *out = static_cast<Source*>(self->private_data)->schema;
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto& own = *static_cast<Source*>(self->private_data);
    *out = std::exchange(own.is_read, true) ? ArrowArray{} : own.rows;
    return 0;
  };
  stream.get_last_error = [](ArrowArrayStream*) -> char const* { return nullptr; };
  stream.release = [](ArrowArrayStream* self) { self->release = nullptr; };

  garuda_table* read = nullptr;
  ASSERT_EQ(garuda_table_read(&stream, &read, nullptr), GARUDA_OK);
  OwnTable const table(read);
  group_by_.aggregates = "sum:number=total";
  auto const total = rows_of(group_by(table.get()).get());
  ASSERT_TRUE(total) << total.error().describe();
  EXPECT_EQ(total->batches()[0].columns[0].data<std::int64_t>()[0], kRows);

  char const* keys[] = {"text"};
  group_by_.keys = keys;
  group_by_.num_keys = 1;
  garuda_result* result = nullptr;
  char* error = nullptr;
  EXPECT_EQ(garuda_group_by(engine_, table.get(), &group_by_, &result, &error), GARUDA_INVALID_INPUT);
  EXPECT_EQ(taken(error),
            "invalid batch at position: 0: cannot import column: text: length is negative at row 500000: -7");
  ArrowArrayStream out;
  EXPECT_EQ(garuda_table_stream(table.get(), &out, &error), GARUDA_INVALID_INPUT);
  EXPECT_FALSE(taken(error).empty());
}

TEST_F(CApi, GroupsATable) {
  auto const table = table_of_keys("a", 1, 20);
  group_by_.aggregates = "count,sum:a=total,mean:a";
  auto const all = rows_of(group_by(table.get()).get());
  ASSERT_TRUE(all) << all.error().describe();
  ASSERT_EQ(all->num_rows(), 1);
  EXPECT_EQ(all->schema()[1].name, "total");
  EXPECT_EQ(all->batches()[0].columns[0].data<std::int64_t>()[0], 20);
  EXPECT_EQ(all->batches()[0].columns[1].data<std::int64_t>()[0], 210);
  EXPECT_EQ(all->batches()[0].columns[2].data<double>()[0], 10.5);

  group_by_.keys = left_keys_;
  group_by_.num_keys = 1;
  group_by_.aggregates = nullptr;
  group_by_.ordered = 1;
  group_by_.run = nullptr;
  auto const distinct = rows_of(group_by(table.get()).get());
  ASSERT_TRUE(distinct) << distinct.error().describe();
  ASSERT_EQ(distinct->num_rows(), 20);
  EXPECT_EQ(distinct->batches()[0].columns[0].data<std::int32_t>()[0], 1);
}

TEST_F(CApi, SaysWhatIsWrongWithAGroupBy) {
  struct Case {
    void (*change)(garuda_group_by_options&, garuda_run_options&);
    int code;
    char const* word;
  };
  for (auto const &wrong :
       {Case{[](auto&group_by, auto&) { group_by.aggregates = "mode:a"; }, GARUDA_USAGE, "mode"},
        Case{[](auto&group_by, auto&) { group_by.aggregates = nullptr; }, GARUDA_USAGE, "keys or aggregates"},
        Case{[](auto&group_by, auto&) { group_by.aggregates = "sum:b"; }, GARUDA_INVALID_INPUT, "b"},
        Case{[](auto&group_by, auto&) { group_by.size = 3; }, GARUDA_USAGE, "size"},
        Case{[](auto&group_by, auto&) { group_by.strings = "VIEW"; }, GARUDA_USAGE, "utf8 or view"},
        Case{[](auto&, auto&run) { run.tuning = "storage=runs"; }, GARUDA_USAGE, "storage"},
        Case{[](auto&, auto&run) { run.memory_limit_bytes = 1; }, GARUDA_LIMIT_EXCEEDED, "limit"}}) {
    auto run = run_;
    auto options = group_by_;
    options.aggregates = "sum:a";
    options.run = &run;
    wrong.change(options, run);
    garuda_result* result = nullptr;
    char* error = nullptr;
    EXPECT_EQ(garuda_group_by(engine_, left_.get(), &options, &result, &error), wrong.code);
    auto const sentence = taken(error);
    EXPECT_NE(sentence.find(wrong.word), std::string::npos) << sentence;
  }
}

TEST_F(CApi, ACancelledCallEnds) {
  auto* cancellation = garuda_cancellation_create();
  garuda_cancellation_set(cancellation);
  run_.cancellation = cancellation;
  std::uint64_t rows = 0;
  EXPECT_EQ(garuda_join_count(engine_, left_.get(), right_.get(), &join_, &rows, nullptr, nullptr), GARUDA_CANCELLED);
  garuda_cancellation_destroy(cancellation);
}

TEST_F(CApi, NullIsDestroyed) {
  garuda_table_destroy(nullptr);
  garuda_result_destroy(nullptr);
  garuda_cancellation_destroy(nullptr);
  garuda_engine_destroy(nullptr);
}

}  // namespace
}  // namespace garuda
