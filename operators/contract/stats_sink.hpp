// Where the paths report what they did.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "core/stopwatch.hpp"

namespace garuda::contract {

/// Counters of paths on devices. Bytes of columns, and of what becomes columns, that host or device copied from one's
/// memory to the other's, each once, however many steps that took; not what is made or read in place.
inline constexpr std::string_view kCopiedUp = "copied_up_bytes";
inline constexpr std::string_view kCopiedDown = "copied_down_bytes";
/// Bytes of device memory that lie in another heap than the best one, which had no room.
inline constexpr std::string_view kElsewhere = "elsewhere_bytes";
/// Submissions to the device that were timed.
inline constexpr std::string_view kSubmissions = "submissions";
/// Microseconds of the longest submission, and of the longest in which a software driver compiled a pipeline that ran
/// for the first time: its time is not one that submissions can be cut by, so it stands apart.
inline constexpr std::string_view kLongestSubmission = "longest_submission_us";
inline constexpr std::string_view kLongestCompiling = "longest_compiling_submission_us";

/// Takes times, bytes and counters of kernels, which the backend adds up over all its kernels: thread-safe.
class StatsSink {
 public:
  virtual ~StatsSink() = default;
  virtual void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) = 0;
  virtual void add_counter(std::string_view name, std::uint64_t value) = 0;  ///< summed
  virtual void max_counter(std::string_view name, std::uint64_t value) = 0;  ///< greatest kept
  virtual void note(std::string text) = 0;  ///< a pass that ran differently, and why; duplicates are dropped
};

/// Reports a phase from its construction to its destruction. `sink` may be null.
class PhaseTimer {
 public:
  PhaseTimer(StatsSink* sink, std::string_view phase, std::uint64_t bytes = 0, std::uint64_t items = 0)
      : sink_(sink), phase_(phase), bytes_(bytes), items_(items) {}
  PhaseTimer(StatsSink& sink, std::string_view phase, std::uint64_t bytes = 0, std::uint64_t items = 0)
      : PhaseTimer(&sink, phase, bytes, items) {}
  PhaseTimer(PhaseTimer const&) = delete;
  PhaseTimer& operator=(PhaseTimer const&) = delete;
  ~PhaseTimer() {
    if (sink_ == nullptr) return;
    try {
      sink_->add_phase(phase_, watch_.elapsed_ns(), bytes_, items_);
    } catch (std::bad_alloc const&) {  // a phase that memory has no room for is left out
    }
  }

  void count(std::uint64_t bytes, std::uint64_t items) {
    bytes_ += bytes;
    items_ += items;
  }

 private:
  StatsSink* sink_;
  std::string_view phase_;
  std::uint64_t bytes_;
  std::uint64_t items_;
  Stopwatch watch_;
};

}  // namespace garuda::contract
