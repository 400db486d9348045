#include "bench/copy_bandwidth.hpp"

#include "bench/cuda_path.hpp"
#include "bench/vulkan_device.hpp"
#include "operators/calibration/copy_rates.hpp"
#include "vk_runtime/transfer.hpp"

namespace garuda::bench {
namespace {

constexpr std::int64_t kHostBytes = std::int64_t{256} << 20;
constexpr std::int64_t kDeviceBytes = std::int64_t{64} << 20;

}  // namespace

Result<CopyBandwidth> measure_host_copy() {
  GARUDA_TRY_ASSIGN(auto const bytes_per_s, calibration::measure_host_copy(kHostBytes));
  return CopyBandwidth{"host copy", bytes_per_s};
}

Result<CopyBandwidth> measure_device_copy(vk::Device& device) {
  GARUDA_TRY_ASSIGN(auto const copy,
                    calibration::measure_device_copy(device, vk::default_upload_mode(device.traits()), kDeviceBytes));
  return CopyBandwidth{"device copy in and out",
                       2 * static_cast<double>(kDeviceBytes) / (copy.upload_ns + copy.download_ns) * 1e9};
}

Result<CopyBandwidth> measure_bandwidth(Plan const& plan) {
  if (plan.path == Path::cpu) return measure_host_copy();
  if (plan.path == Path::cuda) return measure_cuda_copy(plan.device);
  GARUDA_TRY_ASSIGN(auto const opened, open_device(plan.device));
  return measure_device_copy(*opened.device);
}

}  // namespace garuda::bench
