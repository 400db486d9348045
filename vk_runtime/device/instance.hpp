// The Vulkan instance, its devices, and the validation layer's messages.
#pragma once

#include <volk.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

struct InstanceOptions {
  /// Loads VK_LAYER_KHRONOS_validation with synchronisation validation. Meant for tests: slow.
  bool validation = false;
  /// Debug labels and object names, so that a capture reads like the paper; free where no tool listens. Implied by
  /// `validation`.
  bool debug_labels = true;
};

/// Messages of the validation layer; filled from any thread.
class MessageLog {
 public:
  void add(std::string message);
  std::vector<std::string> messages() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

/// Functions of VK_EXT_debug_utils; all null when the extension is off.
struct DebugFunctions {
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT set_name = nullptr;
};

/// A device the instance found, not opened yet.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::vector<std::string> extensions;  ///< that it offers; none where it cannot say
  DeviceTraits traits;
};

/// Owner of the VkInstance; outlives every Device made from it.
class Instance {
 public:
  /// Loads Vulkan and creates the instance. Errors: no_device without loader or driver; usage when validation is asked
  /// for and the layer is not installed; device_failure from the driver.
  static Result<std::unique_ptr<Instance>> create(InstanceOptions const& options = {});

  Instance(Instance const&) = delete;
  Instance& operator=(Instance const&) = delete;
  ~Instance();

  VkInstance handle() const noexcept { return instance_.get(); }
  DebugFunctions const& debug() const noexcept { return debug_; }

  /// Every device with its traits, in the loader's order, usable or not. Errors: no_device when no driver offers one.
  Result<std::vector<PhysicalDevice>> physical_devices() const;

  /// Validation and performance warnings and errors so far; always empty without `validation`. Thread-safe.
  std::vector<std::string> validation_messages() const { return log_->messages(); }
  void clear_validation_messages() { log_->clear(); }

 private:
  Instance() = default;

  std::unique_ptr<MessageLog> log_;
  Unique<VkInstance> instance_;
  Unique<VkDebugUtilsMessengerEXT> messenger_;
  DebugFunctions debug_;
};

/// Asks a device what it offers. Once for each: the loader (1.3) takes 1.6 ms to list NVIDIA's extensions.
PhysicalDevice query_device(VkPhysicalDevice device);

}  // namespace garuda::vk
