// Timeline semaphores: every submission gets a ticket that host and other queues wait for.
#pragma once

#include <volk.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

/// A moment on a timeline: reached when the submission that returned it is complete. A default ticket is always
/// reached. Refers to its Timeline, which outlives it. Freely copied.
struct Ticket {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  std::uint64_t value = 0;
};

/// Flags that a host wait looks at besides the device.
struct WaitOptions {
  /// Polled about every 10 ms; when it becomes true the wait ends with Error(cancelled). The device's work goes on:
  /// what it uses stays alive until a later wait (Lane's destructor does one). May be null.
  std::atomic<bool> const* cancelled = nullptr;
  /// Longest wait; then Error(device_failure). A backstop against a device that never finishes; nothing: forever.
  std::optional<std::chrono::nanoseconds> timeout;
};

/// A timeline semaphore, lent by its device from the first submission on (0.3 ms by NVIDIA's driver), with the queue it
/// counts the submissions of. One per lane: not thread-safe; movable until a ticket was handed out. Its submissions are
/// complete when it goes.
class Timeline {
 public:
  /// `queue` outlives the timeline; other timelines may share it. `name` lives for ever.
  Timeline(Device& device, Queue& queue, char const* name = "timeline")
      : device_(&device), queue_(&queue), name_(name) {}
  Timeline(Timeline&&) = default;
  ~Timeline();

  /// Submits `commands`, to start after every ticket of `waits`; returns the ticket of its completion. Submissions of
  /// one timeline reach their tickets in order. Writes of a submission become visible to a later one of the same queue
  /// by barriers, as within one submission; to other queues by waiting for the ticket. Does not block. Errors:
  /// device_failure, out_of_memory.
  Result<Ticket> submit(std::span<VkCommandBuffer const> commands, std::span<Ticket const> waits = {});

  /// Blocks until `ticket` (of any timeline of this device) is reached.
  /// Errors: cancelled, device_failure (a lost device, a timeout).
  Result<void> wait(Ticket ticket, WaitOptions const& options = {}) const;
  /// Whether it is reached, without blocking.
  Result<bool> reached(Ticket ticket) const;

  /// The ticket of the latest submission.
  Ticket last() const noexcept { return {timeline_.semaphore.get(), timeline_.value}; }

 private:
  Result<void> take_semaphore();

  Device* device_;
  Queue* queue_;
  char const* name_;
  TimelineSemaphore timeline_;
};

}  // namespace garuda::vk
