#include "cli/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/os/file.hpp"
#include "core/os/streams.hpp"

namespace garuda::cli {
namespace {

constexpr std::string_view kBrokenPipe = "the reader of standard output has gone";

constexpr std::string_view kEraseLine = "\r\x1b[2K";

}  // namespace

Result<void> occupy_standard_streams() {
  auto const error_number = os::prepare_standard_streams();
  if (error_number == 0) return {};
  return tl::unexpected(Error(ErrorCode::output, os::system_message(error_number)).wrap("cannot open the null device"));
}

Result<void> check_output_is_open() {
  if (os::is_writable(os::kOutput)) return {};
  return fail(ErrorCode::output, "cannot write to standard output: it is closed");
}

Result<void> write_output(std::string_view text) {
  int const error_number = os::write_all(os::kOutput, text);
  if (error_number == 0) return {};
  if (error_number == EBADF) return check_output_is_open();
  if (error_number == EPIPE) return fail(ErrorCode::output, std::string(kBrokenPipe));
  return tl::unexpected(
      Error(ErrorCode::output, os::system_message(error_number)).wrap("cannot write to standard output"));
}

void write_error(std::string_view text) noexcept { static_cast<void>(os::write_all(os::kError, text)); }

bool is_broken_pipe(Error const& error) noexcept {
  return error.code() == ErrorCode::output && error.message() == kBrokenPipe;
}

bool error_is_terminal() noexcept { return os::is_terminal(os::kError); }

std::size_t output_width() noexcept {
  return os::terminal_columns(os::kOutput).value_or(std::numeric_limits<std::size_t>::max());
}

std::string progress_line(Progress const& progress) {
  constexpr std::size_t kWidth = 30;
  std::string line(progress.phase);
  if (progress.total > 0) {
    auto const fraction = std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
    auto const filled = static_cast<std::size_t>(fraction * kWidth);
    line +=
        fmt::format(" [{}{}] {:3.0f} %", std::string(filled, '#'), std::string(kWidth - filled, ' '), fraction * 100);
  }
  if (progress.rows_out > 0) line += fmt::format("  {} rows", progress.rows_out);
  return line;
}

void ProgressBar::update(Progress const& progress) noexcept {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  if (!enabled_) return;
  std::lock_guard const lock(mutex_);
  auto const now = Clock::now();
  if (now - last_drawn_ < kInterval) return;
  try {
    write_error(std::string(kEraseLine) + progress_line(progress));
    drawn_ = true;
    last_drawn_ = now;
  } catch (std::bad_alloc const&) {
    // Without memory for a line there is no line; the work itself reports what it lacks.
  }
}

void ProgressBar::clear() noexcept {
  std::lock_guard const lock(mutex_);
  if (drawn_) write_error(kEraseLine);
  drawn_ = false;
}

}  // namespace garuda::cli
