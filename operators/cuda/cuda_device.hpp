// A CUDA device as garuda sees it: found, described, opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cuda_backend/plugin.h"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/cuda/cuda_library.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::cuda {

/// Oldest compute capability that the plug-in has code for: 7.5 (Turing).
inline constexpr std::uint32_t kOldestCuda = 75;  ///< 10 × major + minor

/// What planners ask of a device's traits (name, memory, type, UUID), from what CUDA says of it. Nothing of Vulkan is
/// set, so no Vulkan path takes it.
vk::DeviceTraits planning_traits(GarudaCudaTraits const& traits);

/// The listing of device `index`; `vulkan`: the Vulkan devices, of which one may be the same GPU.
DeviceInfo describe_cuda(std::uint32_t index, GarudaCudaTraits const& traits,
                         std::span<vk::DeviceTraits const* const> vulkan);

/// An open device. Thread-safe.
class CudaDevice {
 public:
  /// `library` outlives the device. Errors: no_device, out_of_memory, device_failure.
  static Result<std::unique_ptr<CudaDevice>> open(CudaLibrary const& library, std::uint32_t ordinal);
  CudaDevice(CudaDevice const&) = delete;
  CudaDevice& operator=(CudaDevice const&) = delete;
  ~CudaDevice() { api_.close_device(handle_); }

  GarudaCudaApi const& api() const noexcept { return api_; }
  GarudaCudaDevice* handle() const noexcept { return handle_; }
  GarudaCudaTraits const& traits() const noexcept { return traits_; }
  /// Free device memory, that kept by the pool included. Errors: device_failure.
  Result<std::uint64_t> available_bytes() const;
  /// Gives back the memory that is kept. Errors: device_failure.
  Result<void> trim();

 private:
  CudaDevice(GarudaCudaApi const& api, GarudaCudaDevice* handle, GarudaCudaTraits const& traits)
      : api_(api), handle_(handle), traits_(traits) {}

  GarudaCudaApi const& api_;
  GarudaCudaDevice* handle_;
  GarudaCudaTraits traits_;
};

}  // namespace garuda::cuda
