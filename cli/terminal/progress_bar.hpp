// The progress of a long call on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "garuda/control.hpp"

namespace garuda::cli {

/// One line on standard error, redrawn in place ten times a second at most, and removed at the end. Thread-safe.
class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) noexcept : enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  ProgressBar(ProgressBar const&) = delete;
  ProgressBar& operator=(ProgressBar const&) = delete;

  void update(Progress const& progress) noexcept;
  /// Removes the line, so that something else can be written.
  void clear() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  bool const enabled_;
  std::mutex mutex_;
  Clock::time_point last_drawn_{};
  bool drawn_ = false;
};

/// The line without its control characters: "join [#####     ]  50 %  1234 rows".
std::string progress_line(Progress const& progress);

}  // namespace garuda::cli
