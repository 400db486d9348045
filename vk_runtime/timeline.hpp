// Timeline semaphores: every submission gets a ticket that host and other queues wait for. Timestamps measure its
// phases.
#pragma once

#include <volk.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Makes a pool of command buffers for the queues of a family, each reset by itself and recorded for one submission.
Result<Unique<VkCommandPool>> make_command_pool(Device const& device, std::uint32_t family);
/// Takes another command buffer from a pool, which owns it.
Result<VkCommandBuffer> allocate_commands(Device const& device, VkCommandPool pool);

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

/// Total time of the phases of one name, in order of first appearance.
struct PhaseTime {
  std::string name;
  std::int64_t ns = 0;
  bool compiles = false;  ///< some of it, see PhaseTimer::compiles()
  bool operator==(PhaseTime const&) const = default;
};

/// Times phases of one lane's command buffers. Not thread-safe, does not move.
///
/// With ClockSource::device a phase's time is the difference of two timestamps, each taken when all work before it is
/// done. With ClockSource::host it is the time from a submission (or from the end of the one before, when that is
/// later) until complete() was called for it; a submission of several phases is reported under their names joined by
/// "+". Callers that want phases apart then submit each on its own (`source()` tells).
class PhaseTimer {
 public:
  /// `capacity`: phases between two resets. A family without timestamps, or unreliable ones, gives ClockSource::host.
  static Result<PhaseTimer> create(Device& device, Queue const& queue, std::uint32_t capacity = 1024);

  ClockSource source() const noexcept { return source_; }

  /// Starts and ends a phase in `commands`, outside of rendering; phases do not nest. Past the capacity since the last
  /// reset, phases are counted in dropped_phases() and not timed.
  void begin(VkCommandBuffer commands, std::string_view name);
  void end(VkCommandBuffer commands);

  /// The open phase is to be compiled by the driver while it runs: its time is no measure of its work.
  void compiles();

  /// Tells that the phases recorded since the last call were submitted as `ticket`, will never be submitted, or that
  /// `ticket` and all before it were waited for.
  void submitted(Ticket ticket);
  void discard();
  void completed(Ticket ticket);

  /// Adds up the phases of all completed submissions and forgets them. Every submission has been waited for.
  /// Errors: device_failure.
  Result<void> collect();
  /// Sums by name since the last clear().
  std::vector<PhaseTime> const& times() const noexcept { return times_; }
  /// Times of the completed submissions, in the order in which they were submitted, since the last clear(): with
  /// ClockSource::device from the begin of its first phase to the end of its last one.
  std::vector<SubmissionTime> const& submission_times() const noexcept { return submission_times_; }
  void clear() {
    times_.clear();
    submission_times_.clear();
  }
  std::uint64_t dropped_phases() const noexcept { return dropped_; }

 private:
  struct Phase {
    std::string name;
    bool compiles = false;
  };
  struct Submission {
    Ticket ticket;
    std::size_t first_phase = 0;
    std::size_t end_phase = 0;
    std::chrono::steady_clock::time_point submitted;
    std::chrono::steady_clock::time_point completed;
    bool done = false;
    bool own_compiles = false;
    bool compiles = false;           ///< it, or by the host's clock one that it waited for in the queue
    std::uint64_t compilations = 0;  ///< of the device when it was submitted
  };

  PhaseTimer(Device& device, ClockSource source) : device_(&device), source_(source) {}
  void add(std::string const& name, std::int64_t ns, bool compiles);
  std::span<Phase const> phases_of(Submission const& submission) const;
  std::string names_of(Submission const& submission) const;
  Result<void> collect_device();
  void collect_host();

  Device* device_;
  ClockSource source_;
  Unique<VkQueryPool> pool_;
  std::uint32_t capacity_ = 0;
  std::uint64_t valid_mask_ = 0;
  std::vector<Phase> phases_;  // phase i has the queries 2 i and 2 i + 1
  std::size_t submitted_phases_ = 0;
  std::vector<Submission> submissions_;
  std::optional<std::chrono::steady_clock::time_point> last_completed_;
  std::vector<PhaseTime> times_;
  std::vector<SubmissionTime> submission_times_;
  std::uint64_t dropped_ = 0;
  bool open_ = false;   // between begin() and end()
  bool timed_ = false;  // whether the open phase has queries
};

}  // namespace garuda::vk
