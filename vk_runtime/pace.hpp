// Measured times of a device's passes, by which submissions are cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "vk_runtime/device/device_traits.hpp"

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

}  // namespace garuda::vk
