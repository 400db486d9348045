// The Vulkan instance, its devices, the validation layer's messages, and calls of the driver.
#pragma once

#include <volk.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

/// The name of `result` as the enumerator is spelled; "VkResult" for values this build does not know.
std::string_view vk_result_name(VkResult result) noexcept;

/// Turns the outcome of the driver call `call` (its name, "vkCreateBuffer") into a Result.
/// Success codes that are not errors (VK_SUBOPTIMAL_KHR, VK_INCOMPLETE, VK_TIMEOUT …) pass as success: a caller for
/// whom they matter looks at the VkResult itself. Errors: out_of_memory for VK_ERROR_OUT_OF_{HOST,DEVICE,POOL}_MEMORY
/// and VK_ERROR_FRAGMENTED_POOL, device_failure for every other negative code; the message holds `call` and the
/// VkResult's name.
Result<void> check(VkResult result, std::string_view call);

/// All that the driver call `call` lists. `get`: calls it with a count and room for so many elements, or none; `blank`:
/// an element that is not filled. Errors: those of check().
template <class Element, class Get>
Result<std::vector<Element>> listed(std::string_view call, Element const& blank, Get const& get) {
  std::uint32_t count = 0;
  GARUDA_TRY(check(get(&count, nullptr), call));
  std::vector<Element> elements(count, blank);
  GARUDA_TRY(check(get(&count, elements.data()), call));
  elements.resize(count, blank);
  return elements;
}

/// Makes an object of the device by `create`, the function of its table that is called `call`. Errors: those of
/// check().
template <class Handle, class Info>
Result<Unique<Handle>> make_object(DeviceHandle device,
                                   VkResult (VKAPI_PTR* VolkDeviceTable::*create)(VkDevice, Info const*,
                                                                                  VkAllocationCallbacks const*,
                                                                                  Handle*),
                                   Info const& info, std::string_view call) {
  Handle handle = VK_NULL_HANDLE;
  GARUDA_TRY(check((device.fn->*create)(device.device, &info, nullptr, &handle), call));
  return Unique<Handle>(device, handle);
}

/// Opens the Vulkan loader. The first call does the work, later ones return its outcome. Thread-safe.
/// Errors: no_device when the machine has no Vulkan loader (libvulkan.so.1), or one without Vulkan 1.3.
Result<void> load_vulkan();

/// Has devices and instances whose owners go, and what these hold of them, left to the operating system from now on,
/// which takes them down with the process, faster than the driver does one by one. For a program that is about to end
/// by os::end_before_drivers. Thread-safe.
void leave_devices_to_process_end() noexcept;

/// Whether devices are left.
bool devices_are_left() noexcept;

/// Remembers what is left, so that leak checkers find it. Thread-safe.
void remember_left(void const* object);

/// Takes over what `owner` has, for ever; where there is no memory for that, `owner` keeps it. Thread-safe.
template <class T>
void leave(std::unique_ptr<T>& owner) {
  remember_left(owner.get());
  (void)owner.release();
}

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
