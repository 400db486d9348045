// Tables that are written are read back, with every type that a format can hold.
#include <gmock/gmock.h>
#include <parquet/file_reader.h>

#include "tests/io/arrow_tables.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary

/// Every type of garuda with ordinary, extreme and null values.
std::vector<Column> all_columns() {
  using namespace arrow;
  using arrow::TimeUnit;
  return {
      {"boolean", array(boolean(), "[true, false, null, true]")},
      {"int8", array(int8(), "[-128, 127, null, 0]")},
      {"int16", array(int16(), "[-32768, 32767, null, 0]")},
      {"int32", array(int32(), "[-2147483648, 2147483647, null, 0]")},
      {"int64", array(int64(), "[-9223372036854775808, 9223372036854775807, null, 0]")},
      {"uint8", array(uint8(), "[0, 255, null, 1]")},
      {"uint16", array(uint16(), "[0, 65535, null, 1]")},
      {"uint32", array(uint32(), "[0, 4294967295, null, 1]")},
      {"uint64", array(uint64(), "[0, 18446744073709551615, null, 1]")},
      {"float16", array(float16(), "[1.5, -2, null, 0]")},
      {"float32", array(float32(), "[1.5, -3e38, null, 0]")},
      {"float64", array(float64(), "[0.1, -1e308, null, 0]")},
      {"decimal32", array(decimal32(7, 2), R"(["12345.67", "-0.01", null, "0.00"])")},
      {"decimal64", array(decimal64(15, 2), R"(["1234567890123.45", "-0.01", null, "0.00"])")},
      {"decimal128",
       array(decimal128(38, 3), R"(["12345678901234567890123456789012345.678", "-0.001", null, "0.000"])")},
      {"date32", array(date32(), "[-1, 19000, null, 0]")},
      {"date64", array(date64(), "[-86400000, 1641600000000, null, 0]")},
      {"time32_s", array(time32(TimeUnit::SECOND), "[0, 86399, null, 1]")},
      {"time32_ms", array(time32(TimeUnit::MILLI), "[0, 86399999, null, 1]")},
      {"time64_us", array(time64(TimeUnit::MICRO), "[0, 86399999999, null, 1]")},
      {"time64_ns", array(time64(TimeUnit::NANO), "[0, 86399999999999, null, 1]")},
      {"timestamp_s", array(timestamp(TimeUnit::SECOND), "[-1, 1700000000, null, 0]")},
      {"timestamp_us", array(timestamp(TimeUnit::MICRO, "UTC"), "[-1, 1700000000000000, null, 0]")},
      {"timestamp_ns", array(timestamp(TimeUnit::NANO), "[-1, 1700000000000000000, null, 0]")},
      {"duration", array(duration(TimeUnit::MICRO), "[-1, 1700000000, null, 0]")},
      {"fixed_size_binary", array(fixed_size_binary(3), R"(["abc", "xyz", null, "\u0000\u0001\u0002"])")},
      {"utf8", array(utf8(), R"(["one", "", null, "häßlich, \"quoted\"\nand broken"])")},
      {"large_utf8", array(large_utf8(), R"(["one", "", null, "four"])")},
      {"binary", array(binary(), R"(["one", "", null, "\u0000\u0001"])")},
      {"large_binary", array(large_binary(), R"(["one", "", null, "\u0000\u0001"])")},
      {"dictionary",
       json::DictArrayFromJSONString(arrow::dictionary(int32(), utf8()), "[1, 0, null, 1]", R"(["zero", "one"])")
           .ValueOrDie()},
  };
}

std::vector<Column> interval_columns() {
  using namespace arrow;
  return {{"months", array(month_interval(), "[1, -1, null, 0]")},
          {"days", array(day_time_interval(), "[[1, 2], [-1, 0], null, [0, 0]]")},
          {"all", array(month_day_nano_interval(), "[[1, 2, 3], [-1, 0, 5], null, [0, 0, 0]]")}};
}

/// The type that the Parquet format stores in place of one that it does not have.
std::shared_ptr<arrow::DataType> parquet_type(std::shared_ptr<arrow::DataType> const& type) {
  if (type->Equals(arrow::time32(arrow::TimeUnit::SECOND))) return arrow::time32(arrow::TimeUnit::MILLI);
  if (type->Equals(arrow::timestamp(arrow::TimeUnit::SECOND))) return arrow::timestamp(arrow::TimeUnit::MILLI);
  if (type->id() == arrow::Type::DATE64) return arrow::date32();
  return type;
}

/// `values` as that type: seconds in milliseconds, milliseconds of dates in days.
std::shared_ptr<arrow::Array> in_parquet(std::shared_ptr<arrow::Array> const& values) {
  auto const type = parquet_type(values->type());
  if (type->Equals(values->type())) return values;
  if (type->id() == arrow::Type::DATE32) return array(type, "[-1, 19000, null, 0]");
  std::string json = "[";
  for (std::int64_t i = 0; i < values->length(); ++i) {
    auto const number = values->type()->id() == arrow::Type::TIME32
                            ? std::int64_t{static_cast<arrow::Time32Array const&>(*values).Value(i)}
                            : static_cast<arrow::TimestampArray const&>(*values).Value(i);
    if (i > 0) json += ',';
    json += values->IsNull(i) ? "null" : std::to_string(number * 1000);
  }
  return array(type, json + "]");
}

class RoundTrip : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(RoundTrip, ParquetKeepsEveryTypeItHas) {
  for (auto const& column : all_columns()) {
    SCOPED_TRACE(column.name);
    auto const path = folder_ / (column.name + ".parquet");
    auto const written = write_table(path, to_garuda({batch({column})}));
    ASSERT_TRUE(written) << written.error().describe();
    EXPECT_EQ(*written, std::filesystem::file_size(path));
    auto const table = read_table(path);
    ASSERT_TRUE(table) << table.error().describe();
    auto const expected = batch({{column.name, in_parquet(column.values)}});
    EXPECT_TRUE(to_arrow(*table)->Equals(*arrow::Table::FromRecordBatches({expected}).ValueOrDie()))
        << to_arrow(*table)->ToString();
  }
}

TEST_F(RoundTrip, IpcKeepsEveryType) {
  auto columns = all_columns();
  for (auto const& column : interval_columns()) columns.push_back(column);
  for (auto const* name : {"all.arrow", "all.feather", "ALL.ARROW"}) {
    auto const rows = batch(columns);
    auto const written = write_table(folder_ / name, to_garuda({rows}));
    ASSERT_TRUE(written) << written.error().describe();
    auto const table = read_table(folder_ / name);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_TRUE(to_arrow(*table)->Equals(*arrow::Table::FromRecordBatches({rows}).ValueOrDie()));
  }
}

TEST_F(RoundTrip, TypesThatParquetLacksAreNamed) {
  for (auto const& column : interval_columns()) {
    auto const written = write_table(folder_ / "x.parquet", to_garuda({batch({column})}));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::invalid_input);
    EXPECT_THAT(written.error().describe(), ::testing::HasSubstr("interval"));
  }
  EXPECT_THAT(folder_.names(), ::testing::IsEmpty());
}

TEST_F(RoundTrip, ValuesThatTheOutputCannotHoldAreTheInputsFault) {
  auto const refused = [&](std::string const& name, std::shared_ptr<arrow::Array> const& values) {
    auto const written = write_table(folder_ / name, to_garuda({batch({{"c", values}})}));
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code(), ErrorCode::invalid_input) << written.error().describe();
    EXPECT_THAT(written.error().describe(), ::testing::HasSubstr(name));
  };
  auto const bytes = std::make_shared<arrow::BinaryArray>(1, arrow::Buffer::FromVector(std::vector<std::int32_t>{0, 2}),
                                                          arrow::Buffer::FromString("\xFF\xFE"));
  refused("x.csv", bytes);
  for (auto const& column : interval_columns()) refused("x.csv", column.values);
  arrow::Decimal128Builder hundreds(arrow::decimal128(5, -2));
  ASSERT_TRUE(hundreds.Append(arrow::Decimal128(12)).ok());
  refused("x.parquet", hundreds.Finish().ValueOrDie());
  refused("x.parquet", array(arrow::timestamp(arrow::TimeUnit::SECOND), "[4611686018427387904]"));
  EXPECT_THAT(folder_.names(), ::testing::IsEmpty());
}

TEST_F(RoundTrip, CsvWritesValuesAsText) {
  for (auto const& column : all_columns()) {
    SCOPED_TRACE(column.name);
    auto const written = write_table(folder_ / "x.csv", to_garuda({batch({column})}));
    EXPECT_TRUE(written) << written.error().describe();
  }
  auto const rows = batch({{"n", array(arrow::int32(), "[1, null]")},
                           {"a \"b\"", array(arrow::utf8(), R"(["x,\"y\"", null])")},
                           {"d", array(arrow::date32(), "[0, null]")}});
  ASSERT_TRUE(write_table(folder_ / "x.csv", to_garuda({rows})));
  EXPECT_EQ(read_text(folder_ / "x.csv"), "\"n\",\"a \"\"b\"\"\",\"d\"\n1,\"x,\"\"y\"\"\",1970-01-01\n,,\n");
}

TEST_F(RoundTrip, CsvKeepsWhatItCanInfer) {
  auto const rows = batch({{"i", array(arrow::int64(), "[1, null, -3]")},
                           {"f", array(arrow::float64(), "[0.1, null, 1e300]")},
                           {"b", array(arrow::boolean(), "[true, null, false]")},
                           {"d", array(arrow::date32(), "[0, null, 20000]")},
                           {"t", array(arrow::timestamp(arrow::TimeUnit::SECOND), "[0, null, 1700000000]")},
                           {"s", array(arrow::utf8(), R"(["", null, "NA\r\n\"x\", y"])")}});
  ASSERT_TRUE(write_table(folder_ / "x.csv", to_garuda({rows})));
  auto const table = read_table(folder_ / "x.csv");
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_TRUE(to_arrow(*table)->Equals(*arrow::Table::FromRecordBatches({rows}).ValueOrDie()))
      << to_arrow(*table)->ToString();
}

TEST_F(RoundTrip, TablesWithoutRows) {
  auto const rows = batch({{"i", array(arrow::int64(), "[]")}, {"s", array(arrow::utf8(), "[]")}});
  for (auto const* name : {"x.parquet", "x.arrow"}) {
    ASSERT_TRUE(write_table(folder_ / name, to_garuda({rows})));
    auto const table = read_table(folder_ / name);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(table->num_rows(), 0);
    EXPECT_EQ(table->schema()[0].type.id, TypeId::int64);
    EXPECT_EQ(table->schema()[1].type.id, TypeId::utf8);
  }
  ASSERT_TRUE(write_table(folder_ / "x.csv", to_garuda({rows})));
  ReadOptions options;
  options.types_without_values = {{"i", DataType{TypeId::int64}}};
  auto const table = read_table(folder_ / "x.csv", options);
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->schema()[0].type.id, TypeId::int64);
  EXPECT_EQ(table->schema()[1].type.id, TypeId::utf8);
}

TEST_F(RoundTrip, SlicedBatches) {
  auto const rows = batch(all_columns())->Slice(1, 2);
  ASSERT_TRUE(write_table(folder_ / "x.arrow", to_garuda({rows, rows})));
  auto const table = read_table(folder_ / "x.arrow");
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_TRUE(to_arrow(*table)->Equals(
      *arrow::Table::FromRecordBatches({rows, rows}).ValueOrDie()->CombineChunks().ValueOrDie()));
}

TEST_F(RoundTrip, RowGroupsAreBounded) {
  auto const rows = batch({{"s", array(arrow::utf8(), R"(["0123456789012345678901234567890123456789", "b"])")}});
  ArrowBatches batches(100, rows);
  WriteOptions options;
  options.row_group_rows = 50;
  ASSERT_TRUE(write_table(folder_ / "rows.parquet", to_garuda(batches), options));
  options.row_group_rows = 1000;
  options.row_group_bytes = 500;
  ASSERT_TRUE(write_table(folder_ / "bytes.parquet", to_garuda(batches), options));
  auto const row_groups = [&](std::string const& name) {
    return parquet::ParquetFileReader::OpenFile((folder_ / name).string())->metadata()->num_row_groups();
  };
  EXPECT_EQ(row_groups("rows.parquet"), 4);
  EXPECT_GE(row_groups("bytes.parquet"), 10);
  for (auto const* name : {"rows.parquet", "bytes.parquet"}) {
    auto const table = read_table(folder_ / name);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_EQ(table->num_rows(), 200);
  }
}

TEST_F(RoundTrip, OnlyChosenColumnsAreRead) {
  auto const rows = batch({{"a", array(arrow::int32(), "[1, 2]")},
                           {"list", array(arrow::list(arrow::int32()), "[[1], [2, 3]]")},
                           {"names", array(arrow::list(arrow::utf8()), R"([["x"], ["y"]])")},
                           {"b", array(arrow::utf8(), R"(["x", "y"])")},
                           {"s", array(arrow::struct_({arrow::field("x", arrow::int32())}), "[[1], [2]]")},
                           {"c", array(arrow::int8(), "[1, 2]")}});
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.arrow").string()).ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(sink, rows->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*rows).ok() && writer->Close().ok() && sink->Close().ok());
  sink = arrow::io::FileOutputStream::Open((folder_ / "x.parquet").string()).ValueOrDie();
  ASSERT_TRUE(parquet::arrow::WriteTable(*arrow::Table::FromRecordBatches({rows}).ValueOrDie(),
                                         arrow::default_memory_pool(), sink)
                  .ok());
  for (auto const* name : {"x.arrow", "x.parquet"}) {
    SCOPED_TRACE(name);
    ReadOptions options;
    options.columns = {"c", "b", "c"};
    auto const table = read_table(folder_ / name, options);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_TRUE(to_arrow(*table)->Equals(
        *arrow::Table::FromRecordBatches({rows->SelectColumns({3, 5}).ValueOrDie()}).ValueOrDie()));
    options.columns = {"a", "list"};
    auto const nested = read_table(folder_ / name, options);
    ASSERT_TRUE(nested) << nested.error().describe();
    EXPECT_TRUE(to_arrow(*nested)->column(1)->Equals(arrow::ChunkedArray(rows->column(1))));
    auto const fields = read_fields(folder_ / name);
    ASSERT_TRUE(fields) << fields.error().describe();
    EXPECT_TRUE((*fields)[0].field.has_value());
    ASSERT_TRUE((*fields)[1].field.has_value());
    EXPECT_EQ((*fields)[1].field->type.id, TypeId::nested);
    EXPECT_THAT((*fields)[1].type, ::testing::HasSubstr("list<"));
    EXPECT_TRUE((*fields)[4].field.has_value());
  }
}

TEST_F(RoundTrip, DictionariesOfBatchesAreUnified) {
  auto const type = arrow::dictionary(arrow::int32(), arrow::utf8());
  auto const make = [&](char const* indices, char const* values) {
    return batch({{"d", arrow::json::DictArrayFromJSONString(type, indices, values).ValueOrDie()}});
  };
  ArrowBatches const batches = {make("[0, 1]", R"(["a", "b"])"), make("[1, 0]", R"(["c", "a"])")};
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.parquet").string()).ValueOrDie();
  auto const source = arrow::Table::FromRecordBatches(batches).ValueOrDie();
  auto const properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*source, arrow::default_memory_pool(), sink, 2,
                                         parquet::default_writer_properties(), properties)
                  .ok());
  auto const table = read_table(folder_ / "x.parquet");
  ASSERT_TRUE(table) << table.error().describe();
  ASSERT_EQ(table->batches().size(), 2);
  EXPECT_EQ(table->batches()[0].columns[0].dictionary->length, 3);
  ASSERT_TRUE(write_table(folder_ / "y.arrow", *table));
  auto const again = read_table(folder_ / "y.arrow");
  ASSERT_TRUE(again) << again.error().describe();
  auto const column = to_arrow(*again)->column(0)->chunk(0);
  std::string text;
  for (std::int64_t i = 0; i < column->length(); ++i) {
    auto const value = column->GetScalar(i).ValueOrDie();
    text += static_cast<arrow::DictionaryScalar const&>(*value).GetEncodedValue().ValueOrDie()->ToString();
  }
  EXPECT_EQ(text, "abac");
}

TEST_F(RoundTrip, ViewsStayViewsButInText) {
  auto const* const text = R"(["short", null, "longer than the twelve bytes of a view", ""])";
  auto const* const bytes = R"(["a", "longer than the twelve bytes of a view", null, ""])";
  auto const rows = batch({{"u", array(arrow::utf8_view(), text)},
                           {"b", array(arrow::binary_view(), bytes)},
                           {"i", array(arrow::int32(), "[1, 2, 3, null]")}});
  auto const expected = arrow::Table::FromRecordBatches({rows}).ValueOrDie();
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.arrow").string()).ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(sink, rows->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*rows).ok() && writer->Close().ok() && sink->Close().ok());
  sink = arrow::io::FileOutputStream::Open((folder_ / "x.parquet").string()).ValueOrDie();
  // With the Arrow schema in the file, the columns are read as views again.
  auto const properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*arrow::Table::FromRecordBatches({rows}).ValueOrDie(),
                                         arrow::default_memory_pool(), sink, 2, parquet::default_writer_properties(),
                                         properties)
                  .ok());
  ASSERT_TRUE(sink->Close().ok());
  for (auto const* name : {"x.arrow", "x.parquet"}) {
    SCOPED_TRACE(name);
    auto const table = read_table(folder_ / name);
    ASSERT_TRUE(table) << table.error().describe();
    EXPECT_TRUE(to_arrow(*table)->Equals(*expected)) << to_arrow(*table)->ToString();
    auto const fields = read_fields(folder_ / name);
    ASSERT_TRUE(fields) << fields.error().describe();
    ASSERT_TRUE((*fields)[0].field && (*fields)[1].field);
    EXPECT_EQ((*fields)[0].field->type.id, TypeId::utf8_view);
    EXPECT_EQ((*fields)[1].field->type.id, TypeId::binary_view);
    ASSERT_TRUE(write_table(folder_ / "x.csv", *table));
    ASSERT_TRUE(write_table(folder_ / "again.arrow", *table));
    auto const again = read_table(folder_ / "again.arrow");
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE(to_arrow(*again)->Equals(*expected)) << to_arrow(*again)->ToString();
  }
}

}  // namespace
}  // namespace garuda::io
