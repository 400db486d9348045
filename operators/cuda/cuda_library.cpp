#include "operators/cuda/cuda_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace garuda::cuda {
namespace {

constexpr char const* kFile = "libgaruda_cuda.so";
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

/// Of the library or program that this function is part of.
std::filesystem::path own_folder() {
  Dl_info info{};
  static int const anchor = 0;
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  // A program started through PATH is known by its first argument only.
  auto file = std::filesystem::canonical(info.dli_fname, ignored);
  if (ignored) file = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return ignored ? std::filesystem::path{} : file.parent_path();
}

std::vector<std::string> files_to_try() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, when an engine is made; nothing here changes the environment.
  if (auto const* const named = std::getenv(kFileVariable); named != nullptr && *named != '\0') return {named};
  std::vector<std::string> files;
  if (auto const folder = own_folder(); !folder.empty())
    for (auto const* const place : {".", "garuda", "../lib", GARUDA_PLUGIN_FOLDER}) {
      auto const file = (folder / place / kFile).lexically_normal();
      std::error_code ignored;
      if (std::filesystem::exists(file, ignored)) files.push_back(file.string());
    }
  files.emplace_back(kFile);
  return files;
}

std::string last_dl_error() {
  auto const* const text = dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

Result<void> cuda_result(std::int32_t code, GarudaCudaError const& error) {
  if (code == GARUDA_CUDA_OK) return {};
  return fail(code_of(code), error.message);
}

Result<std::unique_ptr<CudaLibrary>> CudaLibrary::load() {
  std::string reasons;
  for (auto const& file : files_to_try()) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", last_dl_error());
      continue;
    }
    auto* const symbol = dlsym(handle, GARUDA_CUDA_ENTRY);
    if (symbol == nullptr)
      return fail(ErrorCode::no_device, fmt::format("{} is no CUDA plug-in of garuda: {}", file, last_dl_error()));
    auto const* const api = reinterpret_cast<GarudaCudaEntry>(symbol)(GARUDA_CUDA_ABI_VERSION);
    if (api == nullptr || api->version != GARUDA_CUDA_ABI_VERSION || api->size != sizeof(GarudaCudaApi))
      return fail(ErrorCode::no_device, fmt::format("the CUDA plug-in {} is of another version of garuda", file));
    return std::unique_ptr<CudaLibrary>(new CudaLibrary(api, file));
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
