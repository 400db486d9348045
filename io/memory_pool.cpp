#include "io/memory_pool.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/buffer.hpp"
#include "core/kept_memory.hpp"
#include "core/shortage.hpp"

namespace garuda::io {
namespace {

/// Smaller buffers are not worth a place in the table, nor pages of their own.
constexpr std::int64_t kPooledBytes = 64 << 10;

class KeptPool final : public arrow::ProxyMemoryPool {
 public:
  KeptPool() : arrow::ProxyMemoryPool(arrow::system_memory_pool()) {}

  using arrow::ProxyMemoryPool::Allocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (size < kPooledBytes || alignment > buffer_alignment() || !KeptMemory::instance().is_keeping())
      return allocate_of_system(size, alignment, out);
    auto buffer = AlignedBuffer::allocate(size);
    if (!buffer) return arrow::Status::OutOfMemory(buffer.error().describe());
    auto* const first = buffer->as<std::uint8_t>();
    std::lock_guard const lock(mutex_);
    buffers_.emplace(first, *std::move(buffer));
    *out = first;
    return arrow::Status::OK();
  }

  using arrow::ProxyMemoryPool::Reallocate;
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    auto const capacity = pooled_bytes(*memory);
    if (capacity == 0 && (new_size < kPooledBytes || !KeptMemory::instance().is_keeping()))
      return reallocate_of_system(old_size, new_size, alignment, memory);
    if (new_size <= capacity && new_size > capacity / 2) return arrow::Status::OK();
    std::uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *memory, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*memory, old_size, alignment);
    *memory = moved;
    return arrow::Status::OK();
  }

  using arrow::ProxyMemoryPool::Free;
  void Free(std::uint8_t* memory, std::int64_t size, std::int64_t alignment) override {
    std::unique_lock lock(mutex_);
    auto const buffer = buffers_.extract(memory);
    lock.unlock();
    if (!buffer.empty()) return;
    arrow::ProxyMemoryPool::Free(memory, size, alignment);
    ceiling_.give(static_cast<std::uint64_t>(size));
  }

 private:
  arrow::Status allocate_of_system(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
    if (!ceiling_.take(static_cast<std::uint64_t>(size))) return refused(size);
    auto status = arrow::ProxyMemoryPool::Allocate(size, alignment, out);
    if (!status.ok()) ceiling_.give(static_cast<std::uint64_t>(size));
    return status;
  }

  arrow::Status reallocate_of_system(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                                     std::uint8_t** memory) {
    if (!ceiling_.take(static_cast<std::uint64_t>(new_size))) return refused(new_size);
    auto status = arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, memory);
    ceiling_.give(static_cast<std::uint64_t>(status.ok() ? old_size : new_size));
    return status;
  }

  static arrow::Status refused(std::int64_t size) {
    return arrow::Status::OutOfMemory("a buffer does not fit the memory limit beside those in use, bytes: ", size);
  }

  /// 0: the system's.
  std::int64_t pooled_bytes(std::uint8_t const* memory) {
    std::lock_guard const lock(mutex_);
    auto const buffer = buffers_.find(memory);
    return buffer == buffers_.end() ? 0 : buffer->second.capacity_bytes();
  }

  BufferCeiling& ceiling_ = BufferCeiling::instance();
  std::mutex mutex_;
  std::unordered_map<std::uint8_t const*, AlignedBuffer> buffers_;
};

}  // namespace

arrow::MemoryPool* memory_pool() {
  // Leaked on purpose: arrays may be freed after every static object.
  static auto* const pool = new KeptPool;
  return pool;
}

}  // namespace garuda::io
