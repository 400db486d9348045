// Tables that the CSV reader makes of text, and the lines that its errors name.
#include <gmock/gmock.h>

#include "io/table_stream.hpp"
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
  for (auto const* text : {"a,b\n", "a,b", "a,b\r\n", "\xEF\xBB\xBF\"a\",b"}) {
    auto const table = table_of(text);
    EXPECT_EQ(table->num_rows(), 0);
    EXPECT_EQ(table->ColumnNames(), (std::vector<std::string>{"a", "b"}));
  }
}

TEST_F(Csv, LongIntegersStayWhatTheyAre) {
  auto const unsigned_table = table_of("k\n18446744073709551615\n18446744073709551614\n\n0\n");
  EXPECT_TRUE(unsigned_table->column(0)->chunk(0)->Equals(
      *array(arrow::uint64(), "[18446744073709551615, 18446744073709551614, 0]")));
  auto const decimals = table_of("k,x\n-1,1\n18446744073709551616,2\n,3\n");
  EXPECT_TRUE(decimals->column(0)->chunk(0)->Equals(
      *array(arrow::decimal128(38, 0), R"(["-1", "18446744073709551616", null])")));
  std::string const nines(39, '9');
  auto const text = table_of("k\n" + nines + "\n7\n");
  EXPECT_TRUE(text->column(0)->chunk(0)->Equals(*array(arrow::utf8(), "[\"" + nines + "\", \"7\"]")));
  // Among floats, an integer is a float.
  EXPECT_EQ(table_of("k\n18446744073709551616\n0.5\n")->field(0)->type()->id(), arrow::Type::DOUBLE);
  EXPECT_EQ(table_of("k\n1.0\n1e20\n")->field(0)->type()->id(), arrow::Type::DOUBLE);
}

TEST_F(Csv, NamesTheLineOfAnOpenQuote) {
  EXPECT_THAT(error_of("id,s\n1,x\n2,\"abc\n3,def\n4,ghi\n"), HasSubstr("the quote opened in line 3 is not closed"));
  // The next quote of the file closes it, and would take a row with it.
  EXPECT_THAT(error_of("id,s\n1,\"abc\n2,\"def\n3,ghi\n"), HasSubstr("in line 3 text follows"));
  EXPECT_THAT(error_of("id,s\n1,\"abc\n2,\"def\n3,ghi\n"), HasSubstr("opened in line 2"));
  auto const table = table_of("s,n\n5\" pipe,1\n\"say \"\"hi\"\"\n\",2\n\"\"\"\",3");
  EXPECT_TRUE(table->column(0)->chunk(0)->Equals(*array(arrow::utf8(), R"(["5\" pipe", "say \"hi\"\n", "\""])")))
      << table->ToString();
}

TEST_F(Csv, AnOpenQuoteDoesNotGatherTheFile) {
  std::string text = "id,s\n1,\"abc\n";
  for (int i = 0; i < 7'000'000; ++i) text += "1234567,8\n";
  EXPECT_THAT(error_of(text), HasSubstr("the quote opened in line 2 is not closed"));
}

TEST_F(Csv, QuotesOnTheBordersOfBlocks) {
  // Records of different lengths put every part of a quoted value on a border somewhere.
  std::string text = "n,s\r\n";
  constexpr int kRows = 400'000;
  for (int i = 0; i < kRows; ++i)
    text += std::to_string(i) + ",\"" + std::string(static_cast<std::size_t>(i % 23), 'x') + "\"\"\r\n,\"\r\n";
  auto const table = table_of(text);
  ASSERT_EQ(table->num_rows(), kRows);
  auto const numbers = std::static_pointer_cast<arrow::Int64Array>(table->column(0)->chunk(0));
  auto const strings = std::static_pointer_cast<arrow::StringArray>(table->column(1)->chunk(0));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(numbers->Value(i), i);
    ASSERT_EQ(strings->GetView(i), std::string(static_cast<std::size_t>(i % 23), 'x') + "\"\r\n,");
  }
}

TEST_F(Csv, NamesTheValueThatIsNotUtf8) {
  EXPECT_THAT(error_of("id,city\n1,Bern\n2,Z\xFCrich\n"), HasSubstr("column city of line 3 is not UTF-8"));
  EXPECT_THAT(error_of("id,\xFC\n1,2\n"), HasSubstr("the name of column 2 is not UTF-8"));
  ReadOptions options;
  options.columns = {"id"};
  write_text(folder_ / "x.csv", "id,city\n1,Z\xFCrich\n");
  auto const others = read_table(folder_ / "x.csv", options);
  ASSERT_TRUE(others) << others.error().describe();
  EXPECT_EQ(others->num_rows(), 1);
}

/// A stream's types do not depend on the row where a column shows its type.
TEST_F(Csv, StreamsHaveTheTypesOfAllRows) {
  std::string text = "a,b\n";
  for (int i = 0; i < 1'000'000; ++i) text += "12345,\n";
  write_text(folder_ / "x.csv", text + "1.5,18446744073709551615\n");
  auto stream = TableStream::open(folder_ / "x.csv", {}, 1000);
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_TRUE(stream->schema()->Equals(
      *arrow::schema({arrow::field("a", arrow::float64()), arrow::field("b", arrow::uint64())})));
  ArrowBatches batches;
  while (true) {
    auto batch = stream->next();
    ASSERT_TRUE(batch) << batch.error().describe();
    if (*batch == nullptr) break;
    batches.push_back(*std::move(batch));
  }
  auto const whole = read_table(folder_ / "x.csv");
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_TRUE(arrow::Table::FromRecordBatches(batches).ValueOrDie()->Equals(*to_arrow(*whole)));
}

}  // namespace
}  // namespace garuda::io
