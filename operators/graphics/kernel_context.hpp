// What every pass of one slice shares: the lane with its memory, pipelines, submissions, limits and tuning.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/graphics/graphics_choice.hpp"
#include "operators/graphics/join_pipelines.hpp"
#include "operators/graphics/submissions.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::operators {

/// References outlive the context; used by one thread.
class KernelContext {
 public:
  KernelContext(vk::Lane& lane, JoinPipelines& pipelines, Submissions& submissions, GraphicsLimits const& limits,
                JoinTuning const& tuning, std::uint64_t memory_budget_bytes)
      : lane_(lane),
        pipelines_(pipelines),
        submissions_(submissions),
        limits_(limits),
        tuning_(tuning),
        budget_bytes_(memory_budget_bytes) {}

  vk::Lane& lane() noexcept { return lane_; }
  JoinPipelines& pipelines() noexcept { return pipelines_; }
  Submissions& submissions() noexcept { return submissions_; }
  GraphicsLimits const& limits() const noexcept { return limits_; }
  JoinTuning const& tuning() const noexcept { return tuning_; }
  std::uint32_t key_words() const noexcept { return pipelines_.key_words(); }
  std::uint32_t key_bits() const noexcept { return 32 * key_words(); }

  /// Device memory that this lane may still take. Bytes.
  std::uint64_t bytes_left() const noexcept;

  /// A buffer for the device alone, at least one word. Errors: limit_exceeded past the lane's share; those of the
  /// arena.
  Result<vk::Buffer> buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use = vk::MemoryUse::device);
  /// A buffer filled with zeros by a command of `phase`; the commands that follow see them in compute and vertices.
  Result<vk::Buffer> zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase);
  /// An image to draw into and to read.
  Result<vk::Image> image(VkFormat format, ImageShape const& shape, std::uint32_t layers, char const* name);

  /// Binds and dispatches a compute pass, one invocation per `invocations`. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations);

  /// Orders all accesses of one kind before all of another, in `phase`.
  Result<void> order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer);

  /// Reads `values` (trivially copyable, at most 4096 bytes) from `buffer` at `offset`, written by compute; submits
  /// what was recorded and waits for it.
  Result<void> read_back(char const* phase, vk::Buffer const& buffer, std::uint64_t offset,
                         std::span<std::byte> values);

  /// Submits what was recorded, waits, and copies the start of `buffer`, as long as `destination`, to the host.
  Result<void> download(vk::Buffer const& buffer, std::span<std::byte> destination);

 private:
  Result<void> check_budget(std::uint64_t bytes, char const* name) const;

  vk::Lane& lane_;
  JoinPipelines& pipelines_;
  Submissions& submissions_;
  GraphicsLimits const& limits_;
  JoinTuning const& tuning_;
  std::uint64_t budget_bytes_;
  vk::Buffer staging_;  // for read_back
};

}  // namespace garuda::operators
