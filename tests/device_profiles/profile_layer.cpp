// A Vulkan layer that shows the application, and the validation layer above it, another device's limits: what
// GARUDA_TEST_PROFILE says, a file of this folder. It goes below the validation layer, which then reports every call
// that the other device would not take; work still runs on the driver below.
//
// What a profile asks for more of than the driver has stays the driver's, except shared memory, which software drivers
// allocate as it is asked for.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace {

using Json = nlohmann::json;
using Limits = VkPhysicalDeviceLimits;

// --- the profile ----------------------------------------------------------------------------------------------------

Json read_profile() {
  auto const* const file = std::getenv("GARUDA_TEST_PROFILE");
  if (file == nullptr) throw std::runtime_error("GARUDA_TEST_PROFILE is not set");
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(std::string("cannot be read: ") + file);
  return Json::parse(stream);
}

Json const& profile() {
  static Json const read = read_profile();
  return read;
}

/// The profile's value at a path, null where it says nothing.
Json const& at(std::initializer_list<std::string_view> path) {
  static Json const nothing;
  auto const* json = &profile();
  for (auto const name : path) {
    auto const found = json->find(name);
    if (found == json->end()) return nothing;
    json = &*found;
  }
  return *json;
}

template <class T>
void lower(T& value, Json const& to) {
  if (!to.is_null()) value = std::min(value, to.get<T>());
}

template <class T>
void raise(T& value, Json const& to) {
  if (!to.is_null()) value = std::max(value, to.get<T>());
}

void take_away(VkBool32& value, Json const& to) {
  if (!to.is_null() && !to.get<bool>()) value = VK_FALSE;
}

void change(Limits& limits) {
  auto const of = [](std::string_view name) -> Json const& {
    return at({"properties", "VkPhysicalDeviceProperties", "limits", name});
  };
#define GARUDA_LOWER(name) lower(limits.name, of(#name))
#define GARUDA_RAISE(name) raise(limits.name, of(#name))
#define GARUDA_LOWER_EACH(name) \
  for (std::size_t i = 0; i < std::size(limits.name) && !of(#name).is_null(); ++i) lower(limits.name[i], of(#name)[i])
  GARUDA_LOWER(maxImageDimension2D);
  GARUDA_LOWER(maxImageArrayLayers);
  GARUDA_LOWER(maxFramebufferWidth);
  GARUDA_LOWER(maxFramebufferHeight);
  GARUDA_LOWER(maxFramebufferLayers);
  GARUDA_LOWER(maxColorAttachments);
  GARUDA_LOWER(maxFragmentOutputAttachments);
  GARUDA_LOWER(maxFragmentCombinedOutputResources);
  GARUDA_LOWER(maxTexelBufferElements);
  GARUDA_LOWER(maxStorageBufferRange);
  GARUDA_LOWER(maxMemoryAllocationCount);
  GARUDA_LOWER(maxComputeWorkGroupInvocations);
  GARUDA_LOWER(maxPushConstantsSize);
  GARUDA_LOWER(maxBoundDescriptorSets);
  GARUDA_LOWER(maxPerStageDescriptorStorageBuffers);
  GARUDA_LOWER(maxPerStageDescriptorSampledImages);
  GARUDA_LOWER(maxPerStageDescriptorStorageImages);
  GARUDA_LOWER(maxPerStageResources);
  GARUDA_LOWER(maxDescriptorSetStorageBuffers);
  GARUDA_LOWER(maxDescriptorSetSampledImages);
  GARUDA_LOWER(maxDescriptorSetStorageImages);
  GARUDA_LOWER(maxVertexInputBindings);
  GARUDA_LOWER(maxVertexInputAttributes);
  GARUDA_LOWER(maxDrawIndirectCount);
  GARUDA_LOWER_EACH(maxViewportDimensions);
  GARUDA_LOWER_EACH(maxComputeWorkGroupCount);
  GARUDA_LOWER_EACH(maxComputeWorkGroupSize);
  GARUDA_RAISE(minStorageBufferOffsetAlignment);
  GARUDA_RAISE(minMemoryMapAlignment);
  GARUDA_RAISE(bufferImageGranularity);
  GARUDA_RAISE(nonCoherentAtomSize);
  GARUDA_RAISE(optimalBufferCopyOffsetAlignment);
#undef GARUDA_LOWER
#undef GARUDA_RAISE
#undef GARUDA_LOWER_EACH
  if (auto const& shared = of("maxComputeSharedMemorySize"); !shared.is_null())
    limits.maxComputeSharedMemorySize = shared.get<std::uint32_t>();
}

VkPhysicalDeviceType type_named(std::string const& name) {
  if (name == "VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU") return VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  if (name == "VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU") return VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  throw std::runtime_error("unknown deviceType: " + name);
}

void change(VkPhysicalDeviceProperties& properties) {
  change(properties.limits);
  if (auto const& type = at({"properties", "VkPhysicalDeviceProperties", "deviceType"}); !type.is_null())
    properties.deviceType = type_named(type.get<std::string>());
}

void change(VkPhysicalDeviceFeatures& features) {
  auto const of = [](std::string_view name) -> Json const& {
    return at({"features", "VkPhysicalDeviceFeatures", name});
  };
  take_away(features.independentBlend, of("independentBlend"));
  take_away(features.vertexPipelineStoresAndAtomics, of("vertexPipelineStoresAndAtomics"));
  take_away(features.fragmentStoresAndAtomics, of("fragmentStoresAndAtomics"));
  take_away(features.shaderStorageImageExtendedFormats, of("shaderStorageImageExtendedFormats"));
  take_away(features.shaderInt64, of("shaderInt64"));
  take_away(features.shaderFloat64, of("shaderFloat64"));
  take_away(features.shaderInt16, of("shaderInt16"));
}

/// Calls `visit` for every structure of a chain.
template <class Visit>
void for_each(void* next, Visit visit) {
  for (auto* link = static_cast<VkBaseOutStructure*>(next); link != nullptr; link = link->pNext) visit(link);
}

void change_properties(VkBaseOutStructure* link) {
  auto const& most_allocated = at({"properties", "VkPhysicalDeviceVulkan11Properties", "maxMemoryAllocationSize"});
  auto const& most_buffer = at({"properties", "VkPhysicalDeviceVulkan13Properties", "maxBufferSize"});
  switch (link->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES:
      return lower(reinterpret_cast<VkPhysicalDeviceVulkan11Properties*>(link)->maxMemoryAllocationSize,
                   most_allocated);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES:
      return lower(reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(link)->maxMemoryAllocationSize,
                   most_allocated);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES:
      return lower(reinterpret_cast<VkPhysicalDeviceVulkan13Properties*>(link)->maxBufferSize, most_buffer);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES:
      return lower(reinterpret_cast<VkPhysicalDeviceMaintenance4Properties*>(link)->maxBufferSize, most_buffer);
    default:
      return;
  }
}

void change_features(VkBaseOutStructure* link) {
  if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
    auto& features = *reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(link);
    auto const of = [](std::string_view name) -> Json const& {
      return at({"features", "VkPhysicalDeviceVulkan12Features", name});
    };
    take_away(features.bufferDeviceAddress, of("bufferDeviceAddress"));
    take_away(features.shaderInt8, of("shaderInt8"));
    take_away(features.shaderBufferInt64Atomics, of("shaderBufferInt64Atomics"));
  } else if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) {
    auto& features = *reinterpret_cast<VkPhysicalDeviceVulkan13Features*>(link);
    auto const of = [](std::string_view name) -> Json const& {
      return at({"features", "VkPhysicalDeviceVulkan13Features", name});
    };
    take_away(features.subgroupSizeControl, of("subgroupSizeControl"));
    take_away(features.computeFullSubgroups, of("computeFullSubgroups"));
  }
}

/// The uses of a format that the profile lists as "absent".
VkFormatFeatureFlags absent_features(VkFormat format) {
  static std::pair<VkFormat, char const*> const names[] = {
      {VK_FORMAT_R32_UINT, "VK_FORMAT_R32_UINT"},
      {VK_FORMAT_R32G32_UINT, "VK_FORMAT_R32G32_UINT"},
      {VK_FORMAT_R32G32B32A32_UINT, "VK_FORMAT_R32G32B32A32_UINT"},
      {VK_FORMAT_R32_SFLOAT, "VK_FORMAT_R32_SFLOAT"},
      {VK_FORMAT_R32G32_SFLOAT, "VK_FORMAT_R32G32_SFLOAT"},
      {VK_FORMAT_R32G32B32A32_SFLOAT, "VK_FORMAT_R32G32B32A32_SFLOAT"}};
  static std::pair<char const*, VkFormatFeatureFlags> const features[] = {
      {"VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT", VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT},
      {"VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT", VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT},
      {"VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT", VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT}};
  VkFormatFeatureFlags absent = 0;
  for (auto const& [known, name] : names) {
    if (known != format) continue;
    for (auto const& feature : at({"formats", name, "absent"})) {
      for (auto const& [text, bit] : features) absent |= feature == text ? bit : 0;
    }
  }
  return absent;
}

// --- the chain of layers --------------------------------------------------------------------------------------------

/// The functions of what is below, all asked for while the instance is made: afterwards the loader (1.3.239) answers
/// with those of the uppermost layer.
struct Below {
  PFN_vkGetInstanceProcAddr get = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures features = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
  PFN_vkGetPhysicalDeviceFormatProperties format = nullptr;
  PFN_vkGetPhysicalDeviceFormatProperties2 format2 = nullptr;
  PFN_vkGetPhysicalDeviceImageFormatProperties image_format = nullptr;
  PFN_vkGetPhysicalDeviceImageFormatProperties2 image_format2 = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;

  Below() = default;
  Below(VkInstance instance, PFN_vkGetInstanceProcAddr next) : get(next) {
    auto const load = [&](auto& function, char const* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(instance, name));
    };
    load(destroy, "vkDestroyInstance");
    load(properties, "vkGetPhysicalDeviceProperties");
    load(properties2, "vkGetPhysicalDeviceProperties2");
    load(features, "vkGetPhysicalDeviceFeatures");
    load(features2, "vkGetPhysicalDeviceFeatures2");
    load(format, "vkGetPhysicalDeviceFormatProperties");
    load(format2, "vkGetPhysicalDeviceFormatProperties2");
    load(image_format, "vkGetPhysicalDeviceImageFormatProperties");
    load(image_format2, "vkGetPhysicalDeviceImageFormatProperties2");
    load(extensions, "vkEnumerateDeviceExtensionProperties");
  }
};

/// Instances by the pointer that every dispatchable handle of an instance starts with.
std::mutex mutex;
std::unordered_map<void*, Below> instances;

void* key_of(void const* handle) { return *static_cast<void* const*>(handle); }

Below below(void const* handle) {
  std::lock_guard const lock(mutex);
  return instances.at(key_of(handle));
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(VkInstanceCreateInfo const* info, VkAllocationCallbacks const* allocator,
                                               VkInstance* instance) try {
  static_cast<void>(profile());
  auto* link = static_cast<VkLayerInstanceCreateInfo*>(const_cast<void*>(info->pNext));
  while (link != nullptr &&
         (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO))
    link = static_cast<VkLayerInstanceCreateInfo*>(const_cast<void*>(link->pNext));
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  auto const get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto const create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  auto const result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  std::lock_guard const lock(mutex);
  instances[key_of(*instance)] = Below(*instance, get);
  return VK_SUCCESS;
} catch (std::exception const& error) {
  std::cerr << "profile layer: " << error.what() << '\n';
  return VK_ERROR_INITIALIZATION_FAILED;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, VkAllocationCallbacks const* allocator) {
  if (instance == VK_NULL_HANDLE) return;
  auto const known = below(instance);
  auto* const key = key_of(instance);
  known.destroy(instance, allocator);
  std::lock_guard const lock(mutex);
  instances.erase(key);
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  below(device).properties(device, properties);
  change(*properties);
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  below(device).properties2(device, properties);
  change(properties->properties);
  for_each(properties->pNext, change_properties);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures* features) {
  below(device).features(device, features);
  change(*features);
}

VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  below(device).features2(device, features);
  change(features->features);
  for_each(features->pNext, change_features);
}

VKAPI_ATTR void VKAPI_CALL get_format(VkPhysicalDevice device, VkFormat format, VkFormatProperties* properties) {
  below(device).format(device, format, properties);
  properties->optimalTilingFeatures &= ~absent_features(format);
}

VKAPI_ATTR void VKAPI_CALL get_format2(VkPhysicalDevice device, VkFormat format, VkFormatProperties2* properties) {
  below(device).format2(device, format, properties);
  auto const absent = absent_features(format);
  properties->formatProperties.optimalTilingFeatures &= ~absent;
  for_each(properties->pNext, [&](VkBaseOutStructure* link) {
    // VkFormatProperties3 has these bits in a wider word.
    if (link->sType == VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3)
      reinterpret_cast<VkFormatProperties3*>(link)->optimalTilingFeatures &= ~VkFormatFeatureFlags2{absent};
  });
}

void change(VkPhysicalDevice device, VkImageType type, VkImageFormatProperties& properties) {
  VkPhysicalDeviceProperties all{};
  get_properties(device, &all);
  if (type != VK_IMAGE_TYPE_2D) return;
  properties.maxExtent.width = std::min(properties.maxExtent.width, all.limits.maxImageDimension2D);
  properties.maxExtent.height = std::min(properties.maxExtent.height, all.limits.maxImageDimension2D);
  properties.maxArrayLayers = std::min(properties.maxArrayLayers, all.limits.maxImageArrayLayers);
}

VKAPI_ATTR VkResult VKAPI_CALL get_image_format(VkPhysicalDevice device, VkFormat format, VkImageType type,
                                                VkImageTiling tiling, VkImageUsageFlags usage, VkImageCreateFlags flags,
                                                VkImageFormatProperties* properties) {
  auto const result = below(device).image_format(device, format, type, tiling, usage, flags, properties);
  if (result == VK_SUCCESS) change(device, type, *properties);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL get_image_format2(VkPhysicalDevice device, VkPhysicalDeviceImageFormatInfo2 const* info,
                                                 VkImageFormatProperties2* properties) {
  auto const result = below(device).image_format2(device, info, properties);
  if (result == VK_SUCCESS) change(device, info->type, properties->imageFormatProperties);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL get_extensions(VkPhysicalDevice device, char const* layer, std::uint32_t* count,
                                              VkExtensionProperties* extensions) {
  auto const get = below(device).extensions;
  std::uint32_t all = 0;
  if (auto const result = get(device, layer, &all, nullptr); result != VK_SUCCESS) return result;
  std::vector<VkExtensionProperties> known(all);
  if (auto const result = get(device, layer, &all, known.data()); result != VK_SUCCESS) return result;
  std::erase_if(known, [](VkExtensionProperties const& extension) {
    auto const& absent = at({"absent_extensions"});
    return std::find(absent.begin(), absent.end(), extension.extensionName) != absent.end();
  });
  if (extensions == nullptr) {
    *count = static_cast<std::uint32_t>(known.size());
    return VK_SUCCESS;
  }
  *count = std::min(*count, static_cast<std::uint32_t>(known.size()));
  std::copy_n(known.begin(), *count, extensions);
  return *count < known.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

template <class Function>
PFN_vkVoidFunction as_void(Function function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

PFN_vkVoidFunction own(std::string_view name) {
  static std::unordered_map<std::string_view, PFN_vkVoidFunction> const functions{
      {"vkCreateInstance", as_void(create_instance)},
      {"vkDestroyInstance", as_void(destroy_instance)},
      {"vkGetPhysicalDeviceProperties", as_void(get_properties)},
      {"vkGetPhysicalDeviceProperties2", as_void(get_properties2)},
      {"vkGetPhysicalDeviceFeatures", as_void(get_features)},
      {"vkGetPhysicalDeviceFeatures2", as_void(get_features2)},
      {"vkGetPhysicalDeviceFormatProperties", as_void(get_format)},
      {"vkGetPhysicalDeviceFormatProperties2", as_void(get_format2)},
      {"vkGetPhysicalDeviceImageFormatProperties", as_void(get_image_format)},
      {"vkGetPhysicalDeviceImageFormatProperties2", as_void(get_image_format2)},
      {"vkEnumerateDeviceExtensionProperties", as_void(get_extensions)}};
  auto const found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance instance, char const* name) {
  if (std::string_view(name) == "vkGetInstanceProcAddr") return as_void(get_instance_function);
  if (auto const function = own(name)) return function;
  return instance == VK_NULL_HANDLE ? nullptr : below(instance).get(instance, name);
}

}  // namespace

extern "C" VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  interface->loaderLayerInterfaceVersion = std::min<std::uint32_t>(interface->loaderLayerInterfaceVersion, 2);
  interface->pfnGetInstanceProcAddr = get_instance_function;
  interface->pfnGetDeviceProcAddr = nullptr;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
