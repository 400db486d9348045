// The C ABI, as a program in C uses it.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>

#include "garuda/arrow_c.hpp"
#include "garuda/garuda.h"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

/// Reads a table out batch by batch.
class TableStream final : public BatchStream {
 public:
  explicit TableStream(Table table) : table_(std::move(table)) {}
  Schema const& schema() const noexcept override { return table_.schema(); }
  Result<std::optional<Batch>> next() override {
    if (next_ == table_.batches().size()) return std::nullopt;
    return table_.batches()[next_++];
  }

 private:
  Table table_;
  std::size_t next_ = 0;
};

ArrowArrayStream stream_of_keys(char const* name, std::int32_t first, std::size_t rows) {
  TestColumn<std::int32_t> keys{name, type_of(TypeId::int32), std::vector<std::int32_t>(rows), {}};
  std::iota(keys.values.begin(), keys.values.end(), first);
  ArrowArrayStream stream;
  export_arrow(std::make_unique<TableStream>(TestTable().add(std::move(keys)).build(7)), &stream);
  return stream;
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(garuda_engine_create(&engine_, nullptr), GARUDA_OK); }
  void TearDown() override { garuda_engine_destroy(engine_); }

  static garuda_join_options options() {
    garuda_join_options options{};
    options.size = sizeof options;
    options.left_key = "a";
    options.right_key = "b";
    options.path = "cpu";
    return options;
  }

  garuda_engine* engine_ = nullptr;
};

TEST_F(CApi, JoinsStreams) {
  auto left = stream_of_keys("a", 0, 20);
  auto right = stream_of_keys("b", 15, 20);
  auto how = options();
  char const* columns[] = {"right.b", "left.a"};
  how.columns = columns;
  how.num_columns = 2;
  how.ordered = 1;
  ArrowArrayStream out;
  ASSERT_EQ(garuda_join(engine_, &left, &right, &how, &out, nullptr), GARUDA_OK);
  EXPECT_EQ(left.release, nullptr);
  EXPECT_EQ(right.release, nullptr);
  auto const table = import_arrow(&out);
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 5);
  EXPECT_EQ(table->schema()[0].name, "b");
  EXPECT_EQ(table->batches()[0].columns[1].data<std::int32_t>()[0], 15);
}

TEST_F(CApi, CountsRows) {
  auto left = stream_of_keys("a", 0, 20);
  auto right = stream_of_keys("b", 15, 20);
  auto const how = options();
  std::uint64_t rows = 0;
  ASSERT_EQ(garuda_join_count(engine_, &left, &right, &how, &rows, nullptr), GARUDA_OK);
  EXPECT_EQ(rows, 5U);
}

TEST_F(CApi, SaysWhatIsWrongAndReleasesTheStreams) {
  struct Case {
    void (*change)(garuda_join_options&);
    int code;
    char const* word;
  };
  for (auto const& wrong :
       {Case{[](garuda_join_options& o) { o.left_key = "c"; }, GARUDA_INVALID_INPUT, "left table"},
        Case{[](garuda_join_options& o) { o.left_key = nullptr; }, GARUDA_USAGE, "key columns"},
        Case{[](garuda_join_options& o) { o.path = "gpu"; }, GARUDA_USAGE, "path"},
        Case{[](garuda_join_options& o) { o.path = "cuda"; }, GARUDA_NO_DEVICE, "cuda"},
        Case{[](garuda_join_options& o) { o.tuning = "x=1"; }, GARUDA_USAGE, "x"},
        Case{[](garuda_join_options& o) { o.memory_limit_bytes = 1; }, GARUDA_LIMIT_EXCEEDED, "limit"},
        Case{[](garuda_join_options& o) { o.size = 3; }, GARUDA_USAGE, "size"}}) {
    auto left = stream_of_keys("a", 0, 20);
    auto right = stream_of_keys("b", 15, 20);
    auto how = options();
    wrong.change(how);
    ArrowArrayStream out;
    char* error = nullptr;
    EXPECT_EQ(garuda_join(engine_, &left, &right, &how, &out, &error), wrong.code);
    ASSERT_NE(error, nullptr);
    EXPECT_NE(std::string(error).find(wrong.word), std::string::npos) << error;
    garuda_string_free(error);
    EXPECT_EQ(left.release, nullptr);
    EXPECT_EQ(right.release, nullptr);
  }
}

TEST_F(CApi, GroupsAStream) {
  auto table = stream_of_keys("a", 1, 20);
  garuda_group_by_options how{};
  how.size = sizeof how;
  how.aggregates = "count,sum:a=total,mean:a";
  how.path = "cpu";
  ArrowArrayStream out;
  ASSERT_EQ(garuda_group_by(engine_, &table, &how, &out, nullptr), GARUDA_OK);
  EXPECT_EQ(table.release, nullptr);
  auto const all = import_arrow(&out);
  ASSERT_TRUE(all) << all.error().describe();
  ASSERT_EQ(all->num_rows(), 1);
  EXPECT_EQ(all->schema()[1].name, "total");
  EXPECT_EQ(all->batches()[0].columns[0].data<std::int64_t>()[0], 20);
  EXPECT_EQ(all->batches()[0].columns[1].data<std::int64_t>()[0], 210);
  EXPECT_EQ(all->batches()[0].columns[2].data<double>()[0], 10.5);

  table = stream_of_keys("a", 1, 20);
  char const* keys[] = {"a"};
  how.keys = keys;
  how.num_keys = 1;
  how.aggregates = nullptr;
  how.ordered = 1;
  ASSERT_EQ(garuda_group_by(engine_, &table, &how, &out, nullptr), GARUDA_OK);
  auto const distinct = import_arrow(&out);
  ASSERT_TRUE(distinct) << distinct.error().describe();
  ASSERT_EQ(distinct->num_rows(), 20);
  EXPECT_EQ(distinct->batches()[0].columns[0].data<std::int32_t>()[0], 1);
}

TEST_F(CApi, SaysWhatIsWrongWithAGroupBy) {
  struct Case {
    void (*change)(garuda_group_by_options&);
    int code;
    char const* word;
  };
  for (auto const& wrong :
       {Case{[](garuda_group_by_options& o) { o.aggregates = "median:a"; }, GARUDA_USAGE, "median"},
        Case{[](garuda_group_by_options& o) { o.aggregates = nullptr; }, GARUDA_USAGE, "keys or aggregates"},
        Case{[](garuda_group_by_options& o) { o.aggregates = "sum:b"; }, GARUDA_INVALID_INPUT, "b"},
        Case{[](garuda_group_by_options& o) { o.tuning = "storage=runs"; }, GARUDA_USAGE, "storage"},
        Case{[](garuda_group_by_options& o) { o.memory_limit_bytes = 1; }, GARUDA_LIMIT_EXCEEDED, "limit"},
        Case{[](garuda_group_by_options& o) { o.size = 3; }, GARUDA_USAGE, "size"}}) {
    auto table = stream_of_keys("a", 1, 20);
    garuda_group_by_options how{};
    how.size = sizeof how;
    how.aggregates = "sum:a";
    how.path = "cpu";
    wrong.change(how);
    ArrowArrayStream out;
    char* error = nullptr;
    EXPECT_EQ(garuda_group_by(engine_, &table, &how, &out, &error), wrong.code);
    ASSERT_NE(error, nullptr);
    EXPECT_NE(std::string(error).find(wrong.word), std::string::npos) << error;
    garuda_string_free(error);
    EXPECT_EQ(table.release, nullptr);
  }
}

TEST_F(CApi, ACancelledCallEnds) {
  auto* cancellation = garuda_cancellation_create();
  garuda_cancellation_set(cancellation);
  auto left = stream_of_keys("a", 0, 20);
  auto right = stream_of_keys("b", 15, 20);
  auto how = options();
  how.cancellation = cancellation;
  std::uint64_t rows = 0;
  EXPECT_EQ(garuda_join_count(engine_, &left, &right, &how, &rows, nullptr), GARUDA_CANCELLED);
  garuda_cancellation_destroy(cancellation);
}

}  // namespace
}  // namespace garuda
