// Reads what a physical device offers.
#include <volk.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "vk_runtime/device/instance.hpp"

namespace garuda::vk {
namespace {

constexpr VkFormat kVkFormats[kPixelFormatCount] = {
    VK_FORMAT_R32_UINT,   VK_FORMAT_R32G32_UINT,   VK_FORMAT_R32G32B32A32_UINT,
    VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT,
};

// VK_QUEUE_VIDEO_ENCODE_BIT_KHR, which older headers only declare as a beta extension.
constexpr VkQueueFlags kVideoEncodeBit = 0x40;

/// Memory with other properties (protected, lazily allocated, uncached by the device) is not for ordinary data.
constexpr VkMemoryPropertyFlags kOrdinaryMemoryFlags =
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

/// Puts `next` into the pNext chain that starts at `head`.
template <class Head, class Next>
void chain(Head& head, Next& next) {
  next.pNext = head.pNext;
  head.pNext = &next;
}

bool contains(std::vector<std::string> const& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

DeviceType device_type(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceType::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceType::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceType::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceType::cpu;
    default:
      return DeviceType::other;
  }
}

void read_core_limits(VkPhysicalDeviceLimits const& from, DeviceLimits& to) {
  to.max_image_2d = from.maxImageDimension2D;
  to.max_image_array_layers = from.maxImageArrayLayers;
  to.max_framebuffer_width = from.maxFramebufferWidth;
  to.max_framebuffer_height = from.maxFramebufferHeight;
  to.max_viewport = {from.maxViewportDimensions[0], from.maxViewportDimensions[1]};
  to.max_color_attachments = std::min(from.maxColorAttachments, from.maxFragmentOutputAttachments);
  to.max_storage_buffer_range = from.maxStorageBufferRange;
  to.max_memory_allocation_count = from.maxMemoryAllocationCount;
  to.min_storage_buffer_offset_alignment = from.minStorageBufferOffsetAlignment;
  to.buffer_image_granularity = from.bufferImageGranularity;
  to.non_coherent_atom_size = from.nonCoherentAtomSize;
  std::copy_n(from.maxComputeWorkGroupCount, 3, to.max_workgroup_count.begin());
  // Adreno's driver (512.502) lets groups have 1024 invocations, but 512 along an axis.
  to.max_workgroup_invocations = std::min(from.maxComputeWorkGroupInvocations, from.maxComputeWorkGroupSize[0]);
  to.max_compute_shared_memory_bytes = from.maxComputeSharedMemorySize;
  to.max_push_constants_bytes = from.maxPushConstantsSize;
  to.max_per_stage_storage_buffers = from.maxPerStageDescriptorStorageBuffers;
  to.max_per_stage_sampled_images = from.maxPerStageDescriptorSampledImages;
  to.max_per_stage_storage_images = from.maxPerStageDescriptorStorageImages;
  to.max_per_stage_resources = from.maxPerStageResources;
  to.timestamp_period_ns = static_cast<double>(from.timestampPeriod);
  to.point_size_range = {from.pointSizeRange[0], from.pointSizeRange[1]};
}

void read_subgroup(VkPhysicalDeviceVulkan11Properties const& from, VkPhysicalDeviceVulkan13Properties const& size,
                   Subgroup& to) {
  to.size = from.subgroupSize;
  to.min_size = size.minSubgroupSize != 0 ? size.minSubgroupSize : from.subgroupSize;
  to.max_size = size.maxSubgroupSize != 0 ? size.maxSubgroupSize : from.subgroupSize;
  to.stages.vertex = (from.subgroupSupportedStages & VK_SHADER_STAGE_VERTEX_BIT) != 0;
  to.stages.fragment = (from.subgroupSupportedStages & VK_SHADER_STAGE_FRAGMENT_BIT) != 0;
  to.stages.compute = (from.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  VkSubgroupFeatureFlags const operations = from.subgroupSupportedOperations;
  to.basic = (operations & VK_SUBGROUP_FEATURE_BASIC_BIT) != 0;
  to.vote = (operations & VK_SUBGROUP_FEATURE_VOTE_BIT) != 0;
  to.arithmetic = (operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  to.ballot = (operations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0;
  to.shuffle = (operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  to.selectable_in_compute = (size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

/// Properties of Vulkan 1.3; the structures for later core versions than the device's must not be chained.
void read_properties(VkPhysicalDevice device, bool has_host_import, DeviceTraits& traits) {
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceVulkan13Properties v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT import{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  chain(properties, v11);
  chain(properties, v12);
  chain(properties, v13);
  if (has_host_import) chain(properties, import);
  vkGetPhysicalDeviceProperties2(device, &properties);

  traits.driver_name = v12.driverName;
  traits.driver_info = v12.driverInfo;
  traits.driver_id = static_cast<std::uint32_t>(v12.driverID);
  std::copy_n(v11.deviceUUID, VK_UUID_SIZE, traits.uuid.begin());
  std::copy_n(properties.properties.pipelineCacheUUID, VK_UUID_SIZE, traits.pipeline_cache_uuid.begin());
  read_core_limits(properties.properties.limits, traits.limits);
  traits.limits.max_memory_allocation_size = v11.maxMemoryAllocationSize;
  traits.limits.max_buffer_size = v13.maxBufferSize;
  traits.limits.min_imported_host_pointer_alignment = import.minImportedHostPointerAlignment;
  // Where floats of all widths are rounded alike, a module would have to say so of each of them.
  traits.features.rounds_float64 = v12.shaderRoundingModeRTEFloat64 == VK_TRUE &&
                                   v12.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE &&
                                   v12.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  read_subgroup(v11, v13, traits.subgroup);
}

void read_features(VkPhysicalDevice device, std::vector<std::string> const& extensions, DeviceFeatures& to) {
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  chain(features, v12);
  chain(features, v13);
  if (contains(extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) chain(features, executables);
  vkGetPhysicalDeviceFeatures2(device, &features);

  to.dynamic_rendering = v13.dynamicRendering == VK_TRUE;
  to.synchronization2 = v13.synchronization2 == VK_TRUE;
  to.maintenance4 = v13.maintenance4 == VK_TRUE;
  to.timeline_semaphore = v12.timelineSemaphore == VK_TRUE;
  to.scalar_block_layout = v12.scalarBlockLayout == VK_TRUE;
  to.buffer_device_address = v12.bufferDeviceAddress == VK_TRUE;
  to.vertex_pipeline_stores_and_atomics = features.features.vertexPipelineStoresAndAtomics == VK_TRUE;
  to.fragment_stores_and_atomics = features.features.fragmentStoresAndAtomics == VK_TRUE;
  to.independent_blend = features.features.independentBlend == VK_TRUE;
  to.storage_image_extended_formats = features.features.shaderStorageImageExtendedFormats == VK_TRUE;
  to.shader_int64 = features.features.shaderInt64 == VK_TRUE;
  to.shader_float64 = features.features.shaderFloat64 == VK_TRUE;
  to.shader_int16 = features.features.shaderInt16 == VK_TRUE;
  to.shader_int8 = v12.shaderInt8 == VK_TRUE;
  to.shader_buffer_int64_atomics = v12.shaderBufferInt64Atomics == VK_TRUE;
  to.subgroup_size_control = v13.subgroupSizeControl == VK_TRUE;
  to.compute_full_subgroups = v13.computeFullSubgroups == VK_TRUE;
  to.pipeline_executable_properties = executables.pipelineExecutableInfo == VK_TRUE;
  to.external_memory_host = contains(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  to.memory_budget = contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  to.global_priority = contains(extensions, VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME) ||
                       contains(extensions, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME);
}

void read_formats(VkPhysicalDevice device, DeviceTraits& traits) {
  for (std::size_t i = 0; i < kPixelFormatCount; ++i) {
    VkFormatProperties properties{};
    vkGetPhysicalDeviceFormatProperties(device, kVkFormats[i], &properties);
    VkFormatFeatureFlags const features = properties.optimalTilingFeatures;
    traits.formats[i] = {
        .color_attachment = (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) != 0,
        .blend = (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT) != 0,
        .sampled = (features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) != 0,
        .storage = (features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT) != 0,
    };
  }
}

void read_queue_families(VkPhysicalDevice device, DeviceTraits& traits) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (std::uint32_t i = 0; i < count; ++i) {
    VkQueueFlags const flags = families[i].queueFlags;
    traits.queue_families.push_back({
        .index = i,
        .count = families[i].queueCount,
        .graphics = (flags & VK_QUEUE_GRAPHICS_BIT) != 0,
        .compute = (flags & VK_QUEUE_COMPUTE_BIT) != 0,
        .transfer = (flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT)) != 0,
        .video = (flags & (VK_QUEUE_VIDEO_DECODE_BIT_KHR | kVideoEncodeBit)) != 0,
        .timestamp_valid_bits = families[i].timestampValidBits,
    });
  }
}

void read_memory(VkPhysicalDevice device, DeviceTraits& traits) {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    VkMemoryHeap const& heap = memory.memoryHeaps[i];
    traits.heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
  }
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryType const& type = memory.memoryTypes[i];
    auto const has = [&](VkMemoryPropertyFlags flag) { return (type.propertyFlags & flag) != 0; };
    traits.memory_types.push_back({
        .heap = type.heapIndex,
        .device_local = has(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
        .host_visible = has(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT),
        .host_coherent = has(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT),
        .host_cached = has(VK_MEMORY_PROPERTY_HOST_CACHED_BIT),
        .special = has(~kOrdinaryMemoryFlags),
    });
  }
}

std::vector<std::string> extension_names(VkPhysicalDevice device) {
  std::vector<std::string> names;
  auto const get = std::bind_front(vkEnumerateDeviceExtensionProperties, device, nullptr);
  if (auto const properties = listed("vkEnumerateDeviceExtensionProperties", VkExtensionProperties{}, get))
    for (VkExtensionProperties const& property : *properties) names.emplace_back(property.extensionName);
  return names;
}

}  // namespace

PhysicalDevice query_device(VkPhysicalDevice device) {
  PhysicalDevice queried{device, {}, {}};
  DeviceTraits& traits = queried.traits;
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(device, &properties);
  traits.name = properties.deviceName;
  traits.vendor_id = properties.vendorID;
  traits.device_id = properties.deviceID;
  traits.driver_version = properties.driverVersion;
  traits.type = device_type(properties.deviceType);
  traits.api_version = properties.apiVersion;
  read_core_limits(properties.limits, traits.limits);
  read_formats(device, traits);
  read_queue_families(device, traits);
  read_memory(device, traits);
  if (properties.apiVersion >= VK_API_VERSION_1_3) {
    queried.extensions = extension_names(device);
    read_properties(device, contains(queried.extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME), traits);
    read_features(device, queried.extensions, traits.features);
  }
  derive_traits(traits);
  return queried;
}

}  // namespace garuda::vk
