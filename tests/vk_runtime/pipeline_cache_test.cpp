#include "vk_runtime/pipeline_cache.hpp"

#include <gtest/gtest.h>
#include <volk.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "core/os/environment.hpp"
#include "tests/vk_runtime/fake_traits.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vk {
namespace {

namespace fs = std::filesystem;

/// Data as a driver makes it: Vulkan's header, then anything.
std::vector<std::byte> driver_data(DeviceTraits const& traits) {
  VkPipelineCacheHeaderVersionOne header{};
  header.headerSize = sizeof header;
  header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  header.vendorID = traits.vendor_id;
  header.deviceID = traits.device_id;
  std::memcpy(header.pipelineCacheUUID, traits.pipeline_cache_uuid.data(), VK_UUID_SIZE);
  std::vector<std::byte> data(sizeof header + 1'000, std::byte{0x5a});
  std::memcpy(data.data(), &header, sizeof header);
  return data;
}

class PipelineCacheFile : public ::testing::Test {
 protected:
  ScratchFolder folder_;
  DeviceTraits traits_ = usable_traits("a", DeviceType::discrete);
  std::vector<std::byte> data_ = driver_data(traits_);
  fs::path file_ = folder_.path() / "cache" / pipeline_cache_file_name(traits_);
};

TEST_F(PipelineCacheFile, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write_pipeline_cache(file_, traits_, data_));
  EXPECT_EQ(read_pipeline_cache(file_, traits_), data_);
  // Nothing but the file itself remains.
  EXPECT_EQ(std::distance(fs::directory_iterator(file_.parent_path()), fs::directory_iterator()), 1);
}

TEST_F(PipelineCacheFile, MissingFileIsEmpty) { EXPECT_TRUE(read_pipeline_cache(file_, traits_).empty()); }

TEST_F(PipelineCacheFile, EveryDamagedByteIsNoticed) {
  ASSERT_TRUE(write_pipeline_cache(file_, traits_, data_));
  auto const size = static_cast<std::streamoff>(fs::file_size(file_));
  for (std::streamoff at = 0; at < size; at += 7) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    auto const byte = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    EXPECT_TRUE(read_pipeline_cache(file_, traits_).empty()) << at;
    file.open(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put(byte);
  }
  EXPECT_FALSE(read_pipeline_cache(file_, traits_).empty());
}

TEST_F(PipelineCacheFile, TruncatedAndEmptyFilesAreIgnored) {
  ASSERT_TRUE(write_pipeline_cache(file_, traits_, data_));
  for (std::uintmax_t size = fs::file_size(file_); size-- > 0; size -= std::min<std::uintmax_t>(size, 50)) {
    fs::resize_file(file_, size);
    EXPECT_TRUE(read_pipeline_cache(file_, traits_).empty()) << size;
  }
}

TEST_F(PipelineCacheFile, OtherDevicesAndDriversAreIgnored) {
  ASSERT_TRUE(write_pipeline_cache(file_, traits_, data_));
  DeviceTraits other = traits_;
  other.driver_version += 1;
  EXPECT_TRUE(read_pipeline_cache(file_, other).empty());
  EXPECT_NE(pipeline_cache_file_name(other), pipeline_cache_file_name(traits_));
  other = traits_;
  other.uuid[5] = 1;
  EXPECT_TRUE(read_pipeline_cache(file_, other).empty());
  EXPECT_NE(pipeline_cache_file_name(other), pipeline_cache_file_name(traits_));
  other = traits_;
  other.pipeline_cache_uuid[5] = 1;
  EXPECT_TRUE(read_pipeline_cache(file_, other).empty());
  // The driver's own header is looked at too.
  data_[8] ^= std::byte{1};
  ASSERT_TRUE(write_pipeline_cache(file_, traits_, data_));
  EXPECT_TRUE(read_pipeline_cache(file_, traits_).empty());
}

TEST_F(PipelineCacheFile, UnwritableFolderIsReported) {
  std::ofstream(folder_.path() / "cache") << "a file where the folder should be";
  EXPECT_FALSE(write_pipeline_cache(file_, traits_, data_));
}

TEST(DefaultCacheFolder, FollowsTheEnvironment) {
  constexpr std::array kNames{"XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"};
  std::vector<std::optional<std::string>> before;
  for (auto const* name : kNames) {
    char const* value = std::getenv(name);
    before.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
  }
  auto const home = fs::temp_directory_path() / "someone";
  os::set_variable("HOME", home.string());
  os::set_variable("LOCALAPPDATA", (home / ".cache").string());
  os::set_variable("XDG_CACHE_HOME", (home / "caches").string());
  EXPECT_EQ(default_cache_folder(), home / "caches" / "garuda");
  os::set_variable("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(default_cache_folder(), home / ".cache" / "garuda");
  for (auto const* name : kNames) os::set_variable(name, std::nullopt);
  EXPECT_EQ(default_cache_folder(), std::nullopt);
  for (std::size_t i = 0; i < kNames.size(); ++i) os::set_variable(kNames.at(i), before.at(i));
}

}  // namespace
}  // namespace garuda::vk
