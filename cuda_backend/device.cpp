#include "cuda_backend/device.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "cuda_backend/architectures.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr std::uint32_t kOldestCapability = 75;  // 10 × major + minor
constexpr std::uint64_t kKeptShare = 8;

Result<std::uint64_t> attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  GARUDA_CUDA_TRY(cudaDeviceGetAttribute(&value, which, ordinal));
  return static_cast<std::uint64_t>(value);
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The runtime reports a missing driver and one that is too old alike.
tl::unexpected<Error> insufficient_driver() {
  int driver = 0;
  int runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess || driver == 0)
    return fail(ErrorCode::no_device, "no NVIDIA driver is installed");
  return fail(ErrorCode::no_device, "the NVIDIA driver is too old: it serves CUDA " + version_text(driver) +
                                        ", and the CUDA plug-in needs " + version_text(runtime));
}

}  // namespace

Result<PinnedMemory> PinnedMemory::create(std::uint64_t bytes) {
  PinnedMemory pinned;
  void* memory = nullptr;
  GARUDA_CUDA_TRY(cudaMallocHost(&memory, bytes));
  pinned.memory_.reset(static_cast<std::byte*>(memory));
  pinned.bytes_ = bytes;
  return pinned;
}

void PinnedMemory::Free::operator()(std::byte* memory) const noexcept { (void)cudaFreeHost(memory); }

Result<std::uint32_t> count_devices() {
  int count = 0;
  auto const status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    return fail(ErrorCode::no_device, "the NVIDIA driver knows no CUDA device");
  if (status == cudaErrorInsufficientDriver) return insufficient_driver();
  GARUDA_TRY(check(status, "cudaGetDeviceCount"));
  return static_cast<std::uint32_t>(count);
}

Result<GarudaCudaTraits> device_traits(std::uint32_t ordinal) {
  auto const index = static_cast<int>(ordinal);
  cudaDeviceProp properties;
  GARUDA_CUDA_TRY(cudaGetDeviceProperties(&properties, index));
  GarudaCudaTraits traits{};
  std::memcpy(traits.name, properties.name, std::min(sizeof traits.name, sizeof properties.name));
  traits.name[sizeof traits.name - 1] = 0;
  std::memcpy(traits.uuid, &properties.uuid, sizeof traits.uuid);
  traits.memory_bytes = properties.totalGlobalMem;
  traits.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  traits.shared_bytes = properties.sharedMemPerBlockOptin;
  traits.compute_major = static_cast<std::uint32_t>(properties.major);
  traits.compute_minor = static_cast<std::uint32_t>(properties.minor);
  traits.multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
  traits.threads_per_multiprocessor = static_cast<std::uint32_t>(properties.maxThreadsPerMultiProcessor);
  traits.is_integrated = properties.integrated != 0 ? 1 : 0;
  GARUDA_TRY_ASSIGN(auto const pools, attribute(cudaDevAttrMemoryPoolsSupported, index));
  traits.has_memory_pools = pools != 0 ? 1 : 0;
  int version = 0;
  GARUDA_CUDA_TRY(cudaDriverGetVersion(&version));
  traits.driver_version = static_cast<std::uint32_t>(version);
  GARUDA_CUDA_TRY(cudaRuntimeGetVersion(&version));
  traits.runtime_version = static_cast<std::uint32_t>(version);
  auto const capability = 10 * traits.compute_major + traits.compute_minor;
  traits.has_code = has_code_for(GARUDA_CUDA_ARCHITECTURES, capability) ? 1 : 0;
  return traits;
}

Result<std::unique_ptr<Device>> Device::open(std::uint32_t ordinal) {
  GARUDA_TRY_ASSIGN(auto const traits, device_traits(ordinal));
  auto const capability = 10 * traits.compute_major + traits.compute_minor;
  if (capability < kOldestCapability)
    return fail(ErrorCode::no_device, std::string("CUDA devices are used from compute capability 7.5 on; ") +
                                          traits.name + " has " + std::to_string(traits.compute_major) + "." +
                                          std::to_string(traits.compute_minor));
  if (traits.has_code == 0)
    return fail(ErrorCode::no_device,
                std::string("the CUDA plug-in was built for " GARUDA_CUDA_ARCHITECTURES " and has no code for ") +
                    traits.name + ", of compute capability " + std::to_string(traits.compute_major) + "." +
                    std::to_string(traits.compute_minor));
  std::unique_ptr<Device> device(new Device(ordinal, traits));
  GARUDA_TRY(device->enter());
  if (traits.has_memory_pools == 0) return device;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = static_cast<int>(ordinal);
  GARUDA_CUDA_TRY(cudaMemPoolCreate(&device->pool_, &properties));
  std::uint64_t kept = traits.memory_bytes / kKeptShare;
  GARUDA_CUDA_TRY(cudaMemPoolSetAttribute(device->pool_, cudaMemPoolAttrReleaseThreshold, &kept));
  return device;
}

Device::~Device() {
  // A failure here is a lost device, whose memory the driver takes back.
  if (pool_ != nullptr && enter()) (void)cudaMemPoolDestroy(pool_);
}

Result<void> Device::enter() const {
  GARUDA_CUDA_TRY(cudaSetDevice(static_cast<int>(ordinal_)));
  return {};
}

Result<std::uint64_t> Device::available_bytes() const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GARUDA_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (pool_ == nullptr) return free_bytes;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  GARUDA_CUDA_TRY(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
  GARUDA_CUDA_TRY(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
  return free_bytes + (reserved > used ? reserved - used : 0);
}

Result<void> Device::trim() {
  {
    std::lock_guard const lock(pinned_mutex_);
    pinned_.clear();
  }
  if (pool_ != nullptr) GARUDA_CUDA_TRY(cudaMemPoolTrimTo(pool_, 0));
  return {};
}

Result<void*> Device::allocate(std::uint64_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (pool_ != nullptr) {
    GARUDA_CUDA_TRY(cudaMallocFromPoolAsync(&memory, bytes, pool_, stream));
  } else {
    GARUDA_CUDA_TRY(cudaMalloc(&memory, bytes));
  }
  return memory;
}

void Device::release(void* memory, cudaStream_t stream) noexcept {
  // Failures are those of earlier work, which the next checked call reports.
  if (pool_ != nullptr) {
    (void)cudaFreeAsync(memory, stream);
  } else {
    (void)cudaStreamSynchronize(stream);
    (void)cudaFree(memory);
  }
}

Result<PinnedMemory> Device::take_pinned(std::uint64_t bytes) {
  {
    std::lock_guard const lock(pinned_mutex_);
    auto const found = std::ranges::find(pinned_, bytes, &PinnedMemory::bytes);
    if (found != pinned_.end()) {
      auto memory = std::move(*found);
      pinned_.erase(found);
      return memory;
    }
  }
  return PinnedMemory::create(bytes);
}

void Device::keep_pinned(PinnedMemory memory) noexcept {
  if (memory.bytes() == 0) return;
  try {
    std::lock_guard const lock(pinned_mutex_);
    pinned_.push_back(std::move(memory));
  } catch (std::exception const&) {  // without room to note it down it goes
  }
}

Result<std::unique_ptr<ImportedMemory>> ImportedMemory::import(GarudaCudaImport const& request) {
  if (request.bytes == 0) return fail(ErrorCode::usage, "memory to import has no bytes");
  std::unique_ptr<ImportedMemory> imported(new ImportedMemory);
  cudaExternalMemoryHandleDesc handle{};
  handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
  handle.handle.fd = request.fd;
  handle.size = request.bytes;
  handle.flags = request.is_dedicated != 0 ? cudaExternalMemoryDedicated : 0;
  GARUDA_CUDA_TRY(cudaImportExternalMemory(&imported->memory_, &handle));
  cudaExternalMemoryBufferDesc range{};
  range.size = request.bytes;
  GARUDA_CUDA_TRY(cudaExternalMemoryGetMappedBuffer(&imported->mapped_, imported->memory_, &range));
  return imported;
}

ImportedMemory::~ImportedMemory() {
  // A device that is lost has lost its mappings, too.
  if (mapped_ != nullptr) (void)cudaFree(mapped_);
  if (memory_ != nullptr) (void)cudaDestroyExternalMemory(memory_);
}

}  // namespace garuda::cuda_backend
