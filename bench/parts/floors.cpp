#include "bench/parts/floors.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "bench/gpu/resident_path.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::bench {
namespace {

using calibrate::PixelOrder;
using calibrate::PointTarget;

std::uint64_t points_in(RunStats const& stats, std::string_view phase) {
  std::uint64_t points = 0;
  for (auto const& one : stats.phases)
    if (one.name == phase) points += one.items;
  return points;
}

bool has_counter(RunStats const& stats, std::string_view name) {
  return std::ranges::any_of(stats.counters, [&](auto const& one) { return one.first == name && one.second > 0; });
}

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

std::uint64_t point_bytes(PointTarget target, std::uint64_t points) noexcept {
  return points * sizeof(std::uint32_t) * (1 + calibrate::words_per_pixel(target));
}

std::vector<DrawnPoints> points_of_join(Plan const& plan, RunStats const& stats) {
  auto const hashed = plan.key_bits == 32 ? PointTarget::overwrite_2 : PointTarget::overwrite_4;
  // Slices whose rows are runs overwrite (first, count) where others add to the CountFBO.
  auto const counted = has_counter(stats, "run_slices") ? PointTarget::overwrite_2 : PointTarget::add;
  std::vector<DrawnPoints> drawn{{"statistics", PointTarget::add, PixelOrder::random},
                                 {"build", hashed, PixelOrder::random},
                                 {"count", counted, PixelOrder::ordered},
                                 {"probe", PointTarget::overwrite_2, PixelOrder::ordered}};
  for (auto& one : drawn) one.points = points_in(stats, one.phase);
  std::erase_if(drawn, [](DrawnPoints const& one) { return one.points == 0; });
  return drawn;
}

Result<std::vector<PhaseStats>> raster_floor(std::string_view device, std::vector<DrawnPoints> const& drawn) {
  GARUDA_TRY_ASSIGN(auto const opened, open_lane(device, "bench draws"));
  Control const control;
  calibrate::MeasuringTime const time(control, calibrate::kMostMeasuring, false);
  std::vector<PhaseStats> phases;
  for (auto const& one : drawn) {
    GARUDA_TRY_ASSIGN(auto const per_s,
                      calibrate::measure_points(*opened.lane, *opened.pipelines, one.target, one.order, time, 1));
    GARUDA_TRY(opened.lane->reset());
    auto const ns = static_cast<std::uint64_t>(static_cast<double>(one.points) / per_s * 1e9);
    phases.push_back({std::string(one.phase), ns, point_bytes(one.target, one.points), one.points});
  }
  return phases;
}

}  // namespace garuda::bench
