#include "operators/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/os/environment.hpp"
#include "core/os/library.hpp"
#include "cuda_backend/codes.hpp"

namespace garuda::cuda {
namespace {

std::string cuda_version(std::uint32_t version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string driver_of(GarudaCudaTraits const& traits) {
  return fmt::format("NVIDIA, CUDA {}", cuda_version(traits.driver_version));
}

class CudaDevices final : public contract::ApiDevices {
 public:
  CudaDevices(std::unique_ptr<CudaLibrary> library, std::span<GarudaCudaTraits const> all)
      : library_(std::move(library)) {
    for (auto const& traits : all) found_.push_back(describe_cuda(traits));
    opened_.resize(found_.size());
  }

  std::span<contract::FoundDevice const> found() const noexcept override { return found_; }

  Result<contract::OpenDevice*> open(std::size_t index) override {
    auto& device = opened_.at(index);
    if (device == nullptr) {
      GARUDA_TRY_ASSIGN(device, CudaDevice::open(*library_, static_cast<std::uint32_t>(index)));
    }
    return device.get();
  }

  void release_memory() override {
    // A lost device has no memory to give back; the next call on it says so.
    for (auto const& device : opened_)
      if (device != nullptr) (void)device->trim();
  }

 private:
  std::unique_ptr<CudaLibrary> library_;
  std::vector<contract::FoundDevice> found_;
  std::vector<std::unique_ptr<CudaDevice>> opened_;
};

constexpr char const* kFileVariable = "GARUDA_CUDA_PLUGIN";

std::vector<std::filesystem::path> files_to_try() {
  if (auto const named = os::path_variable(kFileVariable)) return {*named};
  return os::own_library_files("garuda_cuda");
}

}  // namespace

Result<void> cuda_result(std::int32_t code, GarudaCudaError const& error) {
  if (code == GARUDA_CUDA_OK) return {};
  return fail(cuda_backend::error_of(code), error.message);
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

contract::FoundDevice describe_cuda(GarudaCudaTraits const& traits) {
  constexpr std::uint32_t kWarp = 32;
  contract::FoundDevice found;
  std::ranges::copy(traits.uuid, found.uuid.begin());
  auto& info = found.info;
  info.api = DeviceApi::cuda;
  info.name = traits.name;
  info.driver = driver_of(traits);
  info.api_version = cuda_version(traits.driver_version);
  info.kind = traits.is_integrated != 0 ? DeviceKind::integrated : DeviceKind::discrete;
  info.memory_bytes = traits.memory_bytes;
  info.unified_memory = traits.is_integrated != 0;
  info.subgroup_size = kWarp;
  auto const capability = fmt::format("{}.{}", traits.compute_major, traits.compute_minor);
  if (10 * traits.compute_major + traits.compute_minor < kOldestCuda) {
    info.reason = "older than compute capability 7.5";
  } else if (traits.has_code == 0) {
    info.reason = fmt::format("the CUDA plug-in was built without code for compute capability {}", capability);
  } else {
    info.usable = true;
    info.reason = "usable by path cuda; auto takes it when CUDA is allowed or nothing else is a GPU";
  }
  info.traits = {
      {"compute capability", capability},
      {"multiprocessors", fmt::to_string(traits.multiprocessors)},
      {"threads a multiprocessor", fmt::to_string(traits.threads_per_multiprocessor)},
      {"shared memory bytes", fmt::to_string(traits.shared_bytes)},
      {"L2 cache bytes", fmt::to_string(traits.l2_bytes)},
      {"memory pools", traits.has_memory_pools != 0 ? "yes" : "no, memory is taken from the driver each time"},
      {"CUDA runtime", cuda_version(traits.runtime_version)},
  };
  return found;
}

Result<std::unique_ptr<contract::ApiDevices>> find_cuda_devices(EngineOptions const& options) {
  if (!options.cuda) return fail(ErrorCode::no_device, "the engine was made without CUDA");
  GARUDA_TRY_ASSIGN(auto library, CudaLibrary::load());
  GARUDA_TRY_ASSIGN(auto const traits, library->devices());
  return std::make_unique<CudaDevices>(std::move(library), traits);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(CudaLibrary const& library, std::uint32_t ordinal) {
  auto const& api = library.api();
  GarudaCudaTraits traits{};
  GARUDA_TRY(call(api.device_traits, ordinal, &traits));
  GarudaCudaDevice* handle = nullptr;
  GARUDA_TRY(call(api.open_device, ordinal, &handle));
  return std::unique_ptr<CudaDevice>(new CudaDevice(api, handle, traits));
}

Result<std::uint64_t> CudaDevice::available_bytes() const {
  std::uint64_t bytes = 0;
  GARUDA_TRY(call(api_.available_bytes, handle_, &bytes));
  return bytes;
}

Result<void> CudaDevice::trim() { return call(api_.trim, handle_); }

}  // namespace garuda::cuda
