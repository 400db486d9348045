#include "io/memory_pool.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/buffer.hpp"
#include "core/kept_memory.hpp"

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
      return arrow::ProxyMemoryPool::Allocate(size, alignment, out);
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
      return arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, memory);
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
    if (buffer.empty()) arrow::ProxyMemoryPool::Free(memory, size, alignment);
  }

 private:
  /// 0: the system's.
  std::int64_t pooled_bytes(std::uint8_t const* memory) {
    std::lock_guard const lock(mutex_);
    auto const buffer = buffers_.find(memory);
    return buffer == buffers_.end() ? 0 : buffer->second.capacity_bytes();
  }

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
