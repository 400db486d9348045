// Table streams whose row groups are read side by side: the rows and errors of reading one after the other.
#include "io/table_stream.hpp"

#include <arrow/builder.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <string>
#include <vector>

#include "arrow_tables.hpp"

namespace garuda::io {
namespace {

using testing::TemporaryFolder;

constexpr std::int64_t kBatchRows = 70;
constexpr std::int64_t kGroupRows = 200;
constexpr std::uint64_t kEnough = 64 << 20;

/// Numbers from `first` on, with texts of all lengths and nulls.
std::shared_ptr<arrow::Table> numbered_rows(std::int64_t first, std::int64_t rows) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (auto i = first; i < first + rows; ++i) {
    EXPECT_TRUE(numbers.Append(i).ok());
    auto const text = std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), 'x');
    EXPECT_TRUE((i % 11 == 0 ? texts.AppendNull() : texts.Append(text)).ok());
  }
  auto const schema = arrow::schema({arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())});
  return arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

void write_parquet(arrow::Table const& rows, std::filesystem::path const& path) {
  std::filesystem::create_directories(path.parent_path());
  auto const properties = parquet::WriterProperties::Builder().enable_page_checksum()->disable_dictionary()->build();
  auto sink = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  ASSERT_TRUE(parquet::arrow::WriteTable(rows, arrow::default_memory_pool(), sink, kGroupRows, properties).ok());
  ASSERT_TRUE(sink->Close().ok());
}

struct Streamed {
  std::shared_ptr<arrow::Table> rows;
  std::vector<std::int64_t> batches;  ///< rows of each
  std::size_t readers = 0;
};

class TableStreams : public ::testing::Test {
 protected:
  TableStream open(TableFiles const& files, std::uint64_t ahead_bytes, std::uint32_t threads = 4) {
    ReadOptions options;
    options.threads = threads;
    auto stream = TableStream::open(files, options, kBatchRows, ahead_bytes);
    EXPECT_TRUE(stream) << stream.error().describe();
    return *std::move(stream);
  }

  /// All rows; `rests_every`: batches between rests, 0: none.
  Streamed read(TableStream& stream, int rests_every = 0) {
    ArrowBatches batches;
    Streamed streamed;
    double fraction = 0;
    while (true) {
      auto batch = stream.next();
      EXPECT_TRUE(batch) << batch.error().describe();
      if (!batch || *batch == nullptr) break;
      EXPECT_GE(stream.fraction_read(), fraction);
      EXPECT_LE(stream.fraction_read(), 1);
      fraction = stream.fraction_read();
      streamed.batches.push_back((*batch)->num_rows());
      batches.push_back(*std::move(batch));
      if (rests_every > 0 && static_cast<int>(batches.size()) % rests_every == 0) stream.rest();
    }
    EXPECT_EQ(stream.fraction_read(), 1);
    streamed.readers = stream.readers();
    streamed.rows = arrow::Table::FromRecordBatches(stream.schema(), batches).ValueOrDie();
    return streamed;
  }

  void expect_same_rows(TableFiles const& files) {
    auto alone = open(files, 0);
    auto const expected = read(alone);
    EXPECT_EQ(expected.readers, 1);
    for (int const rests_every : {0, 1, 5}) {
      auto ahead = open(files, kEnough);
      auto const streamed = read(ahead, rests_every);
      EXPECT_EQ(streamed.readers, 4);
      EXPECT_TRUE(streamed.rows->Equals(*expected.rows, true)) << rests_every;
      EXPECT_TRUE(streamed.rows->ValidateFull().ok());
    }
  }

  TemporaryFolder folder_;
};

TEST_F(TableStreams, RowGroupsOfAFile) {
  write_parquet(*numbered_rows(0, 25 * kGroupRows + 3), folder_ / "x.parquet");
  expect_same_rows(folder_ / "x.parquet");
}

TEST_F(TableStreams, FilesOfFolders) {
  for (int i = 0; i < 7; ++i)
    write_parquet(*numbered_rows(1000 * i, i * kGroupRows - (i > 1 ? 60 : 0)),
                  folder_ / ("part=" + std::to_string(i) + "/x.parquet"));
  auto const files = find_files(folder_.path().string());
  ASSERT_TRUE(files) << files.error().describe();
  expect_same_rows(*files);
}

TEST_F(TableStreams, OneReaderAndTooLittleMemory) {
  write_parquet(*numbered_rows(0, 10 * kGroupRows), folder_ / "x.parquet");
  auto one_thread = open(folder_ / "x.parquet", kEnough, 1);
  // What is taken is the same on any number of threads.
  EXPECT_EQ(one_thread.ahead_bytes(), kEnough);
  auto little = open(folder_ / "x.parquet", 1000);
  EXPECT_EQ(little.ahead_bytes(), 0);
  auto const rows = read(one_thread).rows;
  EXPECT_EQ(rows->num_rows(), 10 * kGroupRows);
  EXPECT_TRUE(rows->Equals(*read(little).rows, true));
}

TEST_F(TableStreams, BatchesThatDoNotFitComeOneByOne) {
  // Room for two readers, and next to none for their batches: 2 × (2 columns × (a buffer + 2 pages)), twice.
  write_parquet(*numbered_rows(0, 30 * kGroupRows), folder_ / "x.parquet");
  auto stream = open(folder_ / "x.parquet", std::uint64_t{4} * 2 * ((64 << 10) + 2 * 8000));
  auto const streamed = read(stream);
  EXPECT_GE(streamed.readers, 2);
  EXPECT_TRUE(streamed.rows->Equals(*numbered_rows(0, 30 * kGroupRows)));
}

TEST_F(TableStreams, RowGroupsWithoutRowsLeaveTheSizeOfBatches) {
  auto const rows = numbered_rows(0, kGroupRows);
  auto sink = arrow::io::FileOutputStream::Open((folder_ / "x.parquet").string()).ValueOrDie();
  auto writer = parquet::arrow::FileWriter::Open(*rows->schema(), arrow::default_memory_pool(), sink).ValueOrDie();
  for (auto const& table : {rows->Slice(0, 0), rows, rows->Slice(0, 0)})
    ASSERT_TRUE(writer->WriteTable(*table, kGroupRows).ok());
  ASSERT_TRUE(writer->Close().ok() && sink->Close().ok());
  auto stream = open(folder_ / "x.parquet", 0);
  EXPECT_THAT(read(stream).batches, ::testing::ElementsAre(kBatchRows, kBatchRows, kGroupRows - 2 * kBatchRows));
}

TEST_F(TableStreams, LeftInTheMiddle) {
  write_parquet(*numbered_rows(0, 50 * kGroupRows), folder_ / "x.parquet");
  for (int const batches : {0, 1, 7}) {
    auto stream = open(folder_ / "x.parquet", kEnough);
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(stream.next());
  }
}

TEST_F(TableStreams, ADamagedRowGroupIsAnErrorInItsTurn) {
  constexpr std::int64_t kBadGroup = 12;
  write_parquet(*numbered_rows(0, 20 * kGroupRows), folder_ / "x.parquet");
  auto bytes = testing::read_text(folder_ / "x.parquet");
  // A number that only that group has, as its eight bytes.
  std::int64_t const number = kBadGroup * kGroupRows + 100;
  std::string wanted(8, '\0');
  for (int i = 0; i < 8; ++i) wanted[static_cast<std::size_t>(i)] = static_cast<char>(number >> (8 * i));
  auto const at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 7] ^= 1;
  testing::write_text(folder_ / "x.parquet", bytes);
  auto stream = open(folder_ / "x.parquet", kEnough);
  std::int64_t rows = 0;
  while (true) {
    auto const batch = stream.next();
    if (!batch) {
      EXPECT_THAT(batch.error().describe(), ::testing::HasSubstr("x.parquet"));
      EXPECT_THAT(batch.error().describe(), ::testing::HasSubstr("checksum"));
      break;
    }
    ASSERT_NE(*batch, nullptr);
    rows += (*batch)->num_rows();
  }
  EXPECT_EQ(rows, kBadGroup * kGroupRows);
}

TEST_F(TableStreams, AFileThatDoesNotFitTheFirst) {
  write_parquet(*numbered_rows(0, 3 * kGroupRows), folder_ / "a.parquet");
  auto const other = numbered_rows(0, 10)->RenameColumns({"n", "u"}).ValueOrDie();
  write_parquet(*other, folder_ / "b.parquet");
  auto const files = find_files(folder_.path().string());
  ASSERT_TRUE(files);
  auto stream = open(*files, kEnough);
  std::int64_t rows = 0;
  auto batch = stream.next();
  for (; batch && *batch != nullptr; batch = stream.next()) rows += (*batch)->num_rows();
  ASSERT_FALSE(batch);
  EXPECT_THAT(batch.error().describe(), ::testing::HasSubstr("files of one table must have the same columns"));
  EXPECT_EQ(rows, 3 * kGroupRows);
}

TEST_F(TableStreams, Cancelled) {
  write_parquet(*numbered_rows(0, 50 * kGroupRows), folder_ / "x.parquet");
  std::atomic<bool> cancelled = false;
  ReadOptions options;
  options.threads = 4;
  options.cancelled = &cancelled;
  auto stream = TableStream::open(folder_ / "x.parquet", options, kBatchRows, kEnough);
  ASSERT_TRUE(stream && stream->next());
  cancelled = true;
  auto batch = stream->next();
  while (batch && *batch != nullptr) batch = stream->next();
  // All may have been read before.
  if (!batch) {
    EXPECT_EQ(batch.error().code(), ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace garuda::io
