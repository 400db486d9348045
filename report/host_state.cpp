#include "report/host_state.hpp"

#include <fmt/format.h>
#include <tbb/info.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/os/processor.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/run/query_run.hpp"
#include "vk_runtime/device/instance.hpp"

namespace garuda::report {
namespace {

namespace fs = std::filesystem;

/// The first line of a small file; empty where there is none.
std::string line_of(fs::path const& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::int64_t> number_of(fs::path const& file) {
  auto const line = line_of(file);
  std::int64_t number = 0;
  auto const [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
  return number;
}

/// The folders in `folder` whose names begin with `prefix`, sorted.
std::vector<fs::path> folders_of(fs::path const& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

/// Machines with a battery say whether it feeds them; others have mains, if they say anything.
Json power_of(fs::path const& sys) {
  bool has_mains = false;
  for (auto const& supply : folders_of(sys / "class/power_supply", "")) {
    auto const type = line_of(supply / "type");
    // Batteries of mice and phones do not feed the host.
    if (line_of(supply / "scope") == "Device") continue;
    if (type == "Battery" && line_of(supply / "status") == "Discharging") {
      auto const capacity = number_of(supply / "capacity");
      return capacity ? fmt::format("battery, {} %", *capacity) : "battery";
    }
    has_mains = has_mains || type == "Battery" || (type != "UPS" && number_of(supply / "online") == 1);
  }
  return has_mains ? Json("mains") : Json(nullptr);
}

Json text_or_null(std::string text) { return text.empty() ? Json(nullptr) : Json(std::move(text)); }

using Json = nlohmann::ordered_json;
using Limits = VkPhysicalDeviceLimits;
using vk::DeviceFeatures;

/// Limits that operators are sized by, as Vulkan names them.
template <class T>
using Named = std::pair<std::string_view, T Limits::*>;

constexpr std::array<Named<std::uint32_t>, 20> kCounts{{
    {"maxImageDimension2D", &Limits::maxImageDimension2D},
    {"maxImageArrayLayers", &Limits::maxImageArrayLayers},
    {"maxFramebufferWidth", &Limits::maxFramebufferWidth},
    {"maxFramebufferHeight", &Limits::maxFramebufferHeight},
    {"maxColorAttachments", &Limits::maxColorAttachments},
    {"maxFragmentOutputAttachments", &Limits::maxFragmentOutputAttachments},
    {"maxStorageBufferRange", &Limits::maxStorageBufferRange},
    {"maxMemoryAllocationCount", &Limits::maxMemoryAllocationCount},
    {"maxComputeWorkGroupInvocations", &Limits::maxComputeWorkGroupInvocations},
    {"maxComputeSharedMemorySize", &Limits::maxComputeSharedMemorySize},
    {"maxPushConstantsSize", &Limits::maxPushConstantsSize},
    {"maxBoundDescriptorSets", &Limits::maxBoundDescriptorSets},
    {"maxPerStageDescriptorStorageBuffers", &Limits::maxPerStageDescriptorStorageBuffers},
    {"maxPerStageDescriptorSampledImages", &Limits::maxPerStageDescriptorSampledImages},
    {"maxPerStageDescriptorStorageImages", &Limits::maxPerStageDescriptorStorageImages},
    {"maxPerStageResources", &Limits::maxPerStageResources},
    {"maxVertexInputBindings", &Limits::maxVertexInputBindings},
    {"maxDrawIndirectCount", &Limits::maxDrawIndirectCount},
    {"subPixelPrecisionBits", &Limits::subPixelPrecisionBits},
    {"maxTexelBufferElements", &Limits::maxTexelBufferElements},
}};
constexpr std::array<Named<VkDeviceSize>, 4> kByteLimits{{
    {"minStorageBufferOffsetAlignment", &Limits::minStorageBufferOffsetAlignment},
    {"bufferImageGranularity", &Limits::bufferImageGranularity},
    {"nonCoherentAtomSize", &Limits::nonCoherentAtomSize},
    {"optimalBufferCopyOffsetAlignment", &Limits::optimalBufferCopyOffsetAlignment},
}};

/// A feature, by the structure that has it.
struct Feature {
  std::string_view structure;
  std::string_view name;
  bool DeviceFeatures::*value;
};
constexpr std::string_view kCore = "VkPhysicalDeviceFeatures";
constexpr std::string_view kCore12 = "VkPhysicalDeviceVulkan12Features";
constexpr std::string_view kCore13 = "VkPhysicalDeviceVulkan13Features";
constexpr std::array<Feature, 17> kFeatures{{
    {kCore, "independentBlend", &DeviceFeatures::independent_blend},
    {kCore, "vertexPipelineStoresAndAtomics", &DeviceFeatures::vertex_pipeline_stores_and_atomics},
    {kCore, "fragmentStoresAndAtomics", &DeviceFeatures::fragment_stores_and_atomics},
    {kCore, "shaderStorageImageExtendedFormats", &DeviceFeatures::storage_image_extended_formats},
    {kCore, "shaderInt64", &DeviceFeatures::shader_int64},
    {kCore, "shaderFloat64", &DeviceFeatures::shader_float64},
    {kCore, "shaderInt16", &DeviceFeatures::shader_int16},
    {kCore12, "timelineSemaphore", &DeviceFeatures::timeline_semaphore},
    {kCore12, "scalarBlockLayout", &DeviceFeatures::scalar_block_layout},
    {kCore12, "bufferDeviceAddress", &DeviceFeatures::buffer_device_address},
    {kCore12, "shaderInt8", &DeviceFeatures::shader_int8},
    {kCore12, "shaderBufferInt64Atomics", &DeviceFeatures::shader_buffer_int64_atomics},
    {kCore13, "dynamicRendering", &DeviceFeatures::dynamic_rendering},
    {kCore13, "synchronization2", &DeviceFeatures::synchronization2},
    {kCore13, "maintenance4", &DeviceFeatures::maintenance4},
    {kCore13, "subgroupSizeControl", &DeviceFeatures::subgroup_size_control},
    {kCore13, "computeFullSubgroups", &DeviceFeatures::compute_full_subgroups},
}};

Json limits_of(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(device, &properties);
  auto const& from = properties.limits;
  auto limits = Json::object();
  for (auto const& [name, member] : kCounts) limits[std::string(name)] = from.*member;
  for (auto const& [name, member] : kByteLimits) limits[std::string(name)] = from.*member;
  limits["maxViewportDimensions"] = from.maxViewportDimensions;
  limits["maxComputeWorkGroupCount"] = from.maxComputeWorkGroupCount;
  limits["maxComputeWorkGroupSize"] = from.maxComputeWorkGroupSize;
  limits["pointSizeRange"] = from.pointSizeRange;
  limits["timestampPeriod"] = from.timestampPeriod;
  return limits;
}

Json features_of(DeviceFeatures const& from) {
  auto features = Json::object();
  for (auto const& feature : kFeatures)
    features[std::string(feature.structure)][std::string(feature.name)] = from.*feature.value;
  return features;
}

Json heaps_of(vk::PhysicalDevice const& device) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  bool const has_budget = device.traits.features.memory_budget;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = has_budget ? &budget : nullptr;
  vkGetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  auto heaps = Json::array();
  for (std::size_t i = 0; i < device.traits.heaps.size(); ++i)
    heaps.push_back({{"bytes", device.traits.heaps[i].bytes},
                     {"device_local", device.traits.heaps[i].device_local},
                     {"budget_bytes", has_budget ? Json(budget.heapBudget[i]) : Json(nullptr)}});
  return heaps;
}

Json profile_of(vk::PhysicalDevice const& device) {
  auto const& traits = device.traits;
  return {{"subgroups",
           {{"size", traits.subgroup.size}, {"least", traits.subgroup.min_size}, {"most", traits.subgroup.max_size}}},
          {"heaps", heaps_of(device)},
          {"profile",
           {{"api_version", traits.api_version_text()},
            {"properties", {{"VkPhysicalDeviceProperties", {{"limits", limits_of(device.handle)}}}}},
            {"features", features_of(traits.features)}}}};
}

}  // namespace

HostState read_host_state(fs::path const& sys) {
  constexpr double kMillidegrees = 1000;
  HostState state;
  for (auto const& zone : folders_of(sys / "class/thermal", "thermal_zone"))
    state.hottest_celsius =
        std::max(state.hottest_celsius, static_cast<double>(number_of(zone / "temp").value_or(0)) / kMillidegrees);
  for (auto const& cpu : folders_of(sys / "devices/system/cpu", "cpu")) {
    auto const events = number_of(cpu / "thermal_throttle/core_throttle_count");
    if (!events) continue;
    state.knows_throttling = true;
    state.throttle_events += static_cast<std::uint64_t>(*events);
  }
  return state;
}

Json host_json(std::string const& processor, HostState const& before, fs::path const& sys) {
  auto const after = read_host_state(sys);
  auto const system = os::system();
  auto const celsius = [](double degrees) { return degrees > 0 ? Json(degrees) : Json(nullptr); };
  return {{"system", system ? Json(fmt::format("{} {}", system->name, system->release)) : Json(nullptr)},
          {"architecture", system ? Json(system->machine) : Json(nullptr)},
          {"processor", processor},
          {"threads", tbb::info::default_concurrency()},
          {"memory_bytes", run::total_host_bytes()},
          {"power", power_of(sys)},
          {"governor", text_or_null(line_of(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
          {"hottest_celsius", {celsius(before.hottest_celsius), celsius(after.hottest_celsius)}},
          {"throttle_events",
           after.knows_throttling ? Json(after.throttle_events - before.throttle_events) : Json(nullptr)}};
}

void touch_host_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kShareOfFree = 4;
  constexpr std::size_t kBlockBytes = std::size_t{64} << 20;
  auto const count = static_cast<std::size_t>(std::min(bytes, run::free_host_bytes() / kShareOfFree)) / kBlockBytes;
  // All at once, so that each is another part of the memory.
  std::vector<Result<AlignedBuffer>> blocks(count);
  static_cast<void>(for_each_block(count, nullptr, [&](std::size_t i) {
    blocks[i] = AlignedBuffer::allocate(kBlockBytes);
    if (blocks[i]) std::memset(blocks[i]->data(), 1, kBlockBytes);
  }));
}

Result<std::vector<Json>> vulkan_profiles() {
  GARUDA_TRY_ASSIGN(auto const instance, vk::Instance::create());
  GARUDA_TRY_ASSIGN(auto const devices, instance->physical_devices());
  std::vector<Json> profiles;
  for (auto const& device : devices) profiles.push_back(profile_of(device));
  return profiles;
}

}  // namespace garuda::report
