#include "bench/parts/vulkan_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::bench {

std::string OpenedDevice::driver() const {
  auto const& traits = device->traits();
  return fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info);
}

Result<OpenedDevice> open_device(std::string_view request) {
  OpenedDevice opened;
  GARUDA_TRY_ASSIGN(opened.instance, vk::Instance::create());
  GARUDA_TRY_ASSIGN(auto const found, opened.instance->physical_devices());
  std::vector<DeviceInfo> infos;
  for (auto const& physical : found) infos.push_back(vulkan::describe(physical.traits));
  std::vector<DeviceInfo const*> listed;
  for (auto const& info : infos) listed.push_back(&info);
  GARUDA_TRY_ASSIGN(auto const index, plan::choose_device(listed, request, DeviceApi::vulkan));
  GARUDA_TRY_ASSIGN(opened.device, vk::Device::create(*opened.instance, found[index]));
  return opened;
}

std::string_view OpenedLane::clock() const noexcept {
  return lane->timer().source() == vk::ClockSource::device ? "GPU timestamps"
                                                           : "host time from submission to completion";
}

Result<OpenedLane> open_lane(std::string_view request, char const* name) {
  OpenedLane opened;
  GARUDA_TRY_ASSIGN(static_cast<OpenedDevice&>(opened), open_device(request));
  GARUDA_TRY_ASSIGN(opened.pipelines, vk::PipelineStore::create(*opened.device, vk::default_cache_folder()));
  vk::LaneOptions options;
  options.name = name;
  GARUDA_TRY_ASSIGN(opened.lane, vk::Lane::create(*opened.device, options));
  return opened;
}

Result<std::unique_ptr<ComputeBench>> ComputeBench::open(std::string_view device,
                                                         std::optional<std::uint32_t> subgroup_size) {
  std::unique_ptr<ComputeBench> bench(new ComputeBench);
  GARUDA_TRY_ASSIGN(bench->opened_, open_lane(device, "bench compute"));
  GARUDA_TRY_ASSIGN(bench->tuning_, compute::compute_tuning(bench->traits(), subgroup_size));
  auto& opened = bench->opened_;
  bench->submissions_.emplace(*opened.lane, nullptr, &bench->phases_);
  bench->context_.emplace(*opened.lane, *opened.pipelines, *bench->submissions_, bench->tuning_,
                          opened.device->memory().available_bytes());
  return bench;
}

Result<Sample> ComputeBench::time(std::function<Result<void>()> const& record) {
  return phases_.time([&]() -> Result<void> {
    GARUDA_TRY(record());
    return submissions_->finish();
  });
}

Result<vk::Buffer> ComputeBench::upload(std::span<std::byte const> values, char const* name) {
  GARUDA_TRY_ASSIGN(auto buffer, context_->device_buffer(values.size(), name));
  if (!values.empty()) GARUDA_TRY(context_->upload(buffer, 0, values));
  // The work that is timed next does not wait for the copy.
  GARUDA_TRY(context_->order_all("upload"));
  GARUDA_TRY(submissions_->finish());
  return buffer;
}

Result<std::function<Result<Sample>()>> ComputeBench::copy(std::uint64_t bytes) {
  constexpr std::uint64_t kCopyUnit = 16;  // bytes that a copy pass moves at a time
  auto const copied = std::max(bytes / 2 / kCopyUnit, std::uint64_t{1}) * kCopyUnit;
  GARUDA_TRY_ASSIGN(auto source, context_->device_buffer(copied, "copy source"));
  GARUDA_TRY_ASSIGN(auto target, context_->device_buffer(copied, "copy target"));
  auto const buffers = std::make_shared<std::pair<vk::Buffer, vk::Buffer>>(std::move(source), std::move(target));
  return [this, buffers, copied] {
    return time([&] {
      return compute::record_copy(*context_, "copy", buffers->first.address(), buffers->second.address(), copied);
    });
  };
}

}  // namespace garuda::bench
