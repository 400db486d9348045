// A CUDA device as garuda sees it: found, described, opened.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda_backend/plugin.h"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/cuda/cuda_library.hpp"

namespace garuda::cuda {

/// Oldest compute capability that the plug-in has code for: 7.5 (Turing).
inline constexpr std::uint32_t kOldestCuda = 75;  ///< 10 × major + minor

/// The listing of a device, but for its index.
contract::FoundDevice describe_cuda(GarudaCudaTraits const& traits);

/// See PathRow::find_devices. Loads the plug-in: tenths of a second where there is an NVIDIA driver. Errors: no_device,
/// with what is missing: plug-in, driver, device.
Result<std::unique_ptr<contract::ApiDevices>> find_cuda_devices(EngineOptions const& options);

/// An open device. Thread-safe.
class CudaDevice final : public contract::OpenDevice {
 public:
  /// `library` outlives the device. Errors: no_device, out_of_memory, device_failure.
  static Result<std::unique_ptr<CudaDevice>> open(CudaLibrary const& library, std::uint32_t ordinal);
  CudaDevice(CudaDevice const&) = delete;
  CudaDevice& operator=(CudaDevice const&) = delete;
  ~CudaDevice() override { api_.close_device(handle_); }

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

/// Requires: it is one of CUDA.
inline CudaDevice& cuda_of(contract::OpenDevice& device) { return static_cast<CudaDevice&>(device); }

}  // namespace garuda::cuda
