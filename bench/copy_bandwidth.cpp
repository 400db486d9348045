#include "bench/copy_bandwidth.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstring>
#include <vector>

#include "bench/sampling.hpp"
#include "bench/stopwatch.hpp"
#include "bench/vulkan_device.hpp"
#include "core/buffer.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::bench {
namespace {

constexpr int kRepetitions = 5;
constexpr std::int64_t kHostBytes = std::int64_t{256} << 20;
constexpr std::int64_t kDeviceBytes = std::int64_t{64} << 20;

// Touches every page, so that the first timed copy does not pay for them.
Result<AlignedBuffer> filled_buffer(std::int64_t bytes) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(bytes));
  std::memset(buffer.data(), 1, static_cast<std::size_t>(bytes));
  return buffer;
}

}  // namespace

Result<CopyBandwidth> measure_host_copy() {
  GARUDA_TRY_ASSIGN(auto const source, filled_buffer(kHostBytes));
  GARUDA_TRY_ASSIGN(auto destination, filled_buffer(kHostBytes));
  std::vector<std::uint64_t> samples_ns;
  for (int i = 0; i < kRepetitions; ++i) {
    Stopwatch const watch;
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, kHostBytes, std::int64_t{1} << 20), [&](auto const& range) {
      std::memcpy(destination.data() + range.begin(), source.data() + range.begin(), range.size());
    });
    samples_ns.push_back(watch.elapsed_ns());
  }
  return CopyBandwidth{"host copy",
                       per_second(static_cast<std::uint64_t>(kHostBytes), summarise(samples_ns).median_ns)};
}

Result<CopyBandwidth> measure_device_copy(vk::Device& device) {
  vk::LaneOptions options;
  options.name = "copy bandwidth";
  options.transfer.mode = vk::default_upload_mode(device.traits());
  GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(device, options));
  GARUDA_TRY_ASSIGN(auto host, filled_buffer(kDeviceBytes));
  GARUDA_TRY_ASSIGN(auto const buffer,
                    lane->arena().buffer({.bytes = static_cast<std::uint64_t>(kDeviceBytes), .name = "copied"}));
  auto const bytes = std::span(host.data(), static_cast<std::size_t>(kDeviceBytes));
  std::vector<std::uint64_t> samples_ns;
  for (int i = 0; i < kRepetitions; ++i) {
    Stopwatch const watch;
    GARUDA_TRY_ASSIGN(auto const ticket, lane->transfer().upload(buffer, 0, bytes));
    GARUDA_TRY(lane->transfer().download(buffer, 0, bytes, ticket));
    samples_ns.push_back(watch.elapsed_ns());
  }
  return CopyBandwidth{"device copy in and out",
                       per_second(2 * static_cast<std::uint64_t>(kDeviceBytes), summarise(samples_ns).median_ns)};
}

Result<CopyBandwidth> measure_bandwidth(Plan const& plan) {
  if (plan.path == Path::cpu) return measure_host_copy();
  GARUDA_TRY_ASSIGN(auto const opened, open_device(plan.device));
  return measure_device_copy(*opened.device);
}

}  // namespace garuda::bench
