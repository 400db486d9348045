#include "bench/parts/copy_bandwidth.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "bench/gpu/resident_path.hpp"
#include "bench/parts/host_copy.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "bench/sampling.hpp"
#include "core/buffer.hpp"
#include "core/stopwatch.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::bench {
namespace {

constexpr std::int64_t kHostBytes = std::int64_t{256} << 20;
constexpr std::int64_t kDeviceBytes = std::int64_t{64} << 20;
constexpr std::uint64_t kStreamBytes = std::uint64_t{512} << 20;
constexpr std::uint64_t kStreamPieceBytes = std::uint64_t{32} << 20;
constexpr std::uint32_t kStreamThreads = 4;
constexpr int kRepetitions = 5;

/// Bytes a second of copies one way; the median.
Result<double> measure_stream(vk::Device& device, vk::CopyDirection direction, std::byte* host, bool pinned) {
  vk::MemoryArena arena(device);
  GARUDA_TRY_ASSIGN(auto const buffer, arena.buffer({.bytes = kStreamBytes, .name = "copied"}));
  vk::CopyTeamOptions options;
  options.direction = direction;
  options.threads = std::min(kStreamThreads, std::max(std::thread::hardware_concurrency(), 1U));
  options.piece_bytes = kStreamPieceBytes;
  options.transfer.mode = vk::UploadMode::stage;
  options.transfer.use_pinned = pinned;
  options.transfer.queue = direction == vk::CopyDirection::up ? 0 : 1;
  GARUDA_TRY_ASSIGN(auto const team, vk::CopyTeam::create(device, device.graphics_queue(), options));
  std::vector<double> samples;
  for (int i = 0; i < kRepetitions; ++i) {
    Stopwatch const watch;
    auto const group = team->start({{&buffer, 0, host, kStreamBytes}});
    GARUDA_TRY(team->wait(*group));
    samples.push_back(static_cast<double>(kStreamBytes) / static_cast<double>(watch.elapsed_ns()) * 1e9);
  }
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

Result<CopyBandwidth> measure_host_copy() {
  GARUDA_TRY_ASSIGN(auto copy, HostCopy::create(kHostBytes));
  std::vector<std::uint64_t> samples_ns;
  for (int i = 0; i < kRepetitions; ++i) samples_ns.push_back(copy.run());
  return CopyBandwidth{"host copy", per_second(copy.bytes(), summarise(samples_ns).median_ns)};
}

Result<CopyBandwidth> measure_device_copy(vk::Device& device) {
  GARUDA_TRY_ASSIGN(auto const copy,
                    calibrate::measure_device_copy(device, vk::default_upload_mode(device.traits()), kDeviceBytes));
  return CopyBandwidth{"device copy in and out",
                       2 * static_cast<double>(kDeviceBytes) / (copy.upload_ns + copy.download_ns) * 1e9};
}

}  // namespace

Result<StreamRates> measure_stream_rates(std::string_view device) {
  GARUDA_TRY_ASSIGN(auto const opened, open_device(device));
  StreamRates rates;
  rates.pinned = opened.device->pinned().is_supported();
  vk::PinnedMemory pinned;
  AlignedBuffer ordinary;
  if (rates.pinned) {
    GARUDA_TRY_ASSIGN(pinned, opened.device->pinned().allocate(kStreamBytes));
  } else {
    GARUDA_TRY_ASSIGN(ordinary, AlignedBuffer::allocate(static_cast<std::int64_t>(kStreamBytes)));
  }
  auto* const host = rates.pinned ? pinned.data() : ordinary.data();
  std::memset(host, 1, kStreamBytes);
  GARUDA_TRY_ASSIGN(rates.up_bytes_per_s, measure_stream(*opened.device, vk::CopyDirection::up, host, rates.pinned));
  GARUDA_TRY_ASSIGN(rates.down_bytes_per_s,
                    measure_stream(*opened.device, vk::CopyDirection::down, host, rates.pinned));
  return rates;
}

Result<CopyBandwidth> measure_bandwidth(Plan const& plan) {
  if (plan.path == Path::cpu) return measure_host_copy();
  if (plan.path == Path::cuda) return measure_cuda_copy(plan.device);
  GARUDA_TRY_ASSIGN(auto const opened, open_device(plan.device));
  return measure_device_copy(*opened.device);
}

}  // namespace garuda::bench
