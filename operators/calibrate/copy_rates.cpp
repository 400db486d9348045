#include "operators/calibrate/copy_rates.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstring>
#include <new>
#include <vector>

#include "core/stopwatch.hpp"
#include "operators/calibrate/measuring.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/memory/memory.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::calibrate {
namespace {

/// Bytes that a thread copies at a time.
constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 20;
/// Runs that do not count: in them staging memory, of which there are up to three segments, is taken and touched for
/// the first time, ten times as slow as all later ones.
constexpr int kFirstRuns = 3;

/// Touched pages as the tables of callers have them: importing small pages takes several times as long as large ones.
Result<std::vector<std::byte>> memory_of_callers(std::int64_t bytes) {
  try {
    return std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{1});
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, fmt::format("no memory to copy from, bytes: {}", bytes));
  }
}

Result<AlignedBuffer> filled_buffer(std::int64_t bytes) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(bytes));
  std::memset(buffer.data(), 1, static_cast<std::size_t>(bytes));
  return buffer;
}

}  // namespace

Result<HostCopy> HostCopy::create(std::int64_t bytes) {
  GARUDA_TRY_ASSIGN(auto source, filled_buffer(bytes));
  GARUDA_TRY_ASSIGN(auto destination, filled_buffer(bytes));
  return HostCopy(std::move(source), std::move(destination));
}

std::uint64_t HostCopy::run() {
  Stopwatch const watch;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, source_.size_bytes(), kCopiedBytes), [&](auto const& range) {
    std::memcpy(destination_.data() + range.begin(), source_.data() + range.begin(), range.size());
  });
  return watch.elapsed_ns();
}

Result<double> measure_host_copy(std::int64_t bytes, int repetitions) {
  GARUDA_TRY_ASSIGN(auto copy, HostCopy::create(bytes));
  std::vector<double> samples_ns(static_cast<std::size_t>(repetitions));
  for (auto& ns : samples_ns) ns = static_cast<double>(copy.run());
  return static_cast<double>(bytes) / fastest(samples_ns) * 1e9;
}

Result<DeviceCopy> measure_device_copy(vk::Device& device, vk::UploadMode mode, std::int64_t bytes, int repetitions) {
  vk::LaneOptions options;
  options.name = "copy rates";
  options.transfer.mode = mode;
  GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(device, options));
  GARUDA_TRY_ASSIGN(auto host, memory_of_callers(bytes));
  vk::BufferSpec spec{.bytes = static_cast<std::uint64_t>(bytes), .name = "copied"};
  if (mode == vk::UploadMode::map) spec.use = vk::MemoryUse::device_mapped;
  GARUDA_TRY_ASSIGN(auto const buffer, lane->arena().buffer(spec));
  auto const copied = std::span(host);
  std::vector<double> uploads_ns;
  std::vector<double> downloads_ns;
  for (int i = 0; i < kFirstRuns + repetitions; ++i) {
    Stopwatch const upload;
    GARUDA_TRY_ASSIGN(auto const ticket, lane->transfer().upload(buffer, 0, copied));
    GARUDA_TRY(lane->transfer().drain());
    auto const upload_ns = upload.elapsed_ns();
    Stopwatch const download;
    GARUDA_TRY(lane->transfer().download(buffer, 0, copied, ticket));
    if (i < kFirstRuns) continue;
    uploads_ns.push_back(static_cast<double>(upload_ns));
    downloads_ns.push_back(static_cast<double>(download.elapsed_ns()));
  }
  return DeviceCopy{fastest(uploads_ns), fastest(downloads_ns)};
}

Result<double> measure_team_copy(vk::Device& device, vk::CopyTeamOptions const& options, std::int64_t bytes,
                                 int repetitions) {
  auto const size = static_cast<std::uint64_t>(bytes);
  vk::PinnedMemory pinned;
  AlignedBuffer ordinary;
  if (options.transfer.use_pinned) {
    GARUDA_TRY_ASSIGN(pinned, device.pinned().allocate(size));
    std::memset(pinned.data(), 1, size);
  } else {
    GARUDA_TRY_ASSIGN(ordinary, filled_buffer(bytes));
  }
  auto* const host = options.transfer.use_pinned ? pinned.data() : ordinary.data();
  vk::MemoryArena arena(device);
  GARUDA_TRY_ASSIGN(auto const buffer, arena.buffer({.bytes = size, .name = "copied"}));
  GARUDA_TRY_ASSIGN(auto const team, vk::CopyTeam::create(device, device.graphics_queue(), options));
  GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(device, {}));
  std::vector<double> samples_ns;
  for (int i = 0; i < kFirstRuns + repetitions; ++i) {
    Stopwatch const watch;
    auto const group = team->start({{&buffer, 0, host, size}});
    GARUDA_TRY_ASSIGN(auto const tickets, team->wait(*group));
    for (auto const ticket : tickets) GARUDA_TRY(lane->wait(ticket));
    if (i >= kFirstRuns) samples_ns.push_back(static_cast<double>(watch.elapsed_ns()));
  }
  return static_cast<double>(bytes) / fastest(samples_ns) * 1e9;
}

}  // namespace garuda::calibrate
