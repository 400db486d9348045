// A buffer that other APIs on the same GPU open by a file descriptor, without a copy.
#pragma once

#include <volk.h>

#include <cstdint>

#include "core/os/file.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory_pool.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

/// Owner of a buffer and of the device memory allocated for it alone. Move-only; the device outlives it, and is done
/// with it when it goes. Its memory is on the accounts of the device's MemoryPool; an importer's view of it takes none.
class ExportedBuffer {
 public:
  /// Creates a buffer of `bytes` bytes in device memory, contents undefined, with the usages and the device address
  /// that every buffer has. Errors: no_device, saying what is missing, where the device does not export memory;
  /// limit_exceeded, out_of_memory, device_failure.
  static Result<ExportedBuffer> create(Device& device, std::uint64_t bytes, char const* name);

  /// A new descriptor for the memory, for one importer. Errors: out_of_memory, device_failure.
  Result<os::FileDescriptor> open_memory() const;

  VkBuffer handle() const noexcept { return buffer_.get(); }
  VkDeviceAddress address() const noexcept { return address_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Bytes of the whole allocation, which importers have to name.
  std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }

 private:
  DeviceHandle device_;
  MemoryBlock memory_;
  Unique<VkBuffer> buffer_;
  VkDeviceAddress address_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace garuda::vk
