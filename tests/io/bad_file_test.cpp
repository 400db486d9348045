// Files that are missing, damaged or not what their name says: an error that names them, never a crash.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <random>

#include <arrow/util/compression.h>

#include "io/table_stream.hpp"
#include "tests/io/arrow_tables.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BadFile : public ::testing::Test {
 protected:
  void expect_error(std::string const& name, ErrorCode code, ::testing::Matcher<std::string> const& sentence) {
    SCOPED_TRACE(name);
    auto const table = read_table(folder_ / name);
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code(), code) << table.error().describe();
    EXPECT_THAT(table.error().describe(), AllOf(HasSubstr(name), sentence));
    EXPECT_EQ(table.error().describe().find('\n'), std::string::npos);
    EXPECT_FALSE(code != ErrorCode::cancelled && read_fields(folder_ / name) && name.ends_with(".parquet"));
  }

  Table sample() const {
    std::string numbers = "[0";
    std::string words = R"(["w0")";
    for (int i = 1; i < 200; ++i) {
      numbers += fmt::format(",{}", i * 7919 % 200);
      words += i % 9 == 0 ? ",null" : fmt::format(",\"word{}\"", i % 31);
    }
    auto const dictionary = arrow::dictionary(arrow::int8(), arrow::utf8());
    return to_garuda({batch({{"n", array(arrow::int64(), numbers + "]")},
                             {"w", array(arrow::utf8(), words + "]")},
                             {"d", array(dictionary, words + "]")}})});
  }

  TemporaryFolder folder_;
};

TEST_F(BadFile, MissingFolderAndUnknownExtension) {
  expect_error("none.parquet", ErrorCode::invalid_input, HasSubstr("no such file"));
  expect_error("none.csv", ErrorCode::invalid_input, HasSubstr("no such file"));
  expect_error("none.arrow", ErrorCode::invalid_input, HasSubstr("no such file"));
  std::filesystem::create_directory(folder_ / "folder.csv");
  expect_error("folder.csv", ErrorCode::invalid_input, HasSubstr("folder"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe.csv").c_str(), 0600), 0);
  expect_error("pipe.csv", ErrorCode::invalid_input, HasSubstr("regular"));
  write_text(folder_ / "x.txt", "a\n1\n");
  expect_error("x.txt", ErrorCode::usage, HasSubstr(".parquet"));
}

TEST_F(BadFile, NotReadable) {
  write_text(folder_ / "x.csv", "a\n1\n");
  ASSERT_EQ(::chmod((folder_ / "x.csv").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  OrdinaryUser const user;
  expect_error("x.csv", ErrorCode::invalid_input, HasSubstr("permission denied"));
}

TEST_F(BadFile, NotWhatTheExtensionSays) {
  for (auto const* name : {"x.parquet", "x.arrow", "x.feather"}) {
    write_text(folder_ / name, "");
    expect_error(name, ErrorCode::invalid_input, ::testing::_);
    write_text(folder_ / name, "id,name\n1,one\n2,two\n3,three, which is long enough for a footer\n");
    expect_error(name, ErrorCode::invalid_input, ::testing::_);
  }
  write_text(folder_ / "x.csv", "");
  expect_error("x.csv", ErrorCode::invalid_input, HasSubstr("mpty"));
}

TEST_F(BadFile, TruncatedAnywhere) {
  for (auto const* name : {"x.parquet", "x.arrow"}) {
    ASSERT_TRUE(write_table(folder_ / name, sample()));
    auto const whole = read_text(folder_ / name);
    for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 97) {
      write_text(folder_ / name, whole.substr(0, length));
      expect_error(name, ErrorCode::invalid_input, ::testing::_);
    }
  }
}

/// Changed bytes either go unnoticed, in a value, or are an error. What is read can be walked through in any case.
TEST_F(BadFile, RandomBytesChanged) {
  constexpr int kRounds = 400;
  constexpr std::uint32_t kSeed = 20240229;
  for (auto const* name : {"x.parquet", "x.arrow"}) {
    SCOPED_TRACE(::testing::Message() << name << ", seed " << kSeed);
    ASSERT_TRUE(write_table(folder_ / name, sample()));
    auto const whole = read_text(folder_ / name);
    std::mt19937 random(kSeed);
    int errors = 0;
    for (int round = 0; round < kRounds; ++round) {
      auto damaged = whole;
      for (int i = 0; i < 1 + round % 8; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      write_text(folder_ / name, damaged);
      auto const table = read_table(folder_ / name);
      if (!table) {
        ++errors;
        EXPECT_THAT(table.error().code(), ::testing::AnyOf(ErrorCode::invalid_input, ErrorCode::out_of_memory));
      } else if (table->num_rows() > 0) {
        EXPECT_TRUE(to_arrow(*table)->ValidateFull().ok());
      }
    }
    EXPECT_GT(errors, kRounds / 10);
  }
}

/// Writes pages with checksums and flips one bit of a value.
TEST_F(BadFile, ParquetPageThatContradictsItsChecksum) {
  auto const rows = batch({{"n", array(arrow::int64(), "[1, 2, 3, 1311768467463790320]")}});
  auto const properties = parquet::WriterProperties::Builder()
                              .disable_dictionary()
                              ->disable_statistics()
                              ->compression(parquet::Compression::UNCOMPRESSED)
                              ->enable_page_checksum()
                              ->build();
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.parquet").string()).ValueOrDie();
  ASSERT_TRUE(parquet::arrow::WriteTable(*arrow::Table::FromRecordBatches({rows}).ValueOrDie(),
                                         arrow::default_memory_pool(), sink, 4, properties)
                  .ok());
  ASSERT_TRUE(sink->Close().ok());
  ASSERT_TRUE(read_table(folder_ / "x.parquet"));
  auto bytes = read_text(folder_ / "x.parquet");
  auto const value = bytes.find("\xF0\xDE\xBC\x9A\x78\x56\x34\x12");
  ASSERT_NE(value, std::string::npos);
  bytes[value] ^= 1;
  write_text(folder_ / "x.parquet", bytes);
  auto const table = read_table(folder_ / "x.parquet");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(table.error().describe(), AllOf(HasSubstr("x.parquet"), HasSubstr("checksum")));
  auto stream = TableStream::open(folder_ / "x.parquet", {}, 2);
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_FALSE(stream->next());
}

TEST_F(BadFile, CompressedIpcWithAnImpossibleLength) {
  std::string numbers = "[0";
  for (int i = 1; i < 1000; ++i) numbers += ",5";
  auto const rows = batch({{"n", array(arrow::int64(), numbers + "]")}});
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME).ValueOrDie();
  for (bool const is_stream : {false, true}) {
    auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.arrow").string()).ValueOrDie();
    auto writer = (is_stream ? arrow::ipc::MakeStreamWriter(sink, rows->schema(), options)
                             : arrow::ipc::MakeFileWriter(sink, rows->schema(), options))
                      .ValueOrDie();
    ASSERT_TRUE(writer->WriteRecordBatch(*rows).ok() && writer->WriteRecordBatch(*rows).ok());
    ASSERT_TRUE(writer->Close().ok() && sink->Close().ok());
    auto bytes = read_text(folder_ / "x.arrow");
    auto const length = bytes.rfind(std::string("\x40\x1F\0\0\0\0\0\0", 8) + "\x04\x22\x4D\x18");
    ASSERT_NE(length, std::string::npos);
    bytes[length + 6] = 0x7F;
    write_text(folder_ / "x.arrow", bytes);
    expect_error("x.arrow", ErrorCode::invalid_input, HasSubstr("longer"));
  }
}

TEST_F(BadFile, IpcBuffersShorterThanItsRows) {
  // A batch that claims more rows than its buffers hold, as only a damaged file can.
  auto const values = array(arrow::int64(), "[1, 2, 3]");
  auto data = values->data()->Copy();
  data->length = 1'000'000;
  auto const rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), 1'000'000,
                                             std::vector<std::shared_ptr<arrow::ArrayData>>{data});
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.arrow").string()).ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(sink, rows->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*rows).ok() && writer->Close().ok() && sink->Close().ok());
  expect_error("x.arrow", ErrorCode::invalid_input, ::testing::_);
}

TEST_F(BadFile, UnknownAndAmbiguousColumns) {
  write_text(folder_ / "x.csv", "customer,orders,orders\n1,2,3\n");
  ReadOptions options;
  options.columns = {"custommer"};
  auto const unknown = read_table(folder_ / "x.csv", options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(unknown.error().describe(), AllOf(HasSubstr("custommer"), HasSubstr("customer"), HasSubstr("x.csv")));
  EXPECT_THAT(unknown.error().describe(), Not(HasSubstr("cannot read")));
  options.columns = {"orders"};
  auto const ambiguous = read_table(folder_ / "x.csv", options);
  ASSERT_FALSE(ambiguous);
  EXPECT_EQ(ambiguous.error().code(), ErrorCode::invalid_input);
}

TEST_F(BadFile, Cancelled) {
  std::atomic<bool> const cancelled = true;
  ReadOptions options;
  options.cancelled = &cancelled;
  for (auto const* name : {"x.parquet", "x.arrow", "x.csv"}) {
    ASSERT_TRUE(write_table(folder_ / name, sample()));
    auto const table = read_table(folder_ / name, options);
    ASSERT_FALSE(table) << name;
    EXPECT_EQ(table.error().code(), ErrorCode::cancelled) << table.error().describe();
  }
}

/// Somebody overwrites what is mapped: values change, while what says where they are was validated and stays.
TEST_F(BadFile, OverwrittenAfterItWasRead) {
  auto const binary = array(arrow::binary(), R"(["a", null, "ccc", "", "eeeee"])");
  auto const numbers = array(arrow::int64(), "[1, 2, 3, 4, 5]");
  auto const ids = array(arrow::int8(), "[0, 1, 0, 1, 0]");
  auto const places = array(arrow::int32(), "[0, 0, 1, 1, 2]");
  auto const written = batch(
      {{"binary", binary},
       {"large", array(arrow::large_binary(), R"(["a", null, "ccc", "", "eeeee"])")},
       {"view", array(arrow::binary_view(), R"(["a", null, "ccc", "", "eeeee"])")},
       {"dictionary", array(arrow::dictionary(arrow::int8(), arrow::binary()), R"(["a", null, "ccc", "a", "e"])")},
       {"list", array(arrow::list(arrow::binary()), R"([["a"], null, [], ["b", "c"], ["d"]])")},
       {"map", array(arrow::map(arrow::int64(), arrow::binary()), R"([[[1, "a"]], null, [], [[2, "b"]], [[3, "c"]]])")},
       {"sparse", arrow::SparseUnionArray::Make(*ids, {numbers, binary}).ValueOrDie()},
       {"dense", arrow::DenseUnionArray::Make(*ids, *places, {numbers, binary}).ValueOrDie()},
       {"runs", arrow::RunEndEncodedArray::Make(5, array(arrow::int32(), "[2, 5]"), array(arrow::int64(), "[7, 8]"))
                    .ValueOrDie()}});
  for (auto const* name : {"x.arrow", "x.arrows"}) {
    bool const is_stream = name == std::string("x.arrows");
    auto const path = folder_ / name;
    auto const sink = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
    auto const writer = (is_stream ? arrow::ipc::MakeStreamWriter(sink, written->schema())
                                   : arrow::ipc::MakeFileWriter(sink, written->schema()))
                            .ValueOrDie();
    ASSERT_TRUE(writer->WriteRecordBatch(*written).ok() && writer->Close().ok() && sink->Close().ok());
    auto const table = read_table(path);
    ASSERT_TRUE(table) << table.error().describe();
    auto const bytes = std::filesystem::file_size(path);
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << std::string(bytes, '\xFF');
    ASSERT_EQ(std::filesystem::file_size(path), bytes);
    auto const rows = to_arrow_batch(table->schema(), table->batches().front());
    ASSERT_TRUE(rows);
    for (int c = 0; c < (*rows)->num_columns(); ++c)
      EXPECT_TRUE((*rows)->column(c)->ValidateFull().ok())
          << name << ": " << (*rows)->schema()->field(c)->name() << (*rows)->column(c)->ValidateFull().ToString();
  }
}

}  // namespace
}  // namespace garuda::io
