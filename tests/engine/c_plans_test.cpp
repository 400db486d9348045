// Plans of Substrait by the C ABI, as a program in C runs them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "garuda/garuda.h"
#include "tests/substrait/plan_bytes.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using substrait::field;
using substrait::field_reference;
using substrait::function_call;
using substrait::int64_literal;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

/// A text that a call gave, and the memory back.
std::string freed_text(char* text) {
  std::string const copy = text == nullptr ? "" : text;
  garuda_string_free(text);
  return copy;
}

/// Columns `a`: 0, 1, …; and `b`, which no plan here reads, of strings whose offsets are wrong.
garuda_table* numbered_table(std::size_t rows) {
  TestColumn<std::int64_t> a{"a", type_of(TypeId::int64), std::vector<std::int64_t>(rows), {}};
  std::iota(a.values.begin(), a.values.end(), 0);
  ArrowArrayStream stream;
  export_arrow(std::make_shared<Table const>(TestTable().add(std::move(a)).build(7)), &stream);
  garuda_table* table = nullptr;
  EXPECT_EQ(garuda_table_read(&stream, &table, nullptr), GARUDA_OK);
  return table;
}

/// The rows of `t` whose `a` is greater than 16.
std::string plan_bytes() {
  auto const read = substrait::read_of("t", {"a"}, {substrait::TypeField::i64});
  auto const filter =
      field(substrait::FilterField::input, read) +
      field(substrait::FilterField::condition, function_call(0, {field_reference(0), int64_literal(16)}));
  return substrait::plan_of(field(substrait::RelField::filter, filter), {"large"}, {"gt:any_any"});
}

class CPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(garuda_engine_create(&engine_, nullptr), GARUDA_OK);
    run_.size = sizeof run_;
    run_.path = "cpu";
    tables_[0] = {"t", numbered_table(20)};
    tables_[1] = {"other.table", numbered_table(3)};
    plan_.size = sizeof plan_;
    plan_.bytes = bytes_.data();
    plan_.num_bytes = bytes_.size();
    plan_.tables = tables_;
    plan_.num_tables = 2;
  }
  void TearDown() override {
    for (auto const& [name, table] : tables_) garuda_table_destroy(const_cast<garuda_table*>(table));
    garuda_engine_destroy(engine_);
  }

  /// The code of a run that fails, and its sentence.
  std::pair<int, std::string> refused() {
    garuda_result* result = nullptr;
    char* error = nullptr;
    auto const code = garuda_run_substrait(engine_, &plan_, &run_, &result, &error);
    EXPECT_EQ(result, nullptr);
    char* json = nullptr;
    char* explain_error = nullptr;
    EXPECT_EQ(garuda_explain_substrait(engine_, &plan_, &run_, &json, &explain_error), code);
    auto sentence = freed_text(error);
    EXPECT_EQ(freed_text(explain_error), sentence);
    return {code, std::move(sentence)};
  }

  std::string bytes_ = plan_bytes();
  garuda_engine* engine_ = nullptr;
  garuda_run_options run_{};
  garuda_named_table tables_[2] = {};
  garuda_plan plan_{};
};

TEST_F(CPlans, GiveRows) {
  garuda_result* result = nullptr;
  char* error = nullptr;
  ASSERT_EQ(garuda_run_substrait(engine_, &plan_, &run_, &result, &error), GARUDA_OK) << freed_text(error);
  garuda_table_destroy(const_cast<garuda_table*>(tables_[0].table));  // the result keeps what it reads
  tables_[0].table = nullptr;
  ArrowArrayStream out;
  ASSERT_EQ(garuda_result_stream(result, &out, nullptr), GARUDA_OK);
  auto const rows = import_arrow(&out);
  ASSERT_TRUE(rows) << rows.error().describe();
  ASSERT_EQ(rows->num_rows(), 3);
  EXPECT_EQ(rows->schema()[0].name, "large");
  std::vector<std::int64_t> values;
  for (auto const& batch : rows->batches())
    for (std::int64_t row = 0; row < batch.num_rows; ++row)
      values.push_back(batch.columns[0].data<std::int64_t>()[row]);
  EXPECT_EQ(values, (std::vector<std::int64_t>{17, 18, 19}));
  char* statistics = nullptr;
  ASSERT_EQ(garuda_result_statistics(result, &statistics, nullptr), GARUDA_OK);
  EXPECT_EQ(nlohmann::json::parse(freed_text(statistics))["rows_out"], 3);
  garuda_result_destroy(result);
}

TEST_F(CPlans, AreExplained) {
  char* json = nullptr;
  char* error = nullptr;
  ASSERT_EQ(garuda_explain_substrait(engine_, &plan_, nullptr, &json, &error), GARUDA_OK) << freed_text(error);
  EXPECT_TRUE(nlohmann::json::parse(freed_text(json)).contains("tree"));
}

TEST_F(CPlans, SayWhatIsWrong) {
  plan_.tables = tables_ + 1;
  plan_.num_tables = 1;
  EXPECT_EQ(refused(),
            std::pair(int{GARUDA_INVALID_INPUT}, std::string("the plan reads a table that it was not given: t")));
  plan_.tables = nullptr;
  plan_.num_tables = 0;
  EXPECT_EQ(refused().first, GARUDA_INVALID_INPUT);
  plan_.num_tables = 2;
  EXPECT_EQ(refused().first, GARUDA_LOGIC_ERROR);
  plan_.tables = tables_;
  tables_[1].name = "t";
  EXPECT_EQ(refused(), std::pair(int{GARUDA_USAGE}, std::string("two tables of a plan are called: t")));
  tables_[1].name = nullptr;
  EXPECT_EQ(refused().first, GARUDA_LOGIC_ERROR);
  plan_.num_tables = 1;
  plan_.num_bytes = bytes_.size() - 1;
  EXPECT_EQ(refused().first, GARUDA_INVALID_INPUT);
  plan_.num_bytes = 0;
  EXPECT_EQ(refused(), std::pair(int{GARUDA_USAGE}, std::string("the plan says no version of Substrait")));
  plan_.num_bytes = 4;
  plan_.bytes = nullptr;
  EXPECT_EQ(refused().first, GARUDA_LOGIC_ERROR);
  plan_.bytes = bytes_.data();
  plan_.num_bytes = bytes_.size();
  run_.tuning = "radix_bits=99";
  EXPECT_EQ(refused().first, GARUDA_USAGE);
  run_.tuning = nullptr;
  run_.path = "abacus";
  EXPECT_EQ(refused().first, GARUDA_USAGE);
  run_.path = "cpu";
  plan_.size = sizeof plan_ - 1;
  EXPECT_NE(refused().second.find("size of the plan options must be"), std::string::npos);
}

TEST_F(CPlans, NullsAreTheCallersBug) {
  garuda_result* result = nullptr;
  char* json = nullptr;
  EXPECT_EQ(garuda_run_substrait(nullptr, &plan_, &run_, &result, nullptr), GARUDA_LOGIC_ERROR);
  EXPECT_EQ(garuda_run_substrait(engine_, nullptr, &run_, &result, nullptr), GARUDA_LOGIC_ERROR);
  EXPECT_EQ(garuda_run_substrait(engine_, &plan_, &run_, nullptr, nullptr), GARUDA_LOGIC_ERROR);
  EXPECT_EQ(garuda_explain_substrait(nullptr, &plan_, &run_, &json, nullptr), GARUDA_LOGIC_ERROR);
  EXPECT_EQ(garuda_explain_substrait(engine_, nullptr, &run_, &json, nullptr), GARUDA_LOGIC_ERROR);
  EXPECT_EQ(garuda_explain_substrait(engine_, &plan_, &run_, nullptr, nullptr), GARUDA_LOGIC_ERROR);
}

TEST_F(CPlans, ACancelledRunEnds) {
  auto* const cancellation = garuda_cancellation_create();
  garuda_cancellation_set(cancellation);
  run_.cancellation = cancellation;
  garuda_result* result = nullptr;
  char* error = nullptr;
  EXPECT_EQ(garuda_run_substrait(engine_, &plan_, &run_, &result, &error), GARUDA_CANCELLED);
  EXPECT_NE(freed_text(error), "");
  garuda_cancellation_destroy(cancellation);
}

}  // namespace
}  // namespace garuda
