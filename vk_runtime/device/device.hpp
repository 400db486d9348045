// An opened device: its dispatch table, queues, memory accounting and pace.
#pragma once

#include <volk.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/memory/memory_pool.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

/// The longest that a submission is to take: watchdogs reset a GPU after two seconds, and while a submission runs
/// nothing else is drawn. A software device draws no desktop and has no watchdog; its submissions share the host's
/// cores with whatever else runs, and decide only how soon a cancelled query ends.
constexpr std::int64_t longest_submission_ns(DeviceType type) noexcept {
  return type == DeviceType::cpu ? 400'000'000 : 100'000'000;
}

/// Where the times of passes come from.
enum class ClockSource : std::uint8_t {
  device,  ///< GPU timestamps around them
  host,    ///< host time from submission to the end of the wait, see PhaseTimer
};

/// The time of a submission.
struct SubmissionTime {
  std::string phases;  ///< their names, joined by "+"
  std::int64_t ns = 0;
  bool compiles = false;  ///< the driver compiled meanwhile, PhaseTimer::compiles()
};

/// The longest submissions of this process that any Pace was told of; suites say them at their end.
struct LongestSubmissions {
  SubmissionTime usual;
  SubmissionTime compiling;  ///< the longest in which the driver compiled
};
LongestSubmissions longest_submissions();

/// Nanoseconds a point of each phase, as submissions took them. A device has one. Thread-safe.
class Pace {
 public:
  /// A phase that was not seen yet is taken for four times as slow as max_points_per_submission of `traits` expects, so
  /// that its first submissions are short, whatever the driver.
  explicit Pace(DeviceTraits const& traits) noexcept;

  /// The time up to which submissions are filled: half of the longest, on a software device a quarter, because other
  /// passes of the phase, or other work on the machine, may make the next one slower than the last.
  double aim_ns() const noexcept { return aim_ns_; }
  /// Time that `points` points of `phase` are expected to take.
  double expected_ns(std::string_view phase, std::uint64_t points) const;
  /// Remembers the time of a submission among the process's longest.
  static void submission_took(SubmissionTime const& time);
  /// A submission in which the driver compiles is under way from the one call to the other. Others wait for it.
  void compiling_began() noexcept {
    ++compiling_;
    ++compilations_;
  }
  void compiling_ended() noexcept { --compiling_; }
  bool is_compiling() const noexcept { return compiling_ > 0; }
  /// Compilations that have begun so far.
  std::uint64_t compilations() const noexcept { return compilations_; }
  /// Tells that `points` points of `phase` took `ns`, without compiling. The first time says how far the assumed pace
  /// was too slow. Later a slower pace holds at once, by the host's clock once it was seen twice, since other work may
  /// have been in the way; a faster one is approached by steps. Times below a millisecond are only upper bounds.
  void took(std::string_view phase, std::uint64_t points, std::uint64_t ns, ClockSource source);

 private:
  struct Known {
    std::string phase;
    double ns_a_point = 0;
    double last = 0;  // seen
  };

  double aim_ns_;
  double assumed_ns_;  // a point
  std::atomic<std::uint64_t> compiling_{0};
  std::atomic<std::uint64_t> compilations_{0};
  mutable std::mutex mutex_;
  std::vector<Known> known_;
};

struct DeviceOptions {
  /// Explicit limit of device memory in bytes, all lanes together; 0: none but the driver's.
  std::uint64_t memory_limit_bytes = 0;
  /// No queue beside the main family's, and that of the usual priority: with each of the others a device takes longer
  /// to open.
  bool single_queue = false;
};

class PinnedRegistry;

/// One VkQueue and the lock that Vulkan asks for. Lives as long as its Device.
class Queue {
 public:
  Queue(DeviceHandle device, VkQueue queue, std::uint32_t family) noexcept
      : device_(device), queue_(queue), family_(family) {}

  std::uint32_t family() const noexcept { return family_; }
  VkQueue handle() const noexcept { return queue_; }

  /// Submits under the queue's lock. Thread-safe, does not wait.
  Result<void> submit(VkSubmitInfo2 const& info);
  /// Keeps submissions waiting for as long as the lock lives.
  std::unique_lock<std::mutex> hold();
  /// Whether anything was submitted to it. Thread-safe.
  bool used() const;

 private:
  DeviceHandle device_;
  VkQueue queue_;
  std::uint32_t family_;
  mutable std::mutex mutex_;
  bool used_ = false;
};

/// A timeline semaphore and the greatest value that any submission signals it with.
struct TimelineSemaphore {
  Unique<VkSemaphore> semaphore;
  std::uint64_t value = 0;
};

/// Owner of a VkDevice. Does not move; outlives everything made from it. Thread-safe.
class Device {
 public:
  /// Opens a device with all required and every available optional feature of DeviceFeatures.
  /// `instance` outlives the device. Errors: no_device with the reason when the device is unusable; device_failure.
  static Result<std::unique_ptr<Device>> create(Instance const& instance, PhysicalDevice const& physical,
                                                DeviceOptions const& options = {});

  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;
  /// Waits until the device is idle, if it ever had work.
  ~Device();

  VkDevice handle() const noexcept { return handle_.get(); }
  VkPhysicalDevice physical() const noexcept { return physical_; }
  VolkDeviceTable const& fn() const noexcept { return fn_; }
  /// The handle and functions that Unique takes.
  DeviceHandle owner() const noexcept { return {handle_.get(), &fn_}; }
  DeviceTraits const& traits() const noexcept { return traits_; }
  DebugFunctions const& debug() const noexcept { return debug_; }

  /// The queue of the main family (graphics, compute, transfer). Lanes share it: on an H100 two lanes are no faster by
  /// four queues than by one, and each takes 25 ms to open.
  Queue& graphics_queue() noexcept { return *graphics_queue_; }
  /// A queue of a transfer-only family, `i` taken modulo their number, or nullptr. There is none, one, or two, so that
  /// copies in both directions run side by side.
  Queue* transfer_queue(std::size_t i = 0) noexcept {
    return transfer_queues_.empty() ? nullptr : transfer_queues_[i % transfer_queues_.size()].get();
  }
  /// Families that buffers are shared between: the main one, and the transfer-only one where there is one. Buffers are
  /// created concurrent over these, so no ownership is ever transferred; images belong to the main family.
  std::span<std::uint32_t const> buffer_families() const noexcept { return buffer_families_; }

  /// Host memory that this device reads and writes in place; thread-safe.
  PinnedRegistry& pinned() noexcept { return *pinned_; }

  /// Accounting of all device memory of this device; thread-safe.
  MemoryPool& memory() noexcept { return *memory_; }

  /// Measured times of the device's passes; thread-safe.
  Pace& pace() noexcept { return *pace_; }

  /// Keeps a semaphore whose submissions are complete for later timelines, until the device is idle for ever: Mesa's
  /// submission threads (22.3.6) still touch what a submission waited for once its own signal can be seen. Thread-safe.
  void keep_timeline(TimelineSemaphore timeline) noexcept;
  /// A kept semaphore, or nothing. Thread-safe.
  std::optional<TimelineSemaphore> take_timeline();

  /// Gives a handle its name in captures and messages; nothing without debug_utils. `name` is a C string.
  template <class Handle>
  void set_name(Handle handle, VkObjectType type, char const* name) const {
    set_object_name(reinterpret_cast<std::uint64_t>(handle), type, name);
  }

  /// Blocks until all queues are idle; submissions of other threads wait meanwhile. Thread-safe. Errors: device_failure
  /// (a lost device among them).
  Result<void> wait_idle();

 private:
  Device() = default;
  void set_object_name(std::uint64_t handle, VkObjectType type, char const* name) const;
  /// `transfer`: the family of the transfer-only queues; nullptr: there are none.
  void open_queues(QueueFamily const* transfer);

  VolkDeviceTable fn_{};
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  DeviceTraits traits_;
  DebugFunctions debug_;
  Unique<VkDevice> handle_;
  std::unique_ptr<Queue> graphics_queue_;
  std::vector<std::unique_ptr<Queue>> transfer_queues_;
  std::vector<std::uint32_t> buffer_families_;
  std::unique_ptr<MemoryPool> memory_;
  std::unique_ptr<Pace> pace_;
  std::shared_ptr<PinnedRegistry> pinned_;  // outlived by what it gave out
  std::mutex timelines_mutex_;
  std::vector<TimelineSemaphore> timelines_;  // that no Timeline has
};

}  // namespace garuda::vk
