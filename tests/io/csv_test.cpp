// What the CSV reader makes of text, and which line it complains about.
#include <gmock/gmock.h>

#include "tests/io/arrow_tables.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary
using ::testing::HasSubstr;

class Csv : public ::testing::Test {
 protected:
  std::string error_of(std::string const& text, std::uint32_t threads = 0) {
    write_text(folder_ / "x.csv", text);
    ReadOptions options;
    options.threads = threads;
    auto const table = read_table(folder_ / "x.csv", options);
    if (table) return "no error";
    EXPECT_EQ(table.error().code(), ErrorCode::invalid_input);
    return table.error().describe();
  }

  std::shared_ptr<arrow::Table> table_of(std::string const& text) {
    write_text(folder_ / "x.csv", text);
    auto const table = read_table(folder_ / "x.csv");
    if (!table) throw std::runtime_error(table.error().describe());
    return to_arrow(*table);
  }

  TemporaryFolder folder_;
};

TEST_F(Csv, NamesTheLineWithTooFewOrTooManyColumns) {
  EXPECT_THAT(error_of("a,b\n1,2\n3\n4,5\n"), HasSubstr("line 3 has 1 column instead of 2"));
  EXPECT_THAT(error_of("a,b\n1,2\n3,4,5\n"), HasSubstr("line 3 has 3 columns instead of 2"));
  EXPECT_THAT(error_of("a,b\r\n1,2\r\n3,4,5"), HasSubstr("line 3 has 3 columns instead of 2"));
  EXPECT_THAT(error_of("a,b\n\n\n1,2\n3,4,5\n", 1), HasSubstr("line 5 has 3 columns instead of 2"));
  EXPECT_THAT(error_of("a,b\n\"x\n\ny\",2\n3\n", 1), HasSubstr("line 5 has 1 column instead of 2"));
  EXPECT_THAT(error_of("a,b\n\"x\"\"\n,\",2\n\"3\",\"4\",5\n"), HasSubstr("line 4 has 3 columns instead of 2"));
}

TEST_F(Csv, NamesALineFarBehindTheFirstBlock) {
  std::string text = "a,b\n";
  constexpr int kRows = 900'000;
  for (int i = 0; i < kRows; ++i) text += "1234567,8\n";
  EXPECT_THAT(error_of(text + "9\n"), HasSubstr("line 900002 has 1 column instead of 2"));
}

TEST_F(Csv, InfersTypes) {
  auto const table = table_of("i,f,b,d,t,s,e\n1,1.5,true,2024-02-29,2024-02-29 12:00:00,x,\n2,,false,,,NA,\n");
  auto const expected = batch({{"i", array(arrow::int64(), "[1, 2]")},
                               {"f", array(arrow::float64(), "[1.5, null]")},
                               {"b", array(arrow::boolean(), "[true, false]")},
                               {"d", array(arrow::date32(), "[19782, null]")},
                               {"t", array(arrow::timestamp(arrow::TimeUnit::SECOND), "[1709208000, null]")},
                               {"s", array(arrow::utf8(), R"(["x", "NA"])")},
                               {"e", array(arrow::utf8(), "[null, null]")}});
  EXPECT_TRUE(table->Equals(*arrow::Table::FromRecordBatches({expected}).ValueOrDie())) << table->ToString();
}

TEST_F(Csv, TypesComeFromAllRows) {
  std::string text = "a\n";
  for (int i = 0; i < 1'000'000; ++i) text += "12345\n";
  auto const table = table_of(text + "1.5\n");
  EXPECT_EQ(table->schema()->field(0)->type()->id(), arrow::Type::DOUBLE);
  EXPECT_EQ(table->num_rows(), 1'000'001);
}

TEST_F(Csv, UnquotedEmptyIsNullAndQuotedIsAnEmptyString) {
  auto const table = table_of("s,n\n\"\",1\n,2\nx,3\n");
  EXPECT_TRUE(table->column(0)->chunk(0)->Equals(*array(arrow::utf8(), R"(["", null, "x"])")));
}

TEST_F(Csv, HeaderOnly) {
  auto const table = table_of("a,b\n");
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->num_columns(), 2);
}

}  // namespace
}  // namespace garuda::io
