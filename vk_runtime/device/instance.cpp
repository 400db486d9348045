#include "vk_runtime/device/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace garuda::vk {
namespace {

constexpr char const* kValidationLayer = "VK_LAYER_KHRONOS_validation";

/// The layer gave up waiting for its own bookkeeping thread, which a busy machine delays past the layer's limit. It
/// says nothing of the calls made here.
constexpr std::string_view kLayerTimeout = "UNASSIGNED-VkSemaphore-state-timeout";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          VkDebugUtilsMessengerCallbackDataEXT const* data, void* user) {
  if (data->pMessageIdName != nullptr && kLayerTimeout == data->pMessageIdName) return VK_FALSE;
  static_cast<MessageLog*>(user)->add(data->pMessage != nullptr ? data->pMessage : "");
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(MessageLog& log) {
  // General messages are the loader's (a driver that it could not load, say); they do not concern the calls made here.
  return {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = &log};
}

Result<bool> layer_installed(std::string_view name) {
  GARUDA_TRY_ASSIGN(auto const layers, listed("vkEnumerateInstanceLayerProperties", VkLayerProperties{},
                                              vkEnumerateInstanceLayerProperties));
  return std::ranges::any_of(layers, [&](VkLayerProperties const& layer) { return name == layer.layerName; });
}

struct CreatedInstance {
  VkInstance handle = VK_NULL_HANDLE;
  bool debug_utils = false;
};

Result<CreatedInstance> create_handle(InstanceOptions const& options, bool debug_utils, MessageLog& log) {
  VkApplicationInfo const application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pApplicationName = "garuda",
                                      .pEngineName = "garuda",
                                      .apiVersion = VK_API_VERSION_1_3};
  std::vector<char const*> extensions;
  if (debug_utils) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (options.validation) extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);

  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(log);
  VkValidationFeatureEnableEXT const synchronisation = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT const features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                         .pNext = &messenger,
                                         .enabledValidationFeatureCount = 1,
                                         .pEnabledValidationFeatures = &synchronisation};
  VkInstanceCreateInfo const info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pNext = options.validation ? &features : nullptr,
                                  .pApplicationInfo = &application,
                                  .enabledLayerCount = options.validation ? 1U : 0U,
                                  .ppEnabledLayerNames = &kValidationLayer,
                                  .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
  VkInstance instance = VK_NULL_HANDLE;
  VkResult const result = vkCreateInstance(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return fail(ErrorCode::no_device, "no Vulkan driver on this machine");
  }
  // Trying is quicker than asking for the list of extensions first, for which the loader goes through all drivers.
  bool const without_labels = result == VK_ERROR_EXTENSION_NOT_PRESENT && debug_utils && !options.validation;
  if (without_labels) return create_handle(options, false, log);
  GARUDA_TRY(check(result, "vkCreateInstance"));
  return CreatedInstance{instance, debug_utils};
}

/// Loads those of the loader's instance-level entry points that are called here: looking up all that volk knows takes
/// 0.7 ms with NVIDIA's driver. They dispatch by their first argument, so the same ones serve every instance and
/// outlive the one they were asked for with.
void load_instance_functions(VkInstance instance) {
  static std::once_flag once;
  std::call_once(once, [&] {
    auto const find = [&]<class Function>(Function& function, char const* name) {
      function = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
      GARUDA_EXPECTS(function != nullptr);
    };
    find(vkCreateDevice, "vkCreateDevice");
    find(vkDestroyInstance, "vkDestroyInstance");
    find(vkEnumerateDeviceExtensionProperties, "vkEnumerateDeviceExtensionProperties");
    find(vkEnumeratePhysicalDevices, "vkEnumeratePhysicalDevices");
    find(vkGetDeviceProcAddr, "vkGetDeviceProcAddr");
    find(vkGetPhysicalDeviceExternalBufferProperties, "vkGetPhysicalDeviceExternalBufferProperties");
    find(vkGetPhysicalDeviceFeatures2, "vkGetPhysicalDeviceFeatures2");
    find(vkGetPhysicalDeviceFormatProperties, "vkGetPhysicalDeviceFormatProperties");
    find(vkGetPhysicalDeviceMemoryProperties, "vkGetPhysicalDeviceMemoryProperties");
    find(vkGetPhysicalDeviceMemoryProperties2, "vkGetPhysicalDeviceMemoryProperties2");
    find(vkGetPhysicalDeviceProperties, "vkGetPhysicalDeviceProperties");
    find(vkGetPhysicalDeviceProperties2, "vkGetPhysicalDeviceProperties2");
    find(vkGetPhysicalDeviceQueueFamilyProperties, "vkGetPhysicalDeviceQueueFamilyProperties");
  });
}

/// The loader unloads a driver's libraries with the last instance, and some of them cannot be loaded as often as one
/// likes: glibc has little room for libraries' thread-local variables and does not get all of it back, so that NVIDIA's
/// driver (580) is found no more after about 27 instances of a process. An instance that lives as long as the process
/// keeps them where they are; it is made when the first of the others goes, for a process that ends with its own has no
/// use for it.
void keep_drivers_loaded() {
  static std::once_flag once;
  std::call_once(once, [] {
    VkApplicationInfo const application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo const info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    static VkInstance kept = VK_NULL_HANDLE;
    // Without it nothing is lost but the drivers' libraries between instances.
    (void)vkCreateInstance(&info, nullptr, &kept);
  });
}

template <class Function>
Function load(VkInstance instance, char const* name) {
  return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

DebugFunctions load_debug_functions(VkInstance instance) {
  return {.begin_label = load<PFN_vkCmdBeginDebugUtilsLabelEXT>(instance, "vkCmdBeginDebugUtilsLabelEXT"),
          .end_label = load<PFN_vkCmdEndDebugUtilsLabelEXT>(instance, "vkCmdEndDebugUtilsLabelEXT"),
          .set_name = load<PFN_vkSetDebugUtilsObjectNameEXT>(instance, "vkSetDebugUtilsObjectNameEXT")};
}

Result<Unique<VkDebugUtilsMessengerEXT>> create_messenger(VkInstance instance, MessageLog& log) {
  auto const create = load<PFN_vkCreateDebugUtilsMessengerEXT>(instance, "vkCreateDebugUtilsMessengerEXT");
  auto const destroy = load<PFN_vkDestroyDebugUtilsMessengerEXT>(instance, "vkDestroyDebugUtilsMessengerEXT");
  if (create == nullptr || destroy == nullptr) {
    return fail(ErrorCode::device_failure, "vkCreateDebugUtilsMessengerEXT is missing though its extension is enabled");
  }
  VkDebugUtilsMessengerCreateInfoEXT const info = messenger_info(log);
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  GARUDA_TRY(check(create(instance, &info, nullptr, &messenger), "vkCreateDebugUtilsMessengerEXT"));
  return Unique<VkDebugUtilsMessengerEXT>({instance, destroy}, messenger);
}

Result<void> open_loader() {
  if (volkInitialize() != VK_SUCCESS) {
    return fail(ErrorCode::no_device, "no Vulkan loader on this machine (libvulkan.so.1 was not found)");
  }
  std::uint32_t const version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_3) {
    return fail(ErrorCode::no_device, fmt::format("the Vulkan loader is older than 1.3: {}.{}",
                                                  VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)));
  }
  return {};
}

}  // namespace

std::string_view vk_result_name(VkResult result) noexcept {
  switch (result) {
#define GARUDA_VK_RESULT(name) \
  case name:                   \
    return #name
    GARUDA_VK_RESULT(VK_SUCCESS);
    GARUDA_VK_RESULT(VK_NOT_READY);
    GARUDA_VK_RESULT(VK_TIMEOUT);
    GARUDA_VK_RESULT(VK_EVENT_SET);
    GARUDA_VK_RESULT(VK_EVENT_RESET);
    GARUDA_VK_RESULT(VK_INCOMPLETE);
    GARUDA_VK_RESULT(VK_PIPELINE_COMPILE_REQUIRED);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED);
    GARUDA_VK_RESULT(VK_ERROR_DEVICE_LOST);
    GARUDA_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED);
    GARUDA_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER);
    GARUDA_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS);
    GARUDA_VK_RESULT(VK_ERROR_FORMAT_NOT_SUPPORTED);
    GARUDA_VK_RESULT(VK_ERROR_FRAGMENTED_POOL);
    GARUDA_VK_RESULT(VK_ERROR_UNKNOWN);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    GARUDA_VK_RESULT(VK_ERROR_FRAGMENTATION);
    GARUDA_VK_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    GARUDA_VK_RESULT(VK_ERROR_NOT_PERMITTED_KHR);
    GARUDA_VK_RESULT(VK_ERROR_VALIDATION_FAILED_EXT);
#undef GARUDA_VK_RESULT
    default:
      return "VkResult";
  }
}

Result<void> check(VkResult result, std::string_view call) {
  if (result >= 0) return {};
  bool const memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                      result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
  return fail(memory ? ErrorCode::out_of_memory : ErrorCode::device_failure,
              fmt::format("{} failed: {} ({})", call, vk_result_name(result), static_cast<int>(result)));
}

Result<void> load_vulkan() {
  static Result<void> const outcome = open_loader();
  return outcome;
}

namespace {

std::atomic<bool> are_left{false};

}  // namespace

void leave_devices_to_process_end() noexcept { are_left = true; }
bool devices_are_left() noexcept { return are_left; }

void remember_left(void const* object) {
  static std::mutex mutex;
  static auto& left = *new std::vector<void const*>;  // never destroyed
  std::lock_guard const lock(mutex);
  left.push_back(object);
}

void MessageLog::add(std::string message) {
  std::lock_guard const lock(mutex_);
  messages_.push_back(std::move(message));
}

std::vector<std::string> MessageLog::messages() const {
  std::lock_guard const lock(mutex_);
  return messages_;
}

void MessageLog::clear() {
  std::lock_guard const lock(mutex_);
  messages_.clear();
}

Instance::~Instance() {
  if (instance_) keep_drivers_loaded();
}

Result<std::unique_ptr<Instance>> Instance::create(InstanceOptions const& options) {
  GARUDA_TRY(load_vulkan());
  if (options.validation) {
    GARUDA_TRY_ASSIGN(bool const installed, layer_installed(kValidationLayer));
    if (!installed) return fail(ErrorCode::usage, fmt::format("Vulkan layer not installed: {}", kValidationLayer));
  }

  auto instance = std::unique_ptr<Instance>(new Instance);
  instance->log_ = std::make_unique<MessageLog>();
  GARUDA_TRY_ASSIGN(auto const created,
                    create_handle(options, options.validation || options.debug_labels, *instance->log_));
  auto const [handle, debug_utils] = created;
  load_instance_functions(handle);
  instance->instance_ = Unique<VkInstance>({}, handle);
  if (debug_utils) instance->debug_ = load_debug_functions(handle);
  if (options.validation) {
    GARUDA_TRY_ASSIGN(instance->messenger_, create_messenger(handle, *instance->log_));
  }
  return instance;
}

Result<std::vector<PhysicalDevice>> Instance::physical_devices() const {
  std::uint32_t count = 0;
  VkResult const result = vkEnumeratePhysicalDevices(handle(), &count, nullptr);
  // The loader answers so when drivers are installed but none of them finds its hardware.
  if (result == VK_ERROR_INITIALIZATION_FAILED || (result == VK_SUCCESS && count == 0)) {
    return fail(ErrorCode::no_device, "no Vulkan device on this machine");
  }
  GARUDA_TRY(check(result, "vkEnumeratePhysicalDevices"));
  std::vector<VkPhysicalDevice> handles(count);
  GARUDA_TRY(check(vkEnumeratePhysicalDevices(handle(), &count, handles.data()), "vkEnumeratePhysicalDevices"));
  handles.resize(count);
  std::vector<PhysicalDevice> devices;
  for (VkPhysicalDevice device : handles) devices.push_back(query_device(device));
  return devices;
}

}  // namespace garuda::vk
