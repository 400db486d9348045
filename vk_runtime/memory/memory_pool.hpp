// Accounting of a device's memory: every vkAllocateMemory goes through one pool per device.
#pragma once

#include <volk.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

class MemoryPool;

/// Memory that tests have this process's drivers give, whatever heaps and budgets say. They refuse more.
struct GivenMemory {
  std::uint64_t largest_block = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> heap_bytes;  ///< by heap; those past the list hold what they say
};
/// Holds for every pool from the next request on; nothing: drivers are asked. Thread-safe.
void inject_given_memory(std::optional<GivenMemory> given);

/// One VkDeviceMemory, given back to its pool on destruction: kept there for the next request of its type when nothing
/// ties it to one resource, else freed. Mapped for its whole life when host-visible.
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
  bool reusable_ = false;
};

/// Extra conditions of one allocation.
struct BlockRequest {
  std::uint64_t bytes = 0;
  std::uint32_t type = 0;                      ///< index of the memory type
  VkBuffer dedicated_buffer = VK_NULL_HANDLE;  ///< at most one of the two
  VkImage dedicated_image = VK_NULL_HANDLE;
  VkExternalMemoryHandleTypeFlags exported_handles = 0;  ///< kinds of handles that other APIs may open it by
  void* imported_host_pointer = nullptr;                 ///< VK_EXT_external_memory_host; not charged against the limit
};

/// Allocates device memory within the device's limits and the caller's. One per Device. Thread-safe.
///
/// Blocks that come back are kept, up to an eighth of the largest device-local heap: taking memory from a driver and
/// mapping it costs milliseconds, a join's passes often less. They count against limits and budgets as long as they are
/// kept, and are freed before a request is refused.
class MemoryPool {
 public:
  /// `limit_bytes`: most device-local memory in use at a time, 0 for no limit but the driver's. `traits` outlives the
  /// pool.
  MemoryPool(DeviceHandle device, VkPhysicalDevice physical, DeviceTraits const& traits, std::uint64_t limit_bytes);
  MemoryPool(MemoryPool const&) = delete;
  MemoryPool& operator=(MemoryPool const&) = delete;
  /// Every block handed out has come back by then.
  ~MemoryPool();

  /// Gives a kept block of this type, at least as large and at most half as large again, or allocates (and maps, when
  /// host-visible) one of that size. Contents undefined.
  /// Errors, all with the sizes: limit_exceeded past the explicit limit; out_of_memory past maxMemoryAllocationSize,
  /// maxMemoryAllocationCount or the heap's budget (VK_EXT_memory_budget), or from the driver.
  Result<MemoryBlock> allocate(BlockRequest const& request);

  /// Memory types for a buffer or image: those of `allowed_types` (bit mask of VkMemoryRequirements) that have all
  /// `required` flags, in the order of how many of `preferred` they have.
  std::vector<std::uint32_t> find_types(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                        VkMemoryPropertyFlags preferred = 0) const;
  /// The first of them. Nothing when no type has the required flags.
  std::optional<std::uint32_t> find_type(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                         VkMemoryPropertyFlags preferred = 0) const;

  /// Frees the blocks that are kept for reuse.
  void trim();

  /// Device-local memory in use, imported host memory and blocks kept for reuse not counted.
  std::uint64_t used_bytes() const;
  /// Memory of blocks kept for reuse, of any type.
  std::uint64_t kept_bytes() const;
  std::uint64_t limit_bytes() const;
  void set_limit_bytes(std::uint64_t limit_bytes);

  /// Device memory that can still be had: the explicit limit and the largest device-local heap's budget (its whole size
  /// without VK_EXT_memory_budget), less what is in use. Blocks kept for reuse can be had. Heaps and budgets are asked
  /// anew each time, and not believed: what a driver refused counts as not there for ten seconds, since other programs'
  /// memory comes and goes.
  std::uint64_t available_bytes() const;

  /// Bytes that the device can still give where it refused something lately; nullopt where it did not. Asks no driver.
  std::optional<std::uint64_t> room_after_refusal() const;

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
  /// Takes a block back: keeps it, or frees it.
  void give_back(MemoryBlock& block) noexcept;
  /// Whether memory of this type counts against the limit.
  bool charged(std::uint32_t type) const noexcept;
  /// A kept block for `request`, or an empty one.
  MemoryBlock take_kept(BlockRequest const& request);
  Result<MemoryBlock> allocate_new(BlockRequest const& request);
  /// Puts `request` on the accounts; frees kept blocks when it does not fit beside them.
  Result<void> reserve(BlockRequest const& request);
  Result<void> check_fits(BlockRequest const& request) const;
  std::uint64_t heap_bytes_left(std::uint32_t heap) const;
  /// The rest of the bytes that the heap was found to hold when it refused more; nullopt: it refused nothing.
  std::optional<std::uint64_t> refused_bytes_left(std::uint32_t heap) const;
  /// The bytes that the device and VK_EXT_memory_budget say are left.
  std::uint64_t said_bytes_left(std::uint32_t heap) const;
  /// The refusal that tests have the driver give; the lock is held.
  Result<void> injected_refusal(BlockRequest const& request);
  void remember_refusal(BlockRequest const& request);
  /// The heap holds no more than `room` bytes; the lock is held.
  void remember_room(std::uint32_t heap, std::uint64_t room);
  /// Takes a block that goes back to the driver off the accounts.
  void forget_bytes(MemoryBlock const& block) noexcept;
  std::uint64_t kept_bytes_in(std::uint32_t heap) const noexcept;
  /// Device-local memory in use or kept.
  std::uint64_t charged_bytes() const noexcept;
  /// Takes kept blocks off the accounts for the caller to free outside the lock.
  std::vector<MemoryBlock> forget_kept() noexcept;

  /// The most that a heap was found to hold, less than it says.
  struct Refusal {
    std::uint64_t room = 0;
    std::chrono::steady_clock::time_point until;
  };

  DeviceHandle device_;
  VkPhysicalDevice physical_;
  DeviceTraits const& traits_;
  mutable std::mutex mutex_;
  std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::uint32_t blocks_ = 0;       // handed out and kept
  std::vector<MemoryBlock> kept_;  // capacity for every reusable block, so that giving back never allocates
  std::uint64_t kept_bytes_ = 0;
  std::uint32_t reusable_blocks_ = 0;
  std::array<std::uint64_t, VK_MAX_MEMORY_HEAPS> held_{};  // by heap: bytes of all blocks but imported ones
  std::array<std::optional<Refusal>, VK_MAX_MEMORY_HEAPS> refusals_;
  std::optional<std::uint64_t> failure_countdown_;
};

}  // namespace garuda::vk
