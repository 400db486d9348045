// Accounting of a device's memory: every vkAllocateMemory goes through one pool per device.
#pragma once

#include <volk.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "garuda/error.hpp"
#include "vk_runtime/device_traits.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

class MemoryPool;

/// One VkDeviceMemory, given back to its pool's accounts on destruction. Mapped for its whole life when host-visible.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(MemoryBlock&&) noexcept;
  MemoryBlock& operator=(MemoryBlock&&) noexcept;
  ~MemoryBlock();

  VkDeviceMemory handle() const noexcept { return memory_.get(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint32_t type() const noexcept { return type_; }
  /// Start of the mapping, or nullptr when the type is not host-visible (and for imported memory, mapped by its owner).
  std::byte* mapped() const noexcept { return mapped_; }

 private:
  friend class MemoryPool;
  MemoryPool* pool_ = nullptr;
  Unique<VkDeviceMemory> memory_;
  std::uint64_t bytes_ = 0;
  std::uint32_t type_ = 0;
  std::byte* mapped_ = nullptr;
  bool imported_ = false;
};

/// Extra conditions of one allocation.
struct BlockRequest {
  std::uint64_t bytes = 0;
  std::uint32_t type = 0;                      ///< index of the memory type
  VkBuffer dedicated_buffer = VK_NULL_HANDLE;  ///< at most one of the two
  VkImage dedicated_image = VK_NULL_HANDLE;
  void* imported_host_pointer = nullptr;  ///< VK_EXT_external_memory_host; not charged against the limit
};

/// Allocates device memory within the device's limits and the caller's. One per Device. Thread-safe.
class MemoryPool {
 public:
  /// `limit_bytes`: most device-local memory in use at a time, 0 for no limit but the driver's. `traits` outlives the
  /// pool.
  MemoryPool(DeviceHandle device, VkPhysicalDevice physical, DeviceTraits const& traits, std::uint64_t limit_bytes);

  /// Allocates (and maps, when host-visible) one block.
  /// Errors, all with the sizes: limit_exceeded past the explicit limit; out_of_memory past maxMemoryAllocationSize,
  /// maxMemoryAllocationCount or the heap's budget (VK_EXT_memory_budget), or from the driver.
  Result<MemoryBlock> allocate(BlockRequest const& request);

  /// Memory type for a buffer or image: the first of `allowed_types` (bit mask of VkMemoryRequirements) that has all
  /// `required` flags and as many of `preferred` as any. Nothing when no type has the required flags.
  std::optional<std::uint32_t> find_type(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                         VkMemoryPropertyFlags preferred = 0) const noexcept;

  /// Device-local memory in use, imported host memory not counted.
  std::uint64_t used_bytes() const;
  std::uint64_t limit_bytes() const;
  void set_limit_bytes(std::uint64_t limit_bytes);

  /// Device memory that can still be had: the explicit limit and the largest device-local heap's budget (its whole size
  /// without VK_EXT_memory_budget), less what is in use.
  std::uint64_t available_bytes() const;

  /// For tests: lets the `countdown`-th request from now fail with out_of_memory (1: the next one). Requests are block
  /// allocations and every Buffer and Image taken from an arena. Nothing: no failure is injected.
  void inject_failure(std::optional<std::uint64_t> countdown);
  /// Whether an injected failure has not come yet.
  bool failure_pending() const;

  /// Counts a request and fails when it is the one to fail; called by arenas.
  Result<void> count_request(std::string_view what);

  DeviceTraits const& traits() const noexcept { return traits_; }

 private:
  friend class MemoryBlock;
  void release(std::uint32_t type, std::uint64_t bytes) noexcept;
  /// Whether memory of this type counts against the limit.
  bool charged(std::uint32_t type) const noexcept;
  Result<void> reserve(BlockRequest const& request);
  std::uint64_t heap_bytes_left(std::uint32_t heap) const;

  DeviceHandle device_;
  VkPhysicalDevice physical_;
  DeviceTraits const& traits_;
  mutable std::mutex mutex_;
  std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::uint32_t blocks_ = 0;
  std::optional<std::uint64_t> failure_countdown_;
};

}  // namespace garuda::vk
