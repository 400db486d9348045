// The one owner type of Vulkan handles.
#pragma once

#include <volk.h>

#include <utility>

namespace garuda::vk {

/// A logical device and its dispatch table; both outlive every handle made from them.
struct DeviceHandle {
  VkDevice device = VK_NULL_HANDLE;
  VolkDeviceTable const* fn = nullptr;
};

/// An instance and its extension functions needed for destruction.
struct InstanceHandle {
  VkInstance instance = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger = nullptr;
};

/// How a handle type is destroyed and what that takes. Specialised below, one line a type.
template <class Handle>
struct HandleTraits;

/// Destroys a device-level handle by the entry `Destroy` of the device's table.
template <class Handle, auto Destroy>
struct DeviceHandleTraits {
  using Parent = DeviceHandle;
  static void destroy(Parent const& parent, Handle handle) noexcept {
    (parent.fn->*Destroy)(parent.device, handle, nullptr);
  }
};

// Handle types are told apart by type, which takes the 64-bit definition of non-dispatchable handles.
static_assert(sizeof(void*) == 8, "garuda needs a 64-bit platform");

// clang-format off
template <> struct HandleTraits<VkBuffer> : DeviceHandleTraits<VkBuffer, &VolkDeviceTable::vkDestroyBuffer> {};
template <> struct HandleTraits<VkImage> : DeviceHandleTraits<VkImage, &VolkDeviceTable::vkDestroyImage> {};
template <> struct HandleTraits<VkImageView> : DeviceHandleTraits<VkImageView, &VolkDeviceTable::vkDestroyImageView> {};
template <> struct HandleTraits<VkDeviceMemory> : DeviceHandleTraits<VkDeviceMemory, &VolkDeviceTable::vkFreeMemory> {};
template <> struct HandleTraits<VkShaderModule> : DeviceHandleTraits<VkShaderModule, &VolkDeviceTable::vkDestroyShaderModule> {};
template <> struct HandleTraits<VkPipeline> : DeviceHandleTraits<VkPipeline, &VolkDeviceTable::vkDestroyPipeline> {};
template <> struct HandleTraits<VkPipelineLayout> : DeviceHandleTraits<VkPipelineLayout, &VolkDeviceTable::vkDestroyPipelineLayout> {};
template <> struct HandleTraits<VkPipelineCache> : DeviceHandleTraits<VkPipelineCache, &VolkDeviceTable::vkDestroyPipelineCache> {};
template <> struct HandleTraits<VkDescriptorSetLayout> : DeviceHandleTraits<VkDescriptorSetLayout, &VolkDeviceTable::vkDestroyDescriptorSetLayout> {};
template <> struct HandleTraits<VkDescriptorPool> : DeviceHandleTraits<VkDescriptorPool, &VolkDeviceTable::vkDestroyDescriptorPool> {};
template <> struct HandleTraits<VkCommandPool> : DeviceHandleTraits<VkCommandPool, &VolkDeviceTable::vkDestroyCommandPool> {};
template <> struct HandleTraits<VkSemaphore> : DeviceHandleTraits<VkSemaphore, &VolkDeviceTable::vkDestroySemaphore> {};
template <> struct HandleTraits<VkQueryPool> : DeviceHandleTraits<VkQueryPool, &VolkDeviceTable::vkDestroyQueryPool> {};
// clang-format on

template <>
struct HandleTraits<VkDevice> {
  using Parent = DeviceHandle;
  static void destroy(Parent const& parent, VkDevice device) noexcept { parent.fn->vkDestroyDevice(device, nullptr); }
};

template <>
struct HandleTraits<VkInstance> {
  using Parent = InstanceHandle;
  static void destroy(Parent const&, VkInstance instance) noexcept { vkDestroyInstance(instance, nullptr); }
};

template <>
struct HandleTraits<VkDebugUtilsMessengerEXT> {
  using Parent = InstanceHandle;
  static void destroy(Parent const& parent, VkDebugUtilsMessengerEXT messenger) noexcept {
    parent.destroy_messenger(parent.instance, messenger, nullptr);
  }
};

/// Sole owner of one Vulkan handle, or of none. Move-only. The parent outlives it: members that hold a Unique are
/// declared after the owner of their parent. Not thread-safe; destruction while the device still uses the handle is the
/// owner's bug.
template <class Handle>
class Unique {
 public:
  using Parent = typename HandleTraits<Handle>::Parent;

  Unique() = default;
  Unique(Parent parent, Handle handle) noexcept : parent_(parent), handle_(handle) {}
  Unique(Unique&& other) noexcept : parent_(other.parent_), handle_(std::exchange(other.handle_, VK_NULL_HANDLE)) {}
  Unique& operator=(Unique&& other) noexcept {
    if (this != &other) {
      reset();
      parent_ = other.parent_;
      handle_ = std::exchange(other.handle_, VK_NULL_HANDLE);
    }
    return *this;
  }
  Unique(Unique const&) = delete;
  Unique& operator=(Unique const&) = delete;
  ~Unique() { reset(); }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != VK_NULL_HANDLE; }

  /// Destroys the handle now.
  void reset() noexcept {
    if (handle_ != VK_NULL_HANDLE) HandleTraits<Handle>::destroy(parent_, std::exchange(handle_, VK_NULL_HANDLE));
  }

 private:
  Parent parent_{};
  Handle handle_ = VK_NULL_HANDLE;
};

}  // namespace garuda::vk
