#include "operators/vulkan/column_copies.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::vulkan {
namespace {

constexpr std::uint64_t kPinnedPieceBytes = std::uint64_t{32} << 20;
constexpr std::uint32_t kPinnedThreads = 4;  // that keep the device's copies queued
/// Bytes below which a copy takes less time than a further thread takes to start and to find its staging memory.
constexpr std::uint64_t kLeastThreadBytes = vk::kSourcePieceBytes;
/// Over PCIe the host writes so much in less time than a staged copy is submitted and waited for.
constexpr std::uint64_t kMostMappedBytes = std::uint64_t{256} << 10;

}  // namespace

Upload upload_of(vk::UploadMode mode) noexcept {
  switch (mode) {
    case vk::UploadMode::map:
      return Upload::map;
    case vk::UploadMode::import_host:
      return Upload::import;
    case vk::UploadMode::stage:
      break;
  }
  return Upload::stage;
}

vk::UploadMode mode_of(Upload upload) {
  GARUDA_EXPECTS(upload != Upload::automatic);
  if (upload == Upload::map) return vk::UploadMode::map;
  return upload == Upload::import ? vk::UploadMode::import_host : vk::UploadMode::stage;
}

Result<vk::UploadMode> upload_mode(vk::DeviceTraits const& traits, Upload upload) {
  switch (upload) {
    case Upload::map:
      if (!traits.device_memory_mappable()) {
        return fail(ErrorCode::no_device, fmt::format("upload=map needs host-visible device memory: {}", traits.name));
      }
      return vk::UploadMode::map;
    case Upload::stage:
      return vk::UploadMode::stage;
    case Upload::import:
      if (!traits.features.external_memory_host) {
        return fail(ErrorCode::no_device,
                    fmt::format("upload=import needs VK_EXT_external_memory_host: {}", traits.name));
      }
      return vk::UploadMode::import_host;
    case Upload::automatic:
      break;
  }
  return traits.imports_in_place() ? vk::UploadMode::import_host : vk::default_upload_mode(traits);
}

Result<Upload> upload_on(vk::Device const& device, Upload asked, std::uint64_t bytes) {
  auto const& traits = device.traits();
  bool const is_small = bytes <= kMostMappedBytes && traits.device_memory_mappable();
  auto const usual = is_small ? Upload::map : upload_of(vk::default_upload_mode(traits));
  auto const upload = asked == Upload::automatic ? usual : asked;
  GARUDA_TRY(upload_mode(traits, upload));
  return upload;
}

Result<std::unique_ptr<vk::CopyTeam>> open_copy_team(vk::Device& device, vk::CopyDirection direction,
                                                     ColumnCopies const& copies) {
  GARUDA_EXPECTS(copies.threads > 0);
  auto const most = copies.use_pinned ? std::min(copies.threads, kPinnedThreads) : copies.threads;
  auto const threads = std::clamp<std::uint64_t>(copies.bytes / kLeastThreadBytes, 1, most);
  auto options = vk::streaming_team(direction, static_cast<std::uint32_t>(threads), mode_of(copies.upload));
  if (copies.use_pinned) options.piece_bytes = kPinnedPieceBytes;
  options.transfer.use_pinned = copies.use_pinned;
  options.wait.cancelled = copies.cancelled;
  return vk::CopyTeam::create(device, device.graphics_queue(), options);
}

}  // namespace garuda::vulkan
