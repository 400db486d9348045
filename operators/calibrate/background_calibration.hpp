// Rates that nobody measured yet, measured on a thread of its own while no query runs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/os/file_lock.hpp"
#include "garuda/error.hpp"
#include "operators/calibrate/measuring.hpp"

namespace garuda::calibrate {

/// One process at a time measures without being asked, and none again soon where it did not work. The lock is held from
/// take() to its end, and lost with the process. Movable.
class MeasuringLock {
 public:
  /// The lock of `folder`, which is made where it is missing; nothing while another process has it, or where nothing
  /// can be written. Does not wait.
  static std::optional<MeasuringLock> take(std::filesystem::path const& folder);

  /// Whether `file` of the folder, which measuring would write, could not be measured by this version of garuda within
  /// the last day.
  bool failed_lately(std::string const& file) const;
  /// Says that it could not be measured now.
  void remember_failure(std::string const& file) const;

 private:
  MeasuringLock(std::filesystem::path folder, os::FileLock lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  os::FileLock lock_;
};

/// A host or a device to be measured.
struct Measurement {
  std::string file;  ///< that its rates are kept in, without folder
  /// Measures and keeps. Reports before every rate, and checks the time before every run.
  std::function<Result<void>(MeasuringTime&)> run;
};

/// Measures one after the other under the folder's lock; leaves it to the process that has that. `before_rate` is
/// called before every rate, and its time does not count. What takes longer than `most` is given up, and like all that
/// fails not tried again for a day. Blocks. Errors: the first; limit_exceeded for one that took too long; cancelled.
Result<void> measure_missing(std::filesystem::path const& folder, std::vector<Measurement> const& measurements,
                             std::atomic<bool> const* cancelled, std::function<void()> const& before_rate,
                             std::chrono::nanoseconds most = kMostMeasuring);

/// The thread. Before every rate it waits until no query has run for half a second, so that neither disturbs the other
/// for longer than a rate takes.
class BackgroundCalibration {
 public:
  /// `is_busy`: whether a query runs; `at_end`: called once there is no more to be done. Both are called from the
  /// thread.
  BackgroundCalibration(std::filesystem::path folder, std::vector<Measurement> measurements,
                        std::function<bool()> is_busy, std::function<void()> at_end);
  BackgroundCalibration(BackgroundCalibration const&) = delete;
  BackgroundCalibration& operator=(BackgroundCalibration const&) = delete;
  /// Stops: waits for the passes that run, tenths of a second at most, not for the rest.
  ~BackgroundCalibration();

 private:
  void wait_until_idle();
  void stop() noexcept;

  struct Stopping {
    std::atomic<bool> is_wanted{false};
    std::mutex mutex;
    std::condition_variable wakes;
  };

  std::function<bool()> is_busy_;
  // Not destroyed in a process that was forked off: the C library would wait there for the thread, which it has not.
  std::unique_ptr<Stopping> stopping_ = std::make_unique<Stopping>();
  std::uint64_t process_;  // that has the thread
  std::thread thread_;
};

}  // namespace garuda::calibrate
