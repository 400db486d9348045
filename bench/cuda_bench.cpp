#include "bench/cuda_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/stopwatch.hpp"

namespace garuda::bench {
namespace {

using cuda::cuda_result;

Result<std::uint32_t> find_device(std::vector<GarudaCudaTraits> const& devices, std::string const& asked) {
  std::uint32_t index = 0;
  auto const [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), index);
  if (error == std::errc{} && end == asked.data() + asked.size() && index < devices.size()) return index;
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (std::string_view(devices[i].name).find(asked) != std::string_view::npos) return i;
  return fail(ErrorCode::no_device, fmt::format("no CUDA device with this index or name: {}", asked));
}

Result<std::uint32_t> find_same(std::vector<GarudaCudaTraits> const& devices, DeviceUuid const& uuid) {
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (std::ranges::equal(devices[i].uuid, uuid)) return i;
  return fail(ErrorCode::no_device, "the Vulkan device is no CUDA device");
}

}  // namespace

Result<std::unique_ptr<CudaBench>> CudaBench::open(std::optional<std::string> const& device,
                                                   std::optional<DeviceUuid> const& uuid) {
  auto bench = std::make_unique<CudaBench>();
  GARUDA_TRY_ASSIGN(bench->library_, cuda::CudaLibrary::load());
  GARUDA_TRY_ASSIGN(auto const devices, bench->library_->devices());
  std::uint32_t ordinal = 0;
  if (uuid) {
    GARUDA_TRY_ASSIGN(ordinal, find_same(devices, *uuid));
  } else if (device && *device != "auto") {
    GARUDA_TRY_ASSIGN(ordinal, find_device(devices, *device));
  }
  GARUDA_TRY_ASSIGN(bench->device_, cuda::CudaDevice::open(*bench->library_, ordinal));
  cuda::CudaLaneOptions options;
  options.stats = &bench->phases_;
  GARUDA_TRY_ASSIGN(bench->lanes_, cuda::CudaLane::open(*bench->device_, options));
  return bench;
}

std::string CudaBench::driver() const {
  auto const version = traits().driver_version;
  return fmt::format("NVIDIA, CUDA {}.{}", version / 1000, version % 1000 / 10);
}

Result<DeviceMemory> CudaBench::allocate(std::uint64_t bytes) {
  GarudaCudaError error{};
  GarudaCudaBuffer* buffer = nullptr;
  std::uint64_t address = 0;
  GARUDA_TRY(cuda_result(api().create_buffer(lane(), bytes, &buffer, &address, &error), error));
  return DeviceMemory(api(), buffer, address);
}

Result<DeviceMemory> CudaBench::upload(std::span<std::byte const> values) {
  GARUDA_TRY_ASSIGN(auto memory, allocate(values.size()));
  GarudaCudaError error{};
  GARUDA_TRY(cuda_result(api().upload(lane(), memory.address(), values.data(), values.size(), &error), error));
  return memory;
}

template <class T>
Result<void> CudaBench::download_as(TableBuilder& builder, std::string name, std::uint64_t address,
                                    std::uint64_t rows) {
  std::vector<T> values(rows);
  GarudaCudaError error{};
  GARUDA_TRY(cuda_result(api().download(lane(), address, values.data(), rows * sizeof(T), &error), error));
  return builder.add_column<T>(std::move(name), [&](std::uint64_t row) { return values[row]; });
}

Result<void> CudaBench::download(TableBuilder& builder, Field const& field, std::uint64_t address, std::uint64_t rows) {
  if (field.type.id == TypeId::float64) return download_as<double>(builder, field.name, address, rows);
  return byte_width(field.type) == 4 ? download_as<std::int32_t>(builder, field.name, address, rows)
                                     : download_as<std::int64_t>(builder, field.name, address, rows);
}

Result<PhaseSample> CudaBench::time(std::function<Result<void>()> const& run) {
  phases_.take();
  Stopwatch const watch;
  GARUDA_TRY(run());
  PhaseSample sample;
  sample.host_ns = watch.elapsed_ns();
  sample.phases = phases_.take();
  for (auto const& phase : sample.phases) sample.ns += phase.ns;
  return sample;
}

}  // namespace garuda::bench
