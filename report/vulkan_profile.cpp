#include "report/vulkan_profile.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "vk_runtime/device/instance.hpp"

namespace garuda::report {
namespace {

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
constexpr std::array<Named<VkDeviceSize>, 4> kSizes{{
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
  for (auto const& [name, member] : kSizes) limits[std::string(name)] = from.*member;
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

Result<std::vector<Json>> vulkan_profiles() {
  GARUDA_TRY_ASSIGN(auto const instance, vk::Instance::create());
  GARUDA_TRY_ASSIGN(auto const devices, instance->physical_devices());
  std::vector<Json> profiles;
  for (auto const& device : devices) profiles.push_back(profile_of(device));
  return profiles;
}

}  // namespace garuda::report
