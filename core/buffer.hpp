// Host memory that a device can import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "garuda/error.hpp"

namespace garuda {

/// Alignment of every AlignedBuffer, of its address and of the bytes reserved behind it: the size of the operating
/// system's pages (4 KiB on x86-64, up to 64 KiB on arm64), of which drivers import whole ones; at least 4 KiB.
std::int64_t buffer_alignment() noexcept;

/// Buffers of at least this size lie on huge pages where the operating system has them: first touches of fresh memory
/// cost a fault a page, and scattered accesses a translation a page.
inline constexpr std::int64_t kHugePageBytes = std::int64_t{2} << 20;

/// A move-only block of host memory, aligned so that a device can import it. An empty buffer has no address. When it is
/// destroyed, on whatever thread, large memory goes to KeptMemory, and to the operating system what that does not keep.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  /// Reserves `size_bytes` bytes, rounded up to whole multiples of buffer_alignment(). The bytes up to `size_bytes` are
  /// not initialised, those behind it are zero.
  /// Requires: size_bytes >= 0. Errors: out_of_memory, naming the size; limit_exceeded where BufferCeiling refuses it.
  static Result<AlignedBuffer> allocate(std::int64_t size_bytes);

  std::byte* data() noexcept { return bytes_.get(); }
  std::byte const* data() const noexcept { return bytes_.get(); }
  template <class T>
  T* as() noexcept {
    return reinterpret_cast<T*>(bytes_.get());
  }
  template <class T>
  T const* as() const noexcept {
    return reinterpret_cast<T const*>(bytes_.get());
  }

  /// Bytes in use.
  std::int64_t size_bytes() const noexcept { return size_bytes_; }
  /// Bytes reserved, a multiple of buffer_alignment().
  std::int64_t capacity_bytes() const noexcept { return capacity_bytes_; }
  std::span<std::byte const> bytes() const noexcept { return {bytes_.get(), static_cast<std::size_t>(size_bytes_)}; }

  /// Declares the bytes from `size_bytes` on unused; nothing moves, nothing is freed. Requires: 0 <= size_bytes <=
  /// size.
  void truncate(std::int64_t size_bytes);

 private:
  struct Free {
    Free() noexcept : mapped_bytes(0), counted_bytes(0) {}
    Free(std::size_t mapped, std::size_t counted) noexcept : mapped_bytes(mapped), counted_bytes(counted) {}
    std::size_t mapped_bytes;   ///< 0: from the heap
    std::size_t counted_bytes;  ///< by BufferCeiling
    void operator()(std::byte* bytes) const noexcept;
  };

  std::unique_ptr<std::byte[], Free> bytes_;
  std::int64_t size_bytes_ = 0;
  std::int64_t capacity_bytes_ = 0;
};

/// Memory for containers, where it is large as buffers have it. Not initialised. Throws std::bad_alloc.
void* allocate_kept(std::size_t bytes);
/// Takes back what allocate_kept(bytes) returned.
void free_kept(void* memory, std::size_t bytes) noexcept;

/// Gives containers memory that is kept for later ones when they free it (core/kept_memory).
template <class T>
struct KeptAllocator {
  using value_type = T;

  KeptAllocator() = default;
  template <class Other>
  KeptAllocator(KeptAllocator<Other> const&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_kept(count * sizeof(T)));
  }
  void deallocate(T* values, std::size_t count) noexcept { free_kept(values, count * sizeof(T)); }

  friend bool operator==(KeptAllocator const&, KeptAllocator const&) = default;
};

/// A vector for many elements that come and go: the heap would give such memory back to the system, page by page.
template <class T>
using KeptVector = std::vector<T, KeptAllocator<T>>;

/// Leaves elements that come without a value as they lie in memory.
template <class T>
struct UnsetAllocator : KeptAllocator<T> {
  static_assert(std::is_trivially_copyable_v<T>);

  template <class Other>
  struct rebind {
    using other = UnsetAllocator<Other>;
  };
  UnsetAllocator() = default;
  template <class Other>
  UnsetAllocator(UnsetAllocator<Other> const&) noexcept {}

  void construct(T*) noexcept {}
  template <class... Arguments>
  void construct(T* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) T(std::forward<Arguments>(arguments)...);
  }
};

/// A KeptVector whose new elements are written by whoever asks for them: resize() does not.
template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace garuda
