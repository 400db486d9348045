// A result file is there whole or not at all.
#include "core/os/output_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <random>

#include "tests/io/arrow_tables.hpp"
#include "tests/small_files.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// 0, and such as no format makes shorter.
Table numbers(int rows) {
  arrow::Int64Builder builder;
  std::mt19937_64 random(1);
  for (int i = 0; i < rows; ++i)
    EXPECT_TRUE(builder.Append(static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * random())).ok());
  return to_garuda({batch({{"n", builder.Finish().ValueOrDie()}})});
}

class OutputFileTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(OutputFileTest, AppearsOnCommit) {
  for (auto const* name : {"x.parquet", "x.arrow", "x.csv"}) {
    auto const table = numbers(10);
    auto writer = TableWriter::open(folder_ / name, table.schema());
    ASSERT_TRUE(writer) << writer.error().describe();
    ASSERT_TRUE(writer->write(table.batches()[0]));
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
    ASSERT_TRUE(writer->finish());
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
    ASSERT_TRUE(writer->commit());
    EXPECT_THAT(folder_.names(), ElementsAre(name));
    std::filesystem::remove(folder_ / name);
  }
}

TEST_F(OutputFileTest, DisappearsUnfinished) {
  for (auto const* name : {"x.parquet", "x.arrow", "x.csv"}) {
    auto const table = numbers(10);
    {
      auto writer = TableWriter::open(folder_ / name, table.schema());
      ASSERT_TRUE(writer) << writer.error().describe();
      ASSERT_TRUE(writer->write(table.batches()[0]));
      EXPECT_FALSE(std::filesystem::exists(folder_ / name));
    }
    EXPECT_THAT(folder_.names(), IsEmpty());
  }
}

TEST_F(OutputFileTest, FullDiskLeavesNothing) {
  auto const table = numbers(300'000);
  for (auto const* name : {"x.parquet", "x.arrow", "x.csv"}) {
    garuda::testing::SmallFiles const limit(100'000);
    auto const written = write_table(folder_ / name, table);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code(), ErrorCode::output);
    EXPECT_THAT(written.error().describe(), ::testing::AllOf(HasSubstr(name), HasSubstr(": file too large")));
    EXPECT_THAT(folder_.names(), IsEmpty());
  }
}

/// A file that just does not fit fails when its footer is written, not before.
TEST_F(OutputFileTest, FullDiskAtTheLastByte) {
  auto const table = numbers(1000);
  for (auto const* name : {"x.parquet", "x.arrow", "x.csv"}) {
    auto const size = write_table(folder_ / name, table);
    ASSERT_TRUE(size);
    std::filesystem::remove(folder_ / name);
    garuda::testing::SmallFiles const limit(*size - 1);
    auto const written = write_table(folder_ / name, table);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code(), ErrorCode::output);
    EXPECT_THAT(folder_.names(), IsEmpty());
  }
}

TEST_F(OutputFileTest, RefusesFoldersThatAreNotThere) {
  auto const file = os::OutputFile::create(folder_ / "none/x.csv");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::output);
  EXPECT_THAT(file.error().describe(), ::testing::AllOf(HasSubstr("none/x.csv"), HasSubstr("no such file")));
}

TEST_F(OutputFileTest, RefusesAFolderAndADevice) {
  std::filesystem::create_directory(folder_ / "x.csv");
  auto const folder = os::OutputFile::create(folder_ / "x.csv");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), ErrorCode::output);
  std::filesystem::create_symlink("/dev/full", folder_ / "full.csv");
  auto const device = os::OutputFile::create(folder_ / "full.csv");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), ErrorCode::output);
}

TEST_F(OutputFileTest, RefusesAFolderWithoutPermission) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  OrdinaryUser const user;
  auto const file = os::OutputFile::create(folder_ / "x.csv");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::output);
  EXPECT_THAT(file.error().describe(), HasSubstr("permission denied"));
}

TEST_F(OutputFileTest, ReplacesTheTargetOfALinkAndKeepsItsPermissions) {
  write_text(folder_ / "target.csv", "before");
  ASSERT_EQ(::chmod((folder_ / "target.csv").c_str(), 0640), 0);
  std::filesystem::create_symlink("target.csv", folder_ / "link.csv");
  ASSERT_TRUE(write_table(folder_ / "link.csv", numbers(1)));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.csv"));
  EXPECT_EQ(read_text(folder_ / "target.csv"), "\"n\"\n0\n");
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "target.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640);
}

/// Whoever set the user for the old content did not set it for the new one.
TEST_F(OutputFileTest, KeepsNoSetUserId) {
  write_text(folder_ / "x.csv", "before");
  ASSERT_EQ(::chmod((folder_ / "x.csv").c_str(), 06755), 0);
  ASSERT_TRUE(write_table(folder_ / "x.csv", numbers(1)));
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "x.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755);
}

TEST_F(OutputFileTest, HasTheLongestName) {
  auto const name = std::string(251, 'n') + ".csv";
  for (int round = 0; round < 2; ++round) {  // made, then replaced
    auto const written = write_table(folder_ / name, numbers(1));
    ASSERT_TRUE(written) << written.error().describe();
    EXPECT_THAT(folder_.names(), ElementsAre(name));
  }
}

/// A file that somebody else made of that name meanwhile is replaced.
TEST_F(OutputFileTest, ReplacesWhatHasComeMeanwhile) {
  auto file = os::OutputFile::create(folder_ / "x.csv");
  ASSERT_TRUE(file);
  auto const descriptor = file->open();
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(os::write_all(*descriptor, "after"), 0);
  EXPECT_EQ(os::close_file(*descriptor), 0);
  write_text(folder_ / "x.csv", "before");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_text(folder_ / "x.csv"), "after");
  EXPECT_THAT(folder_.names(), ElementsAre("x.csv"));
}

TEST_F(OutputFileTest, MakesTheTargetOfALinkToNothing) {
  std::filesystem::create_directory(folder_ / "there");
  std::filesystem::create_symlink("there/second.csv", folder_ / "first.csv");
  std::filesystem::create_symlink("target.csv", folder_ / "there/second.csv");
  ASSERT_TRUE(write_table(folder_ / "first.csv", numbers(1)));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "first.csv"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "there/second.csv"));
  EXPECT_EQ(read_text(folder_ / "there/target.csv"), "\"n\"\n0\n");
}

TEST_F(OutputFileTest, RefusesLinksThatLeadNowhere) {
  std::filesystem::create_symlink("none/target.csv", folder_ / "link.csv");
  std::filesystem::create_symlink("second.csv", folder_ / "first.csv");
  std::filesystem::create_symlink("first.csv", folder_ / "second.csv");
  for (auto const* name : {"link.csv", "first.csv"}) {
    auto const file = os::OutputFile::create(folder_ / name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code(), ErrorCode::output);
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name));
  }
}

TEST_F(OutputFileTest, OverwritesTheFileThatIsBeingRead) {
  ASSERT_TRUE(write_table(folder_ / "x.arrow", numbers(1000)));
  auto const table = read_table(folder_ / "x.arrow");
  ASSERT_TRUE(table);
  ASSERT_TRUE(write_table(folder_ / "x.arrow", *table));
  auto const again = read_table(folder_ / "x.arrow");
  ASSERT_TRUE(again);
  EXPECT_TRUE(to_arrow(*again)->Equals(*to_arrow(numbers(1000))));
}

}  // namespace
}  // namespace garuda::io
