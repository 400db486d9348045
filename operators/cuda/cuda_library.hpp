// The CUDA plug-in, loaded at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

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

}  // namespace garuda::cuda
