// Services of the operating system give the same results on every system.
#include <gtest/gtest.h>
#ifndef _WIN32
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/os/environment.hpp"
#include "core/os/file.hpp"
#include "core/os/file_lock.hpp"
#include "core/os/library.hpp"
#include "core/os/memory.hpp"
#include "core/os/output_file.hpp"
#include "core/os/process.hpp"
#include "core/os/processor.hpp"
#include "core/os/streams.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"

namespace garuda::os {
namespace {

namespace fs = std::filesystem;

/// A name beyond ASCII, in UTF-8.
constexpr auto const* kName = "Größe \xE2\x82\xAC";

std::string text_of(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class OsFiles : public ::testing::Test {
 protected:
  vk::ScratchFolder folder_;
};

TEST_F(OsFiles, OutputAppearsWholeUnderItsName) {
  auto const path = folder_.path() / to_path(std::string(kName) + ".csv");
  std::string const text = "a,b\n1,2\r\n\x1A";  // as it is: no line end is translated, no byte ends the file
  for (int round = 0; round < 2; ++round) {     // the second replaces the first
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file) << file.error().describe();
    EXPECT_EQ(fs::exists(path), round == 1);
    auto const descriptor = file->open();
    ASSERT_TRUE(descriptor) << descriptor.error().describe();
    ASSERT_EQ(write_all(*descriptor, text), 0);
    ASSERT_EQ(close_file(*descriptor), 0);
    auto const done = file->commit();
    ASSERT_TRUE(done) << done.error().describe();
  }
  EXPECT_EQ(text_of(path), text);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(OsFiles, OutputThatIsNotCommittedGoes) {
  { ASSERT_TRUE(OutputFile::create(folder_.path() / "x.csv")); }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  auto const nowhere = OutputFile::create(folder_.path() / "none" / "x.csv");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::output);
  EXPECT_NE(nowhere.error().describe().find("no such file or directory"), std::string::npos);
}

TEST_F(OsFiles, InputsAreOfAKindAndMapped) {
  auto const path = folder_.path() / to_path(kName);
  std::ofstream(path, std::ios::binary) << "bytes\n";
  auto const input = open_input(path);
  ASSERT_GE(input.file.descriptor, 0) << system_message(input.file.error_number);
  EXPECT_EQ(input.kind, FileKind::regular);
  EXPECT_EQ(input.bytes, 6U);
  auto const mapped = map_file(input.file.descriptor);
  ASSERT_NE(mapped.address, nullptr) << system_message(mapped.error_number);
  EXPECT_EQ(std::string(reinterpret_cast<char const*>(mapped.address), static_cast<std::size_t>(mapped.bytes)),
            "bytes\n");
  unmap_file(mapped);
  EXPECT_EQ(close_file(input.file.descriptor), 0);

  auto const folder = open_input(folder_.path());
  EXPECT_EQ(folder.kind, FileKind::folder);
  if (folder.file.descriptor >= 0) close_file(folder.file.descriptor);
  auto const missing = open_input(folder_.path() / "none");
  EXPECT_LT(missing.file.descriptor, 0);
  EXPECT_EQ(system_message(missing.file.error_number), "no such file or directory");
}

TEST_F(OsFiles, UnnamedFilesGoWithTheirLastDescriptor) {
  auto const file = create_unnamed_file(folder_.path());
  ASSERT_GE(file.descriptor, 0) << system_message(file.error_number);
  auto const second = duplicate(file.descriptor);
  ASSERT_GE(second.descriptor, 0);
  EXPECT_EQ(write_all(file.descriptor, "rows"), 0);
  EXPECT_EQ(close_file(file.descriptor), 0);
  EXPECT_EQ(write_all(second.descriptor, "more"), 0);
  EXPECT_EQ(close_file(second.descriptor), 0);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(OsFiles, ALockIsHeldOnce) {
  auto const path = folder_.path() / "lock";
  {
    auto const lock = FileLock::take(path);
    ASSERT_TRUE(lock);
    EXPECT_FALSE(FileLock::take(path));
  }
  EXPECT_TRUE(FileLock::take(path));
}

TEST(OsMemory, PagesAreAsLargeAsTheSystemSays) {
#ifdef _WIN32
  EXPECT_EQ(page_bytes(), 4'096) << "on x86-64";
#else
  EXPECT_EQ(page_bytes(), sysconf(_SC_PAGESIZE));
#endif
}

TEST(OsMemory, IsAlignedAndCounted) {
  constexpr std::size_t kAlignment = 4'096;
  auto* const memory = allocate_aligned(kAlignment, 3 * kAlignment);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kAlignment, 0U);
  free_aligned(memory);
  EXPECT_GT(available_memory_bytes(), 0U);
  EXPECT_GE(total_memory_bytes(), available_memory_bytes());
  EXPECT_TRUE(has_address_space(1 << 20));
  EXPECT_FALSE(has_address_space(~std::size_t{0} >> 1));
  if (!unmaps_parts()) return;
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  auto* const pages = map_pages(kHuge + kAlignment, kHuge);
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % kHuge, 0U);
  EXPECT_TRUE(std::all_of(pages, pages + kHuge + kAlignment, [](std::byte byte) { return byte == std::byte{}; }));
  unmap_pages(pages, kHuge);
  unmap_pages(pages + kHuge, kAlignment);
}

TEST(OsProcess, KnowsItself) {
  EXPECT_NE(process_id(), 0U);
  EXPECT_TRUE(fs::exists(executable())) << executable();
  EXPECT_TRUE(fs::equivalent(own_folder(), executable().parent_path()));
  EXPECT_FALSE(processor_name().empty());
  auto const here = system();
  ASSERT_TRUE(here);
  EXPECT_FALSE(here->name.empty());
  EXPECT_EQ(here->release.find_first_not_of("0123456789."), std::string::npos) << here->release;
}

#ifndef _WIN32
/// What a process that ends with a pipe's end, and maybe a device's file, leaves: its exit code, and the codes of the
/// processes that outlive it.
struct Ended {
  int code = -1;
  std::vector<int> outlived_by;
};

Ended end_one(int code, bool has_device, bool was_given_one = false) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  auto const process = ::fork();
  if (process == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    ::closefrom(STDERR_FILENO + 1);  // whoever started the tests may have left a device's file
    if (has_device) (void)::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (was_given_one) (void)::open("/dev/zero", O_RDONLY);
    end_before_drivers(code);
  }
  ::close(pipe[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  Ended ended{WEXITSTATUS(status), {}};
  EXPECT_TRUE(WIFEXITED(status));
  // Nobody else has the pipe, so its end is seen at once.
  std::array<pollfd, 1> reader{pollfd{pipe[0], POLLIN, 0}};
  EXPECT_EQ(::poll(reader.data(), reader.size(), 0), 1);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 0);
  ::close(pipe[0]);
  while (::waitpid(-1, &status, __WALL) > 0) ended.outlived_by.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  return ended;
}

TEST(OsProcess, LeavesDevicesToOneThatNobodyWaitsFor) {
  auto const with_device = end_one(7, true);
  EXPECT_EQ(with_device.code, 7);
  EXPECT_EQ(with_device.outlived_by, std::vector{0});
  auto const without = end_one(3, false);
  EXPECT_EQ(without.code, 3);
  EXPECT_TRUE(without.outlived_by.empty());
  // One that it was started with is not its own.
  auto const inherited = end_one(4, false, true);
  EXPECT_EQ(inherited.code, 4);
  EXPECT_TRUE(inherited.outlived_by.empty());
}
#endif

TEST(OsEnvironment, HoldsPathsInUtf8) {
  constexpr auto const* kVariable = "GARUDA_TEST_OS_VARIABLE";
  EXPECT_EQ(path_variable(kVariable), std::nullopt);
  set_variable(kVariable, kName);
  EXPECT_EQ(path_variable(kVariable), to_path(kName));
  set_variable(kVariable, std::nullopt);
  EXPECT_EQ(path_variable(kVariable), std::nullopt);
  EXPECT_TRUE(fs::is_directory(temporary_folder()));
}

TEST(OsLibraries, AreNamedWhereTheyAreMissing) {
  auto const library = LoadedLibrary::load("/nonexistent/" + library_file_name("garuda_none"));
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::no_device);
  EXPECT_NE(library.error().message().find("garuda_none"), std::string::npos);
}

TEST_F(OsFiles, AFileIsNoTerminal) {
  auto const file = create_file(folder_.path() / "x");
  ASSERT_GE(file.descriptor, 0);
  EXPECT_FALSE(is_terminal(file.descriptor));
  EXPECT_EQ(terminal_columns(file.descriptor), std::nullopt);
  EXPECT_TRUE(is_writable(file.descriptor));
  close_file(file.descriptor);
}

}  // namespace
}  // namespace garuda::os
