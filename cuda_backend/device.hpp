// A CUDA device, opened: its traits and the pool its memory comes from.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Number of devices. Errors: no_device, with the driver's reason.
Result<std::uint32_t> count_devices();

/// Traits of device `ordinal`, known without opening it. Errors: no_device, device_failure.
Result<GarudaCudaTraits> device_traits(std::uint32_t ordinal);

/// Page-locked host memory.
class PinnedMemory {
 public:
  /// Errors: out_of_memory, device_failure.
  static Result<PinnedMemory> create(std::uint64_t bytes);

  std::byte* data() const noexcept { return memory_.get(); }
  std::uint64_t bytes() const noexcept { return memory_ == nullptr ? 0 : bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t bytes_ = 0;
};

/// Owns the pool of the device's memory. Freed memory stays in the pool for later calls, up to an eighth of the
/// device's. Thread-safe.
class Device {
 public:
  /// Errors: no_device for a device older than compute capability 7.5; device_failure.
  static Result<std::unique_ptr<Device>> open(std::uint32_t ordinal);
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;
  ~Device();

  GarudaCudaTraits const& traits() const noexcept { return traits_; }
  /// Makes the device the calling thread's. Errors: device_failure.
  Result<void> enter() const;
  /// Free bytes, those that the pool keeps included. Errors: device_failure.
  Result<std::uint64_t> available_bytes() const;
  /// Gives back device and page-locked memory that is kept. Errors: device_failure.
  Result<void> trim();

  /// Memory whose use begins and ends in the order of `stream`. Where the device has no pools, allocating and freeing
  /// wait for it. Errors: out_of_memory, device_failure.
  Result<void*> allocate(std::uint64_t bytes, cudaStream_t stream);
  void release(void* memory, cudaStream_t stream) noexcept;

  /// Page-locked memory of `bytes`, from what was kept when there is some: locking pages takes milliseconds.
  /// Errors: out_of_memory, device_failure.
  Result<PinnedMemory> take_pinned(std::uint64_t bytes);
  /// Keeps `memory`, no longer in use, for later.
  void keep_pinned(PinnedMemory memory) noexcept;

 private:
  Device(std::uint32_t ordinal, GarudaCudaTraits const& traits) : ordinal_(ordinal), traits_(traits) {}

  std::uint32_t ordinal_;
  GarudaCudaTraits traits_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex pinned_mutex_;
  std::vector<PinnedMemory> pinned_;
};

/// Owns CUDA's view of the memory; the other API's owner outlives it.
class ImportedMemory {
 public:
  /// Takes over `request.fd` when it succeeds; into the thread's device.
  /// Errors: usage for no bytes; device_failure when the memory is not of this GPU, or not shareable.
  static Result<std::unique_ptr<ImportedMemory>> import(GarudaCudaImport const& request);
  ImportedMemory(ImportedMemory const&) = delete;
  ImportedMemory& operator=(ImportedMemory const&) = delete;
  /// The device is done with it.
  ~ImportedMemory();

  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(mapped_); }

 private:
  ImportedMemory() = default;

  cudaExternalMemory_t memory_ = nullptr;
  void* mapped_ = nullptr;
};

}  // namespace garuda::cuda_backend
