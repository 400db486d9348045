// The plug-in of CUDA, loaded, and a CUDA device as garuda sees it: found, described, opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda_backend/plugin.h"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/contract/device_set.hpp"

namespace garuda::cuda {

/// The result of a call into the plug-in: its sentence under the code that it gave.
Result<void> cuda_result(std::int32_t code, GarudaCudaError const& error);

/// Calls a function of the plug-in with `arguments` and, last, its error.
template <class Function, class... Arguments>
Result<void> call(Function function, Arguments... arguments) {
  GarudaCudaError error{};
  return cuda_result(function(arguments..., &error), error);
}

/// The plug-in's functions. It stays loaded until the process ends, because the CUDA runtime in it has exit handlers.
class CudaLibrary {
 public:
  /// Loads the file that GARUDA_CUDA_PLUGIN names; without that libgaruda_cuda.so beside this library or program, in
  /// garuda/ beside it, ../lib or the installed ../lib/garuda of its folder, or where the dynamic linker finds it.
  /// Errors: no_device, when there is no such file, it cannot be loaded or is of another version.
  static Result<std::unique_ptr<CudaLibrary>> load();

  GarudaCudaApi const& api() const noexcept { return *api_; }
  std::string const& file() const noexcept { return file_; }
  /// The devices in CUDA's order. Errors: no_device, with the driver's reason; device_failure.
  Result<std::vector<GarudaCudaTraits>> devices() const;

 private:
  CudaLibrary(GarudaCudaApi const* api, std::string file) : api_(api), file_(std::move(file)) {}

  GarudaCudaApi const* api_;
  std::string file_;
};

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
