#include "operators/vulkan/vulkan_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "operators/contract/offers/costs.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::vulkan {
namespace {

/// Most bytes that a device which is left open keeps, of its own memory and of the host's that it reads in place.
constexpr std::uint64_t kMostLeftBytes = std::uint64_t{256} << 20;

std::string format_support(vk::FormatSupport const& support) {
  std::string text;
  auto const add = [&](bool has, char const* name) {
    if (has) text += fmt::format("{}{}", text.empty() ? "" : " ", name);
  };
  add(support.color_attachment, "attachment");
  add(support.blend, "blend");
  add(support.sampled, "sampled");
  add(support.storage, "storage");
  return text.empty() ? "none" : text;
}

std::vector<std::pair<std::string, std::string>> printable_traits(vk::DeviceTraits const& traits) {
  auto const& limits = traits.limits;
  std::vector<std::pair<std::string, std::string>> rows{
      {"max render extent", fmt::to_string(traits.max_render_extent())},
      {"max image array layers", fmt::to_string(limits.max_image_array_layers)},
      {"max storage buffer range", fmt::to_string(limits.max_storage_buffer_range)},
      {"max memory allocation", fmt::to_string(limits.max_memory_allocation_size)},
      {"max workgroup invocations", fmt::to_string(limits.max_workgroup_invocations)},
      {"shared memory bytes", fmt::to_string(limits.max_compute_shared_memory_bytes)},
      {"max color attachments", fmt::to_string(limits.max_color_attachments)},
      {"timestamps", traits.timestamps_reliable ? "yes" : "no, phases take host time"},
      {"imported host memory", traits.features.external_memory_host ? "yes" : "no"},
      {"queues of low priority", traits.features.global_priority ? "yes" : "no"},
  };
  for (auto const format : {vk::PixelFormat::r32_sfloat, vk::PixelFormat::r32g32b32a32_sfloat,
                            vk::PixelFormat::r32g32_uint, vk::PixelFormat::r32g32b32a32_uint})
    rows.emplace_back(vk::to_string(format), format_support(traits.format(format)));
  for (auto const& family : traits.queue_families)
    rows.emplace_back(fmt::format("queue family {}", family.index),
                      fmt::format("{} queues:{}{}{}", family.count, family.graphics ? " graphics" : "",
                                  family.compute ? " compute" : "", family.transfer ? " transfer" : ""));
  for (auto const& quirk : traits.quirks) rows.emplace_back("quirk: " + quirk.what, quirk.reason);
  return rows;
}

class VulkanDevices final : public contract::ApiDevices {
 public:
  VulkanDevices(std::unique_ptr<vk::Instance> instance, std::vector<vk::PhysicalDevice> physical,
                EngineOptions const& options)
      : instance_(std::move(instance)),
        physical_(std::move(physical)),
        cache_on_disk_(options.pipeline_cache_on_disk),
        single_queue_(options.single_queue) {
    for (auto const& device : physical_)
      found_.push_back({describe(device.traits), device.traits.uuid, &device.traits});
    opened_.resize(physical_.size());
  }

  VulkanDevices(VulkanDevices const&) = delete;
  VulkanDevices& operator=(VulkanDevices const&) = delete;
  ~VulkanDevices() override {
    if (vk::devices_are_left()) leave_all();
  }

  std::span<contract::FoundDevice const> found() const noexcept override { return found_; }

  Result<contract::OpenDevice*> open(std::size_t index) override {
    auto& entry = opened_.at(index);
    if (entry.pipelines == nullptr) {
      GARUDA_TRY_ASSIGN(entry.device,
                        vk::Device::create(*instance_, physical_[index], {.single_queue = single_queue_}));
      auto folder = cache_on_disk_ ? vk::default_cache_folder() : std::nullopt;
      GARUDA_TRY_ASSIGN(entry.pipelines, vk::PipelineStore::create(*entry.device, std::move(folder)));
      entry.device->pinned().set_kept_limit(kept_pinned_bytes_);
      entry.shown = VulkanDevice(*entry.device, *entry.pipelines);
    }
    return &entry.shown;
  }

  void keep_pinned(std::uint64_t bytes) override {
    kept_pinned_bytes_ = bytes;
    for (auto const& entry : opened_)
      if (entry.device != nullptr) entry.device->pinned().set_kept_limit(bytes);
  }

  void release_memory() override {
    for (auto const& entry : opened_) {
      if (entry.device == nullptr) continue;
      entry.device->pinned().trim();
      entry.device->memory().trim();
    }
  }

  std::vector<std::string> validation_messages() const override { return instance_->validation_messages(); }

 private:
  /// Leaves all devices to the process's end. One that keeps much memory gives it back first, for the next process.
  void leave_all() noexcept try {
    vk::leave(instance_);  // first: devices that cannot be left need it
    for (auto& entry : opened_) {
      if (entry.device == nullptr) continue;
      if (entry.device->memory().kept_bytes() + entry.device->pinned().kept_bytes() > kMostLeftBytes) {
        (void)entry.device->wait_idle();
        entry.device->memory().trim();
        entry.device->pinned().trim();
      }
      if (entry.pipelines != nullptr) (void)entry.pipelines->save();
      vk::leave(entry.pipelines);
      vk::leave(entry.device);
    }
  } catch (std::bad_alloc const&) {  // they go as ever
  }

  struct Opened {
    std::unique_ptr<vk::Device> device;
    std::unique_ptr<vk::PipelineStore> pipelines;  // after its device: destroyed first
    VulkanDevice shown;
  };

  std::unique_ptr<vk::Instance> instance_;
  std::vector<vk::PhysicalDevice> physical_;
  std::vector<contract::FoundDevice> found_;
  std::uint64_t kept_pinned_bytes_ = 0;
  bool cache_on_disk_ = true;
  bool single_queue_ = false;
  std::vector<Opened> opened_;  // after the instance: destroyed first
};

constexpr std::uint64_t kPinnedPieceBytes = std::uint64_t{32} << 20;
constexpr std::uint32_t kPinnedThreads = 4;  // that keep the device's copies queued
/// Bytes below which a copy takes less time than a further thread takes to start and to find its staging memory.
constexpr std::uint64_t kLeastThreadBytes = vk::kSourcePieceBytes;
/// Over PCIe the host writes so much in less time than a staged copy is submitted and waited for.
constexpr std::uint64_t kMostMappedBytes = std::uint64_t{256} << 10;

}  // namespace

Result<VulkanDevice> open_vulkan(contract::DeviceSet& devices, std::size_t index) {
  GARUDA_TRY_ASSIGN(auto* const opened, devices.open(index));
  return vulkan_of(*opened);
}

DeviceInfo describe(vk::DeviceTraits const& traits) {
  DeviceInfo info;
  info.name = traits.name;
  info.driver = fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info);
  info.api_version = traits.api_version_text();
  info.kind = traits.type;
  info.memory_bytes = traits.device_local_bytes();
  info.unified_memory = traits.unified_memory;
  info.subgroup_size = traits.subgroup.size;
  auto const unusable = vk::unusable_reason(traits);
  info.usable = !unusable.has_value();
  info.reason = unusable.value_or(
      traits.type == vk::DeviceType::cpu ? "usable; a software device, taken only when asked for" : "usable");
  info.missing_optional = traits.missing_optional;
  info.traits = printable_traits(traits);
  return info;
}

Result<std::unique_ptr<contract::ApiDevices>> find_vulkan_devices(EngineOptions const& options) {
  if (!options.vulkan) return fail(ErrorCode::no_device, "the engine was made without Vulkan");
  GARUDA_TRY_ASSIGN(auto instance, vk::Instance::create({options.validation}));
  GARUDA_TRY_ASSIGN(auto physical, instance->physical_devices());
  return std::make_unique<VulkanDevices>(std::move(instance), std::move(physical), options);
}

Result<DeviceLanes> DeviceLanes::open(vk::Device& device, std::uint32_t num_lanes, Upload upload,
                                      std::uint64_t memory_limit_bytes, char const* name) {
  GARUDA_EXPECTS(num_lanes > 0);
  DeviceLanes opened;
  auto const available = device.memory().available_bytes();
  opened.lane_budget_bytes =
      (memory_limit_bytes == 0 ? available : std::min(memory_limit_bytes, available)) / num_lanes;
  vk::LaneOptions lane_options;
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(lane_options.transfer.mode, upload_mode(traits, upload));
  lane_options.reads_in_place = lane_options.transfer.mode == vk::UploadMode::import_host && traits.unified_memory;
  // What is not read in place is made, or copied, where the device reads it.
  if (lane_options.reads_in_place && traits.device_memory_mappable()) lane_options.transfer.mode = vk::UploadMode::map;
  lane_options.name = name;
  for (std::uint32_t lane = 0; lane < num_lanes; ++lane) {
    GARUDA_TRY_ASSIGN(auto created, vk::Lane::create(device, lane_options));
    opened.lanes.push_back(std::move(created));
  }
  return opened;
}

Result<vk::UploadMode> upload_mode(vk::DeviceTraits const& traits, Upload upload) {
  switch (upload) {
    case Upload::map:
      if (!traits.device_memory_mappable()) {
        return fail(ErrorCode::no_device, fmt::format("upload=map needs host-visible device memory: {}", traits.name));
      }
      return vk::UploadMode::map;
    case Upload::stage:
      return vk::UploadMode::stage;
    case Upload::import:
      if (!traits.features.external_memory_host) {
        return fail(ErrorCode::no_device,
                    fmt::format("upload=import needs VK_EXT_external_memory_host: {}", traits.name));
      }
      return vk::UploadMode::import_host;
    case Upload::automatic:
      break;
  }
  return traits.imports_in_place() ? vk::UploadMode::import_host : vk::default_upload_mode(traits);
}

Result<Upload> upload_on(vk::Device const& device, Upload asked, std::uint64_t bytes) {
  auto const& traits = device.traits();
  bool const is_small = bytes <= kMostMappedBytes && traits.device_memory_mappable();
  auto const usual = is_small ? Upload::map : contract::upload_of(vk::default_upload_mode(traits));
  auto const upload = asked == Upload::automatic ? usual : asked;
  GARUDA_TRY(upload_mode(traits, upload));
  return upload;
}

Result<std::unique_ptr<vk::CopyTeam>> open_copy_team(vk::Device& device, vk::CopyDirection direction,
                                                     ColumnCopies const& copies) {
  GARUDA_EXPECTS(copies.threads > 0);
  auto const most = copies.use_pinned ? std::min(copies.threads, kPinnedThreads) : copies.threads;
  auto const threads = std::clamp<std::uint64_t>(copies.bytes / kLeastThreadBytes, 1, most);
  auto options = vk::streaming_team(direction, static_cast<std::uint32_t>(threads), contract::mode_of(copies.upload));
  if (copies.use_pinned) options.piece_bytes = kPinnedPieceBytes;
  options.transfer.use_pinned = copies.use_pinned;
  options.wait.cancelled = copies.cancelled;
  return vk::CopyTeam::create(device, device.graphics_queue(), options);
}

}  // namespace garuda::vulkan
