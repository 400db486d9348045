#include "bench/parts/copy_bandwidth.hpp"

#include <algorithm>
#include <thread>

#include "bench/gpu/resident_path.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::bench {
namespace {

constexpr std::int64_t kHostBytes = std::int64_t{256} << 20;
constexpr std::int64_t kDeviceBytes = std::int64_t{64} << 20;
constexpr std::int64_t kStreamBytes = std::int64_t{512} << 20;
constexpr std::uint64_t kPinnedPieceBytes = std::uint64_t{32} << 20;
constexpr std::uint32_t kPinnedThreads = 4;

}  // namespace

Result<StreamRates> measure_stream_rates(std::string_view device) {
  GARUDA_TRY_ASSIGN(auto const opened, open_device(device));
  StreamRates rates;
  rates.pinned = opened.device->pinned().is_supported();
  auto const measure = [&](vk::CopyDirection direction) {
    auto const most = rates.pinned ? kPinnedThreads : vk::kMostStreamingThreads;
    auto const threads = std::clamp(std::thread::hardware_concurrency(), 1U, most);
    auto team = vk::streaming_team(direction, threads, vk::UploadMode::stage);
    team.transfer.use_pinned = rates.pinned;
    if (rates.pinned) team.piece_bytes = kPinnedPieceBytes;
    return calibrate::measure_team_copy(*opened.device, team, kStreamBytes);
  };
  GARUDA_TRY_ASSIGN(rates.up_bytes_per_s, measure(vk::CopyDirection::up));
  GARUDA_TRY_ASSIGN(rates.down_bytes_per_s, measure(vk::CopyDirection::down));
  return rates;
}

Result<CopyBandwidth> measure_bandwidth(Plan const& plan) {
  if (plan.path == Path::cuda) return measure_cuda_copy(plan.device);
  if (plan.path == Path::cpu) {
    GARUDA_TRY_ASSIGN(auto const bytes_per_s, calibrate::measure_host_copy(kHostBytes));
    return CopyBandwidth{"host copy", bytes_per_s};
  }
  GARUDA_TRY_ASSIGN(auto const opened, open_device(plan.device));
  auto const mode = vk::default_upload_mode(opened.device->traits());
  GARUDA_TRY_ASSIGN(auto const copy, calibrate::measure_device_copy(*opened.device, mode, kDeviceBytes));
  return CopyBandwidth{"device copy in and out",
                       2 * static_cast<double>(kDeviceBytes) / (copy.upload_ns + copy.download_ns) * 1e9};
}

}  // namespace garuda::bench
