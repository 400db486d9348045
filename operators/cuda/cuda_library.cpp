#include "operators/cuda/cuda_library.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/os/environment.hpp"
#include "core/os/library.hpp"

namespace garuda::cuda {
namespace {

constexpr char const* kFileVariable = "GARUDA_CUDA_PLUGIN";

ErrorCode code_of(std::int32_t code) {
  switch (code) {
    case GARUDA_CUDA_USAGE:
      return ErrorCode::usage;
    case GARUDA_CUDA_NO_DEVICE:
      return ErrorCode::no_device;
    case GARUDA_CUDA_OUT_OF_MEMORY:
      return ErrorCode::out_of_memory;
    case GARUDA_CUDA_LIMIT_EXCEEDED:
      return ErrorCode::limit_exceeded;
    case GARUDA_CUDA_CANCELLED:
      return ErrorCode::cancelled;
    default:
      return ErrorCode::device_failure;
  }
}

std::vector<std::filesystem::path> files_to_try() {
  if (auto const named = os::path_variable(kFileVariable)) return {*named};
  return os::own_library_files("garuda_cuda");
}

}  // namespace

Result<void> cuda_result(std::int32_t code, GarudaCudaError const& error) {
  if (code == GARUDA_CUDA_OK) return {};
  return fail(code_of(code), error.message);
}

Result<std::unique_ptr<CudaLibrary>> CudaLibrary::load() {
  std::string reasons;
  for (auto const& file : files_to_try()) {
    auto const library = os::LoadedLibrary::load(file);
    if (!library) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", library.error().message());
      continue;
    }
    auto const entry = library->find(GARUDA_CUDA_ENTRY);
    if (!entry)
      return fail(ErrorCode::no_device,
                  fmt::format("{} is no CUDA plug-in of garuda: {}", file.string(), entry.error().message()));
    auto const* const api = reinterpret_cast<GarudaCudaEntry>(*entry)(GARUDA_CUDA_ABI_VERSION);
    if (api == nullptr || api->version != GARUDA_CUDA_ABI_VERSION || api->size != sizeof(GarudaCudaApi))
      return fail(ErrorCode::no_device,
                  fmt::format("the CUDA plug-in {} is of another version of garuda", file.string()));
    return std::unique_ptr<CudaLibrary>(new CudaLibrary(api, file.string()));
  }
  return fail(ErrorCode::no_device, fmt::format("the CUDA plug-in cannot be loaded: {}", reasons));
}

Result<std::vector<GarudaCudaTraits>> CudaLibrary::devices() const {
  std::uint32_t count = 0;
  GARUDA_TRY(call(api_->count_devices, &count));
  std::vector<GarudaCudaTraits> devices(count);
  for (std::uint32_t i = 0; i < count; ++i) GARUDA_TRY(call(api_->device_traits, i, &devices[i]));
  return devices;
}

}  // namespace garuda::cuda
