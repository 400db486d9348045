#include "vk_runtime/pipeline_cache.hpp"

#include <fmt/format.h>
#include <volk.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

#include "core/os/environment.hpp"
#include "core/os/process.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vk {
namespace {

namespace fs = std::filesystem;

/// Start of the file; the driver's data follows.
struct FileHeader {
  std::array<char, 8> magic{'G', 'A', 'R', 'U', 'D', 'A', 'P', '1'};
  std::array<std::uint8_t, 16> device_uuid{};
  std::array<std::uint8_t, 16> cache_uuid{};
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t driver_version = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FileHeader) == 72);

/// No driver writes as much for garuda's pipelines; a larger file is not ours.
constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;

/// FNV-1a, 64 bits: finds damage, not forgery.
std::uint64_t checksum(std::span<std::byte const> data) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::byte byte : data) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

FileHeader header_for(DeviceTraits const& traits, std::span<std::byte const> data) {
  FileHeader header;
  header.device_uuid = traits.uuid;
  header.cache_uuid = traits.pipeline_cache_uuid;
  header.vendor_id = traits.vendor_id;
  header.device_id = traits.device_id;
  header.driver_version = traits.driver_version;
  header.bytes = data.size();
  header.checksum = checksum(data);
  return header;
}

/// Whether Vulkan's own header at the start of the data names this device.
bool fits_device(std::span<std::byte const> data, DeviceTraits const& traits) {
  VkPipelineCacheHeaderVersionOne header;
  if (data.size() < sizeof header) return false;
  std::memcpy(&header, data.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == traits.vendor_id && header.deviceID == traits.device_id &&
         std::memcmp(header.pipelineCacheUUID, traits.pipeline_cache_uuid.data(), VK_UUID_SIZE) == 0;
}

}  // namespace

std::optional<fs::path> default_cache_folder() {
  auto const folder = os::cache_folder();
  if (!folder) return std::nullopt;
  return *folder / "garuda";
}

std::string pipeline_cache_file_name(DeviceTraits const& traits) {
  std::string uuid;
  for (std::uint8_t byte : traits.uuid) uuid += fmt::format("{:02x}", byte);
  return fmt::format("pipelines-{}-{:08x}.bin", uuid, traits.driver_version);
}

std::vector<std::byte> read_pipeline_cache(fs::path const& file, DeviceTraits const& traits) {
  std::error_code error;
  std::uintmax_t const size = fs::file_size(file, error);
  if (error || size < sizeof(FileHeader) || size > kLargestFile) return {};
  std::ifstream in(file, std::ios::binary);
  FileHeader header;
  std::vector<std::byte> data(size - sizeof header);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
  if (!in) return {};
  FileHeader const expected = header_for(traits, data);
  if (std::memcmp(&header, &expected, sizeof header) != 0 || !fits_device(data, traits)) return {};
  return data;
}

bool write_pipeline_cache(fs::path const& file, DeviceTraits const& traits, std::span<std::byte const> data) {
  static std::atomic<std::uint32_t> counter{0};
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return false;
  fs::path const temporary = fs::path(file).concat(fmt::format(".{}-{}", os::process_id(), counter.fetch_add(1)));
  FileHeader const header = header_for(traits, data);
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<char const*>(&header), sizeof header);
  out.write(reinterpret_cast<char const*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.close();
  if (out) fs::rename(temporary, file, error);
  if (out && !error) return true;
  fs::remove(temporary, error);
  return false;
}

}  // namespace garuda::vk
