#include "cli/terminal/progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/terminal.hpp"

namespace garuda::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[2K";

}  // namespace

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
