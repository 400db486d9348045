#include "operators/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::cuda {
namespace {

std::string cuda_version(std::uint32_t version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string driver_of(GarudaCudaTraits const& traits) {
  return fmt::format("NVIDIA, CUDA {}", cuda_version(traits.driver_version));
}

}  // namespace

vk::DeviceTraits planning_traits(GarudaCudaTraits const& traits) {
  vk::DeviceTraits planning;
  planning.name = traits.name;
  planning.driver_name = driver_of(traits);
  std::ranges::copy(traits.uuid, planning.uuid.begin());
  planning.type = traits.is_integrated != 0 ? vk::DeviceType::integrated : vk::DeviceType::discrete;
  planning.unified_memory = traits.is_integrated != 0;
  planning.heaps = {{traits.memory_bytes, true}};
  return planning;
}

DeviceInfo describe_cuda(std::uint32_t index, GarudaCudaTraits const& traits,
                         std::span<vk::DeviceTraits const* const> vulkan) {
  constexpr std::uint32_t kWarp = 32;
  DeviceInfo info;
  info.index = index;
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
  for (std::uint32_t i = 0; i < vulkan.size(); ++i)
    if (std::ranges::equal(vulkan[i]->uuid, traits.uuid)) info.same_gpu = i;
  info.traits = {
      {"compute capability", capability},
      {"multiprocessors", fmt::to_string(traits.multiprocessors)},
      {"threads a multiprocessor", fmt::to_string(traits.threads_per_multiprocessor)},
      {"shared memory bytes", fmt::to_string(traits.shared_bytes)},
      {"L2 cache bytes", fmt::to_string(traits.l2_bytes)},
      {"memory pools", traits.has_memory_pools != 0 ? "yes" : "no, memory is taken from the driver each time"},
      {"CUDA runtime", cuda_version(traits.runtime_version)},
  };
  return info;
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(CudaLibrary const& library, std::uint32_t ordinal) {
  auto const& api = library.api();
  GarudaCudaError error{};
  GarudaCudaTraits traits{};
  GARUDA_TRY(cuda_result(api.device_traits(ordinal, &traits, &error), error));
  GarudaCudaDevice* handle = nullptr;
  GARUDA_TRY(cuda_result(api.open_device(ordinal, &handle, &error), error));
  return std::unique_ptr<CudaDevice>(new CudaDevice(api, handle, traits));
}

Result<std::uint64_t> CudaDevice::available_bytes() const {
  GarudaCudaError error{};
  std::uint64_t bytes = 0;
  GARUDA_TRY(cuda_result(api_.available_bytes(handle_, &bytes, &error), error));
  return bytes;
}

Result<void> CudaDevice::trim() {
  GarudaCudaError error{};
  return cuda_result(api_.trim(handle_, &error), error);
}

}  // namespace garuda::cuda
