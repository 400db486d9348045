// Tables of a device through the C ABI: uploaded, indexed, joined, grouped and read, as a program in C does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "garuda/arrow_c.hpp"
#include "garuda/garuda.h"
#include "tests/device/device_tables.hpp"
#include "tests/reference/reference_group_by.hpp"

namespace garuda {
namespace {

using testing::keyed_table;

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* object) const { destroy(object); }
};
using OwnEngine = std::unique_ptr<garuda_engine, Destroy<garuda_engine, garuda_engine_destroy>>;
using OwnTable = std::unique_ptr<garuda_table, Destroy<garuda_table, garuda_table_destroy>>;
using OwnResult = std::unique_ptr<garuda_result, Destroy<garuda_result, garuda_result_destroy>>;

/// The object that a call gives through its pointer; an error fails the test.
template <class Own, class Call>
Own made(Call const& call) {
  typename Own::pointer object = nullptr;
  char* error = nullptr;
  EXPECT_EQ(call(&object, &error), GARUDA_OK) << (error == nullptr ? "" : error);
  garuda_string_free(error);
  return Own(object);
}

class DeviceCApi : public testing::DeviceTables {
 protected:
  OwnTable uploaded(std::shared_ptr<Table const> rows) const {
    ArrowArrayStream stream;
    export_arrow(std::move(rows), &stream);
    auto const read = made<OwnTable>([&](auto** out, char** error) { return garuda_table_read(&stream, out, error); });
    return made<OwnTable>(
        [&](auto** out, char** error) { return garuda_table_upload(engine_.get(), read.get(), nullptr, out, error); });
  }

  static OwnTable table_of(garuda_result* result) {
    return made<OwnTable>([&](auto** out, char** error) { return garuda_result_table(result, out, error); });
  }
  static Table rows_of(garuda_table const* table) {
    ArrowArrayStream stream;
    EXPECT_EQ(garuda_table_stream(table, &stream, nullptr), GARUDA_OK);
    return import_arrow(&stream).value();
  }

  OwnEngine engine_ = made<OwnEngine>([](auto** out, char** error) { return garuda_engine_create(out, error); });
};

TEST_F(DeviceCApi, TablesAreIndexedJoinedGroupedAndRead) {
  auto const left = std::make_shared<Table const>(keyed_table<std::int32_t>(TypeId::int32, 200, 90, 1).build(33));
  auto const right = std::make_shared<Table const>(keyed_table<std::int32_t>(TypeId::int32, 300, 90, 2).build());
  auto const left_there = uploaded(left);
  auto const right_there = uploaded(right);
  EXPECT_EQ(garuda_table_rows(left_there.get()), 200U);
  ASSERT_EQ(garuda_table_build_index(left_there.get(), "k", nullptr), GARUDA_OK);

  char const* keys[] = {"k"};
  garuda_run_options run{};
  run.size = sizeof run;
  run.tuning = "method=global";
  garuda_join_options join{};
  join.size = sizeof join;
  join.left_keys = join.right_keys = keys;
  join.num_keys = 1;
  join.run = &run;
  auto const result = made<OwnResult>([&](auto** out, char** error) {
    return garuda_join(engine_.get(), left_there.get(), right_there.get(), &join, out, error);
  });
  char* plan = nullptr;
  ASSERT_EQ(garuda_result_plan(result.get(), &plan, nullptr), GARUDA_OK);
  EXPECT_THAT(plan, ::testing::HasSubstr("kept with the left table"));
  garuda_string_free(plan);
  auto const joined = table_of(result.get());
  auto const expected = reference::reference_join_table(left->view(), right->view(), on_keys());
  expect_same(rows_of(joined.get()), expected);

  run.tuning = nullptr;
  garuda_group_by_options group_by{};
  group_by.size = sizeof group_by;
  group_by.keys = keys;
  group_by.num_keys = 1;
  group_by.aggregates = "count,sum:word";
  group_by.run = &run;
  auto const grouped = made<OwnResult>(
      [&](auto** out, char** error) { return garuda_group_by(engine_.get(), joined.get(), &group_by, out, error); });
  GroupBySpec const spec{{"k"}, parse_aggregates("count,sum:word").value(), false};
  expect_same(rows_of(table_of(grouped.get()).get()),
              reference::reference_group_by(rows_of(joined.get()).view(), spec));
}

TEST_F(DeviceCApi, AnIndexIsOfATableOfADevice) {
  ArrowArrayStream stream;
  export_arrow(std::make_shared<Table const>(keyed_table<std::int32_t>(TypeId::int32, 20, 9, 1).build()), &stream);
  auto const read = made<OwnTable>([&](auto** out, char** error) { return garuda_table_read(&stream, out, error); });
  char* error = nullptr;
  EXPECT_EQ(garuda_table_build_index(read.get(), "k", &error), GARUDA_USAGE);
  EXPECT_THAT(error, ::testing::HasSubstr("upload it first"));
  garuda_string_free(error);
}

}  // namespace
}  // namespace garuda
