#include "core/buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/kept_memory.hpp"
#include "core/os/memory.hpp"
#include "core/shortage.hpp"

// Sanitizers watch the bounds of what comes from the heap, not of mappings.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GARUDA_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GARUDA_SANITIZED
#endif
#ifndef GARUDA_SANITIZED
#define GARUDA_MAPS_BUFFERS
#endif

namespace garuda {
namespace {

#ifdef GARUDA_MAPS_BUFFERS
/// Smaller buffers come from the heap.
constexpr auto kLeastSpanBytes = std::size_t{64} << 10;
/// Fresh memory of which smaller buffers are cut.
constexpr auto kChunkBytes = std::size_t{8} << 20;

std::byte* map_huge(std::size_t bytes) { return os::map_pages(bytes, static_cast<std::size_t>(kHugePageBytes)); }

/// True for what is taken from kept memory or mapped; the rest comes from the heap.
bool is_mapped(std::size_t capacity) {
  // Kept spans are parts of mappings, or of several.
  if (!os::unmaps_parts()) return false;
  if (capacity >= static_cast<std::size_t>(kHugePageBytes)) return true;
  return capacity >= kLeastSpanBytes && KeptMemory::instance().is_keeping();
}

struct Mapped {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool is_zero = false;
};

/// At least `capacity` bytes of kept memory, else fresh ones.
Mapped map_buffer(std::size_t capacity) {
  auto& kept = KeptMemory::instance();
  if (auto const span = kept.take(capacity); span.address != nullptr) return {span.address, span.bytes, false};
  auto const bytes = capacity < static_cast<std::size_t>(kHugePageBytes) ? kChunkBytes : capacity;
  auto* mapping = map_huge(bytes);
  if (mapping == nullptr) {
    kept.give_back_all();
    mapping = map_huge(bytes);
  }
  if (mapping != nullptr && bytes > capacity) kept.keep({mapping + capacity, bytes - capacity});
  return {mapping, capacity, true};
}
#endif

}  // namespace

std::int64_t buffer_alignment() noexcept {
  static std::int64_t const alignment = std::max<std::int64_t>(os::page_bytes(), 4'096);
  return alignment;
}

void AlignedBuffer::Free::operator()(std::byte* bytes) const noexcept {
  BufferCeiling::instance().give(counted_bytes);
#ifdef GARUDA_MAPS_BUFFERS
  if (mapped_bytes != 0) {
    KeptMemory::instance().keep({bytes, mapped_bytes});
    return;
  }
#endif
  os::free_aligned(bytes);
}

Result<AlignedBuffer> AlignedBuffer::allocate(std::int64_t size_bytes) {
  GARUDA_EXPECTS(size_bytes >= 0);
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  bool fresh = false;
  if (auto const unit = buffer_alignment(); size_bytes <= std::numeric_limits<std::int64_t>::max() - unit) {
    buffer.capacity_bytes_ = (size_bytes + unit - 1) / unit * unit;
    auto const capacity = static_cast<std::size_t>(buffer.capacity_bytes_);
    if (!BufferCeiling::instance().take(capacity))
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a buffer does not fit the memory limit beside those in use, bytes: {}", size_bytes));
#ifdef GARUDA_MAPS_BUFFERS
    if (is_mapped(capacity)) {
      auto const mapped = map_buffer(capacity);
      buffer.bytes_ = {mapped.address, Free{mapped.bytes, capacity}};
      fresh = mapped.is_zero;
    } else
#endif
      buffer.bytes_ = {static_cast<std::byte*>(os::allocate_aligned(static_cast<std::size_t>(unit), capacity)),
                       Free{0, capacity}};
  }
  if (!buffer.bytes_) {
    BufferCeiling::instance().give(buffer.bytes_.get_deleter().counted_bytes);
    return fail(ErrorCode::out_of_memory, fmt::format("host memory exhausted, bytes asked for: {}", size_bytes));
  }
  buffer.size_bytes_ = size_bytes;
  // A fresh mapping is zero already; writing its last page would make it take memory.
  if (fresh) return buffer;
  std::memset(buffer.data() + size_bytes, 0, static_cast<std::size_t>(buffer.capacity_bytes_ - size_bytes));
  return buffer;
}

void AlignedBuffer::truncate(std::int64_t size_bytes) {
  GARUDA_EXPECTS(size_bytes >= 0 && size_bytes <= size_bytes_);
  size_bytes_ = size_bytes;
}

namespace {

/// Smaller blocks come from the heap.
constexpr auto kLeastKeptBytes = std::size_t{64} << 10;
/// A header with the buffer lies in front of the memory that a container sees.
constexpr std::size_t kHeaderBytes = 64;
static_assert(sizeof(AlignedBuffer) <= kHeaderBytes);

}  // namespace

void* allocate_kept(std::size_t bytes) {
  if (bytes < kLeastKeptBytes) return ::operator new(bytes);
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) - kHeaderBytes) throw std::bad_alloc();
  auto buffer = AlignedBuffer::allocate(static_cast<std::int64_t>(bytes + kHeaderBytes));
  if (!buffer) throw std::bad_alloc();
  auto* const memory = buffer->data();
  new (memory) AlignedBuffer(std::move(*buffer));
  return memory + kHeaderBytes;
}

void free_kept(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLeastKeptBytes) return ::operator delete(memory);
  auto* const header = reinterpret_cast<AlignedBuffer*>(static_cast<std::byte*>(memory) - kHeaderBytes);
  AlignedBuffer const buffer(std::move(*header));
  header->~AlignedBuffer();
}

}  // namespace garuda
