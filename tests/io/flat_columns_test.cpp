// Columns without nulls, which are decoded page by page, are read as any other: all types, pages and encodings.
#include <arrow/compute/cast.h>
#include <parquet/arrow/writer.h>

#include <array>
#include <filesystem>
#include <optional>
#include <random>
#include <span>

#include "io/columns/stored_types.hpp"
#include "io/file_dictionaries.hpp"
#include "io/table_stream.hpp"
#include "tests/io/arrow_tables.hpp"
#include "tests/test_run.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary

constexpr std::int64_t kRows = 1000;
constexpr std::int64_t kRowsOfGroup = 300;

/// Small numbers in no order; `with_nulls`: a few are.
std::shared_ptr<arrow::Array> numbers(bool with_nulls) {
  arrow::Int64Builder builder;
  for (std::int64_t i = 0; i < kRows; ++i)
    EXPECT_TRUE((with_nulls && i % 50 == 49 ? builder.AppendNull() : builder.Append(i * i % 97)).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> cast_to(arrow::Array const& values, std::shared_ptr<arrow::DataType> const& type) {
  return arrow::compute::Cast(values, type).ValueOrDie();
}

/// A column of each type that is decoded so, and some that are not.
std::shared_ptr<arrow::RecordBatch> flat_columns(bool with_nulls) {
  auto const wide = numbers(with_nulls);
  auto const narrow = cast_to(*wide, arrow::int32());
  auto const text = cast_to(*wide, arrow::utf8());
  using arrow::TimeUnit;
  return batch({{"int32", narrow},
                {"uint32", cast_to(*wide, arrow::uint32())},
                {"date32", narrow->View(arrow::date32()).ValueOrDie()},
                {"time32", narrow->View(arrow::time32(TimeUnit::MILLI)).ValueOrDie()},
                {"decimal32", cast_to(*narrow->View(arrow::decimal32(9, 2)).ValueOrDie(), arrow::decimal128(9, 2))},
                {"int64", wide},
                {"uint64", cast_to(*wide, arrow::uint64())},
                {"time64", wide->View(arrow::time64(TimeUnit::MICRO)).ValueOrDie()},
                {"timestamp", wide->View(arrow::timestamp(TimeUnit::MICRO, "UTC")).ValueOrDie()},
                {"decimal64", cast_to(*wide->View(arrow::decimal64(15, 2)).ValueOrDie(), arrow::decimal128(15, 2))},
                {"float32", cast_to(*wide, arrow::float32())},
                {"float64", cast_to(*wide, arrow::float64())},
                {"utf8", text},
                {"binary", cast_to(*text, arrow::binary())},
                {"large_utf8", cast_to(*text, arrow::large_utf8())},
                {"utf8_view", cast_to(*text, arrow::utf8_view())},
                {"int8", cast_to(*wide, arrow::int8())},
                {"boolean", cast_to(*wide, arrow::boolean())}});
}

struct Pages {
  parquet::ParquetDataPageVersion version = parquet::ParquetDataPageVersion::V1;
  std::int64_t dictionary_bytes = 1 << 20;  ///< 0: no dictionary; few: it is given up within a column chunk
  bool has_statistics = true;
  bool has_checksums = false;
  bool is_required = false;
  parquet::Compression::type codec = parquet::Compression::SNAPPY;
  bool is_packed = false;  ///< integers, and what is stored as such, as DELTA_BINARY_PACKED
};

bool is_stored_as_integers(arrow::DataType const& type) {
  return arrow::is_integer(type.id()) || arrow::is_decimal(type.id()) || type.id() == arrow::Type::DATE32 ||
         arrow::is_time(type.id()) || type.id() == arrow::Type::TIMESTAMP;
}

void write(std::filesystem::path const& path, arrow::RecordBatch const& rows, Pages const& pages) {
  parquet::WriterProperties::Builder builder;
  builder.data_page_version(pages.version)
      ->data_pagesize(256)
      ->write_batch_size(16)
      ->max_row_group_length(kRowsOfGroup)
      ->compression(pages.codec)
      ->enable_store_decimal_as_integer();
  if (pages.dictionary_bytes == 0) builder.disable_dictionary();
  if (!pages.has_statistics) builder.disable_statistics();
  if (pages.has_checksums) builder.enable_page_checksum();
  builder.dictionary_pagesize_limit(pages.dictionary_bytes);
  arrow::FieldVector fields;
  for (auto const& field : rows.schema()->fields()) {
    fields.push_back(field->WithNullable(!pages.is_required));
    if (pages.is_packed && is_stored_as_integers(*field->type()))
      builder.disable_dictionary(field->name())->encoding(field->name(), parquet::Encoding::DELTA_BINARY_PACKED);
  }
  auto const table = arrow::Table::Make(arrow::schema(fields), rows.columns());
  auto const sink = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  auto const properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, kRowsOfGroup, builder.build(), properties)
          .ok());
}

class FlatColumns : public ::testing::Test {
 protected:
  void expect_rows(arrow::RecordBatch const& rows, Pages const& pages) {
    auto const path = folder_ / "x.parquet";
    write(path, rows, pages);
    for (bool const as_stored : {false, true}) {
      ReadOptions options;
      options.as_stored = as_stored;
      auto const table = read_table(path, options);
      ASSERT_TRUE(table) << table.error().describe();
      auto const read = to_arrow(*table)->CombineChunksToBatch().ValueOrDie();
      auto const decoded = decoded_batch(read, 1).ValueOrDie();
      ASSERT_EQ(decoded->num_columns(), rows.num_columns());
      for (int i = 0; i < rows.num_columns(); ++i)
        EXPECT_TRUE(cast_to(*decoded->column(i), rows.column(i)->type())->Equals(rows.column(i)))
            << rows.schema()->field(i)->name() << " stored " << as_stored << " version "
            << static_cast<int>(pages.version) << " dictionary " << pages.dictionary_bytes << " statistics "
            << pages.has_statistics << " required " << pages.is_required << " packed " << pages.is_packed;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(FlatColumns, EveryTypeInEveryPage) {
  for (bool const with_nulls : {false, true}) {
    auto const rows = flat_columns(with_nulls);
    for (auto const version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2})
      for (std::int64_t const dictionary_bytes : {0, 100, 1 << 20})
        for (bool const has_statistics : {true, false})
          for (bool const is_required : {false, true})
            for (bool const is_packed : {false, true})
              if (!(is_required && with_nulls))
                expect_rows(*rows, {version, dictionary_bytes, has_statistics, true, is_required,
                                    parquet::Compression::SNAPPY, is_packed});
  }
}

TEST_F(FlatColumns, EveryCodec) {
  auto const rows = flat_columns(false);
  for (auto const codec : {parquet::Compression::UNCOMPRESSED, parquet::Compression::GZIP, parquet::Compression::ZSTD})
    for (auto const version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2})
      for (std::int64_t const dictionary_bytes : {0, 1 << 20})
        expect_rows(*rows, {version, dictionary_bytes, true, true, false, codec});
}

/// Values that compress, in pages of some size: copies that overlap, and literals.
TEST_F(FlatColumns, SnappyOfRuns) {
  arrow::Int64Builder builder;
  std::mt19937_64 random(3);
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    if (i % 7 == 0) value = static_cast<std::int64_t>(random() >> (random() % 64));
    ASSERT_TRUE(builder.Append(i < kRows / 2 ? value : i % 3).ok());
  }
  auto const rows = batch({{"runs", builder.Finish().ValueOrDie()}});
  for (auto const version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2})
    expect_rows(*rows, {version, 0, true, true, false});
}

TEST_F(FlatColumns, WithoutRows) { expect_rows(*flat_columns(false)->Slice(0, 0), {}); }

/// Nothing may be read beyond a page, whatever its bytes say; values may differ.
TEST_F(FlatColumns, RandomBytesChanged) {
  auto const path = folder_ / "x.parquet";
  auto const rows = flat_columns(false);
  std::mt19937 random(7);
  for (int kind = 0; kind < 4; ++kind) {
    auto const version = kind % 2 == 0 ? parquet::ParquetDataPageVersion::V1 : parquet::ParquetDataPageVersion::V2;
    write(path, *rows, {version, 1 << 20, true, false, false, parquet::Compression::SNAPPY, kind >= 2});
    auto const whole = read_text(path);
    for (int round = 0; round < 100; ++round) {
      auto bad = whole;
      for (int i = 0; i < 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
      write_text(folder_ / "bad.parquet", bad);
      ReadOptions options;
      options.as_stored = round % 2 == 0;
      auto const table = read_table(folder_ / "bad.parquet", options);
      if (table && table->num_rows() > 0) {
        EXPECT_TRUE(to_arrow(*table)->ValidateFull().ok());
      }
    }
  }
}

/// Rows that come batch by batch; nullopt: an error did.
std::optional<std::int64_t> rows_of_stream(std::filesystem::path const& path) {
  auto stream = TableStream::open(path, {}, 10);
  if (!stream) return std::nullopt;
  std::int64_t rows = 0;
  while (true) {
    auto const batch = stream->next();
    if (!batch) return std::nullopt;
    if (*batch == nullptr) return rows;
    rows += (*batch)->num_rows();
  }
}

/// Each byte of a column chunk, those of page headers and of Snappy's lengths among them: what is read then is valid.
TEST_F(FlatColumns, EveryByteOfAChunkChanged) {
  constexpr std::int64_t kFew = 24;
  constexpr std::array kChanges{0x01, 0x80, 0xFF};
  auto const path = folder_ / "x.parquet";
  auto const rows =
      batch({{"x", array(arrow::int64(), "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]")}});
  for (auto const version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2})
    for (std::int64_t const dictionary_bytes : {-1, 0, 1 << 20})
      for (bool const has_checksums : {false, true}) {
        bool const is_packed = dictionary_bytes < 0;
        write(path, *rows,
              {version, std::max<std::int64_t>(dictionary_bytes, 0), true, has_checksums, false,
               parquet::Compression::SNAPPY, is_packed});
        auto const whole = read_text(path);
        auto const chunk = parquet::ParquetFileReader::OpenFile(path.string())->metadata()->RowGroup(0)->ColumnChunk(0);
        auto const first = chunk->has_dictionary_page() ? chunk->dictionary_page_offset() : chunk->data_page_offset();
        auto const end = first + chunk->total_compressed_size();
        for (auto i = first; i < end; ++i)
          for (std::size_t c = 0; c < kChanges.size(); ++c) {
            auto const place = static_cast<std::size_t>(i);
            // Usual runs change a byte in one of these ways.
            if (!garuda::testing::full_tests() && place % kChanges.size() != c) continue;
            auto bad = whole;
            bad[place] = static_cast<char>(bad[place] ^ kChanges[c]);
            write_text(folder_ / "bad.parquet", bad);
            auto const table = read_table(folder_ / "bad.parquet", {});
            // The last byte is a page's.
            EXPECT_FALSE(table && has_checksums && i == end - 1);
            if (table) {
              EXPECT_EQ(table->num_rows(), kFew);
              EXPECT_TRUE(to_arrow(*table)->ValidateFull().ok());
            }
            if (auto const streamed = rows_of_stream(folder_ / "bad.parquet")) {
              EXPECT_EQ(*streamed, kFew);
            }
          }
      }
}

/// A chunk that ends early.
TEST_F(FlatColumns, CutOff) {
  auto const path = folder_ / "x.parquet";
  write(path, *flat_columns(false), {});
  auto const whole = read_text(path);
  for (std::size_t const missing : {1, 100, 1000}) {
    ASSERT_GT(whole.size(), 2 * missing);
    // The footer still counts what is gone from the middle.
    write_text(folder_ / "bad.parquet", whole.substr(0, 100) + whole.substr(100 + missing));
    EXPECT_FALSE(read_table(folder_ / "bad.parquet", {})) << missing;
  }
}

/// Values behind a boundary are told from values at it, in slices, too.
TEST(FileValues, IndicesAndDigitsAreChecked) {
  auto const is_valid = [](std::shared_ptr<arrow::ArrayData> const& data) {
    return FileDictionaries().validate({batch({{"x", arrow::MakeArray(data)}})}, 1).ok();
  };
  auto const words = array(arrow::utf8(), R"(["a", "b", "c"])")->data();
  auto const none = array(arrow::utf8(), "[]")->data();
  auto const codes = [&](std::string const& json, std::shared_ptr<arrow::ArrayData> const& dictionary) {
    auto data = array(arrow::int32(), json)->data()->Copy();
    data->type = arrow::dictionary(arrow::int32(), arrow::utf8());
    data->dictionary = dictionary;
    return data;
  };
  EXPECT_TRUE(is_valid(codes("[0, 1, 2]", words)));
  EXPECT_TRUE(is_valid(codes("[0, null, 2]", words)));
  EXPECT_TRUE(is_valid(codes("[]", none)));
  EXPECT_TRUE(is_valid(codes("[3, 2, -1]", words)->Slice(1, 1)));
  for (auto const* json : {"[0, 3]", "[-1]", "[-2147483648]", "[null, 3]"}) EXPECT_FALSE(is_valid(codes(json, words)));
  EXPECT_FALSE(is_valid(codes("[0]", none)));
  auto const digits = [](std::shared_ptr<arrow::DataType> const& type, std::shared_ptr<arrow::DataType> const& words_of,
                         std::string const& json) {
    auto data = array(words_of, json)->data()->Copy();
    data->type = type;
    return data;
  };
  auto const narrow = arrow::decimal32(3, 1);
  auto const wide = arrow::decimal64(18, 2);
  EXPECT_TRUE(is_valid(digits(narrow, arrow::int32(), "[999, -999, 0]")));
  EXPECT_TRUE(is_valid(digits(wide, arrow::int64(), "[999999999999999999, -999999999999999999, null]")));
  for (auto const* json : {"[1000]", "[-1000]", "[0, 2147483647]"})
    EXPECT_FALSE(is_valid(digits(narrow, arrow::int32(), json)));
  for (auto const* json : {"[1000000000000000000]", "[-1000000000000000000]", "[-9223372036854775808, 0]"})
    EXPECT_FALSE(is_valid(digits(wide, arrow::int64(), json)));
}

}  // namespace
}  // namespace garuda::io
