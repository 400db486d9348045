// A CUDA device opened for timing, and memory on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/compute_bench.hpp"
#include "bench/resident_path.hpp"
#include "bench/table_builder.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_lane.hpp"

namespace garuda::bench {

/// Device memory of one's own. Move-only; destroyed before its device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(GarudaCudaApi const& api, GarudaCudaBuffer* buffer, std::uint64_t address)
      : api_(&api), buffer_(buffer), address_(address) {}
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(buffer_, other.buffer_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~DeviceMemory() {
    if (buffer_ != nullptr) api_->destroy_buffer(buffer_);
  }
  std::uint64_t address() const noexcept { return address_; }

 private:
  GarudaCudaApi const* api_ = nullptr;
  GarudaCudaBuffer* buffer_ = nullptr;
  std::uint64_t address_ = 0;
};

/// A device opened for timing, with one lane.
class CudaBench {
 public:
  /// As open_cuda_path().
  static Result<std::unique_ptr<CudaBench>> open(std::optional<std::string> const& device,
                                                 std::optional<DeviceUuid> const& uuid);

  GarudaCudaApi const& api() const noexcept { return device_->api(); }
  GarudaCudaLane* lane() const noexcept { return lanes_.front()->handle(); }
  GarudaCudaTraits const& traits() const noexcept { return device_->traits(); }
  std::string driver() const;

  Result<DeviceMemory> allocate(std::uint64_t bytes);
  Result<DeviceMemory> upload(std::span<std::byte const> values);
  /// Adds `rows` values of a device column to a table of the host.
  Result<void> download(TableBuilder& builder, Field const& field, std::uint64_t address, std::uint64_t rows);

  /// Runs, blocking.
  Result<PhaseSample> time(std::function<Result<void>()> const& run);

 private:
  template <class T>
  Result<void> download_as(TableBuilder& builder, std::string name, std::uint64_t address, std::uint64_t rows);

  PhaseCollector phases_;
  std::unique_ptr<cuda::CudaLibrary> library_;
  std::unique_ptr<cuda::CudaDevice> device_;
  std::vector<std::unique_ptr<cuda::CudaLane>> lanes_;
};

}  // namespace garuda::bench
