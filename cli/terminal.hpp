// Standard output and standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "garuda/control.hpp"
#include "garuda/error.hpp"

namespace garuda::cli {

/// Opens the null device in place of every standard stream that the process was started without, so that no file that
/// is opened later becomes standard output or error. Reading such an input and writing such an output fail; what is
/// written to such a standard error is dropped. To be called before any other file is opened.
/// Errors: output, when it cannot be opened.
Result<void> occupy_standard_streams();

/// Errors: output, when the process was started with standard output closed.
Result<void> check_output_is_open();

/// Writes all of `text` to standard output.
/// Errors: output.
Result<void> write_output(std::string_view text);

/// Writes `text` to standard error; there is nowhere to complain when that fails.
void write_error(std::string_view text) noexcept;

/// True for the failure of write_output when the reader has closed its end.
bool is_broken_pipe(Error const& error) noexcept;

bool error_is_terminal() noexcept;

/// Columns of the terminal that standard output is, or a number that nothing reaches when it is none.
std::size_t output_width() noexcept;

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
