// Shortages of memory and threads: a bound on the host buffers in use, and exceptions of the standard library and of
// other libraries that say so.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "garuda/error.hpp"

namespace garuda {

/// Returns the exception being handled as an out_of_memory Error when it says that host memory or threads ran out:
/// std::bad_alloc, the std::system_error of std::thread, oneTBB's std::runtime_error. nullopt for any other, which is a
/// bug, and where none is handled. For catch (...) blocks and terminate handlers. Throws std::bad_alloc.
std::optional<Error> current_shortage();

/// Runs `body` and gives its result; an allocation that fails is the error "no memory for `what`".
template <class Body>
std::invoke_result_t<Body> or_out_of_memory(std::string_view what, Body const& body) {
  try {
    return body();
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for " + std::string(what));
  }
}

/// Counts the bytes of host buffers in use, those of AlignedBuffer and of Arrow, and refuses what exceeds a ceiling:
/// the last resort of a memory limit, for what no planner foresaw, such as a value of 10 MiB. Now and then it looks at
/// the whole process, too, for what thousands of columns take of the heap. One a process; never destroyed. Thread-safe.
class BufferCeiling {
 public:
  static BufferCeiling& instance();

  /// Refuses from now on what brings the bytes in use above `buffer_bytes`, or all anonymous memory of the process
  /// above `process_bytes`; 0: not for this reason. Forgets the last refusal.
  void set(std::uint64_t buffer_bytes, std::uint64_t process_bytes) noexcept;

  /// Counts a buffer of `bytes` bytes. False: it is refused, and not counted.
  bool take(std::uint64_t bytes) noexcept;
  /// Counts off what was taken.
  void give(std::uint64_t bytes) noexcept { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// Whether `bytes` more may be taken, of the heap and in small buffers, before much is begun. False: it is refused.
  bool has_room(std::uint64_t bytes) noexcept;

  /// A buffer that was refused.
  struct Refusal {
    std::uint64_t asked_bytes = 0;
    std::uint64_t bytes_in_use = 0;  ///< of buffers or of the process, whichever reached its ceiling
  };
  /// The last one since `set`; nullopt: none.
  std::optional<Refusal> last_refusal() const;

 private:
  bool refuse(std::uint64_t asked_bytes, std::uint64_t bytes_in_use) noexcept;
  std::optional<std::uint64_t> process_bytes_beside(std::uint64_t bytes) noexcept;

  std::atomic<std::uint64_t> in_use_{0};
  std::atomic<std::uint64_t> unchecked_{0};  // taken since the process was last looked at
  std::atomic<bool> is_over_{false};         // it was above its ceiling then
  std::atomic<std::uint64_t> ceiling_{0};
  std::atomic<std::uint64_t> process_ceiling_{0};
  mutable std::mutex mutex_;
  std::optional<Refusal> last_refusal_;
};

}  // namespace garuda
