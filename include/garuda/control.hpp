// Cancellation and progress of long calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace garuda {

struct Progress {
  std::string_view phase;      ///< what is being done: "partition", "join"
  std::uint64_t done = 0;      ///< units finished
  std::uint64_t total = 0;     ///< units in all; 0: not known
  std::uint64_t rows_out = 0;  ///< result rows so far
};

/// Looked at between device submissions and per CPU partition. `cancelled` must outlive the call and its result.
struct Control {
  std::atomic<bool> const* cancelled = nullptr;
  std::atomic<bool> const* abandoned = nullptr;  ///< the library's own: the result was destroyed before its end
  std::function<void(Progress const&)> on_progress = {};  ///< called from one thread at a time; must not throw

  bool is_cancelled() const noexcept {
    for (auto const* flag : {cancelled, abandoned})
      if (flag != nullptr && flag->load(std::memory_order_relaxed)) return true;
    return false;
  }
};

}  // namespace garuda
