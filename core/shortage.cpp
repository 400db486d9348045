#include "core/shortage.hpp"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "core/kept_memory.hpp"
#include "core/os/memory.hpp"

namespace garuda {
namespace {

Error no_thread(char const* why) { return Error(ErrorCode::out_of_memory, why).wrap("no thread can be started"); }

}  // namespace

std::optional<Error> current_shortage() {
  auto const current = std::current_exception();
  if (!current) return std::nullopt;
  try {
    std::rethrow_exception(current);
  } catch (std::bad_alloc const&) {
    return Error(ErrorCode::out_of_memory, "out of host memory");
  } catch (std::system_error const& error) {
    if (error.code() == std::errc::not_enough_memory) return Error(ErrorCode::out_of_memory, "out of host memory");
    if (error.code() == std::errc::resource_unavailable_try_again) return no_thread(error.what());
  } catch (std::runtime_error const& error) {
    // oneTBB keeps no number of what its workers' threads met, so its words are all there is to know it by.
    if (std::string_view(error.what()).starts_with("pthread_create has failed")) return no_thread(error.what());
  } catch (...) {  // a bug: whoever handles it says so
  }
  return std::nullopt;
}

BufferCeiling& BufferCeiling::instance() {
  // Leaked on purpose: buffers may be destroyed after every static object.
  static auto* const ceiling = new BufferCeiling;
  return *ceiling;
}

void BufferCeiling::set(std::uint64_t buffer_bytes, std::uint64_t process_bytes) noexcept {
  std::lock_guard const lock(mutex_);
  ceiling_ = buffer_bytes;
  process_ceiling_ = process_bytes;
  is_over_ = false;
  last_refusal_.reset();
}

bool BufferCeiling::take(std::uint64_t bytes) noexcept {
  auto const before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
  auto const ceiling = ceiling_.load(std::memory_order_relaxed);
  if (ceiling != 0 && (before > ceiling || bytes > ceiling - before)) return refuse(bytes, before);
  if (auto const of_process = process_bytes_beside(bytes)) return refuse(bytes, *of_process);
  return true;
}

bool BufferCeiling::has_room(std::uint64_t bytes) noexcept {
  if (!take(bytes)) return false;
  give(bytes);
  return true;
}

bool BufferCeiling::refuse(std::uint64_t asked_bytes, std::uint64_t bytes_in_use) noexcept {
  give(asked_bytes);
  std::lock_guard const lock(mutex_);
  last_refusal_ = {asked_bytes, bytes_in_use};
  return false;
}

/// Returns the bytes that the process has where `bytes` more are above its ceiling, else nullopt.
std::optional<std::uint64_t> BufferCeiling::process_bytes_beside(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kBytesBetween = std::uint64_t{1} << 20;
  /// Bytes that the heap takes for what describes a buffer.
  constexpr std::uint64_t kBesideBuffer = 1 << 10;
  auto const ceiling = process_ceiling_.load(std::memory_order_relaxed);
  if (ceiling == 0) return std::nullopt;
  auto const unchecked = unchecked_.fetch_add(bytes + kBesideBuffer, std::memory_order_relaxed) + bytes;
  if (unchecked < kBytesBetween && !is_over_) return std::nullopt;
  auto in_use = os::anonymous_memory_bytes();
  if (in_use + bytes > ceiling && unchecked >= kBytesBetween) {
    // Freed memory may be kept here, and by the heap.
    KeptMemory::instance().give_back_all();
    os::trim_heap();
    in_use = os::anonymous_memory_bytes();
  }
  unchecked_ = 0;
  // Other threads are refused as well, until there is room.
  is_over_ = in_use + bytes > ceiling;
  return is_over_ ? std::optional(in_use) : std::nullopt;
}

std::optional<BufferCeiling::Refusal> BufferCeiling::last_refusal() const {
  std::lock_guard const lock(mutex_);
  return last_refusal_;
}

}  // namespace garuda
