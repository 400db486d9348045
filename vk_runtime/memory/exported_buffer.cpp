#include "vk_runtime/memory/exported_buffer.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "vk_runtime/device/instance.hpp"

namespace garuda::vk {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHandleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

Result<void> check_support(Device const& device) {
  auto const lacks = [&](char const* what) {
    return fail(ErrorCode::no_device, fmt::format("{} cannot share memory: {}", device.traits().name, what));
  };
  // The device enables the extension where there is one; without it the function is not there.
  if (device.fn().vkGetMemoryFdKHR == nullptr) return lacks("no VK_KHR_external_memory_fd");
  if (!device.traits().features.buffer_device_address) return lacks("no buffer addresses");
  VkPhysicalDeviceExternalBufferInfo const info{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, .usage = kUsage, .handleType = kHandleType};
  VkExternalBufferProperties properties{.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  vkGetPhysicalDeviceExternalBufferProperties(device.physical(), &info, &properties);
  auto const features = properties.externalMemoryProperties.externalMemoryFeatures;
  if ((features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) == 0) return lacks("its buffers cannot be exported");
  return {};
}

Result<Unique<VkBuffer>> create_handle(Device const& device, std::uint64_t bytes) {
  VkExternalMemoryBufferCreateInfo const external{.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                  .handleTypes = kHandleType};
  auto const families = device.buffer_families();
  VkBufferCreateInfo const info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = &external,
      .size = bytes,
      .usage = kUsage,
      .sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = static_cast<std::uint32_t>(families.size()),
      .pQueueFamilyIndices = families.data()};
  return make_object(device.owner(), &VolkDeviceTable::vkCreateBuffer, info, "vkCreateBuffer");
}

Result<MemoryBlock> allocate_for(Device& device, VkBuffer buffer, VkMemoryRequirements const& requirements) {
  auto const type = device.memory().find_type(requirements.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  if (!type)
    return fail(ErrorCode::out_of_memory,
                fmt::format("{} has no device memory that can be shared", device.traits().name));
  BlockRequest request;
  request.bytes = requirements.size;
  request.type = *type;
  request.dedicated_buffer = buffer;
  request.exported_handles = kHandleType;
  return device.memory().allocate(request);
}

}  // namespace

Result<ExportedBuffer> ExportedBuffer::create(Device& device, std::uint64_t bytes, char const* name) {
  GARUDA_EXPECTS(bytes > 0);
  GARUDA_TRY(check_support(device));
  if (bytes > device.traits().limits.max_buffer_size)
    return fail(ErrorCode::limit_exceeded, fmt::format("buffer \"{}\" larger than the device's largest, {} bytes: {}",
                                                       name, device.traits().limits.max_buffer_size, bytes));
  ExportedBuffer exported;
  exported.device_ = device.owner();
  exported.bytes_ = bytes;
  GARUDA_TRY_ASSIGN(exported.buffer_, create_handle(device, bytes));
  auto const buffer = exported.handle();
  device.set_name(buffer, VK_OBJECT_TYPE_BUFFER, name);
  VkMemoryRequirements requirements{};
  device.fn().vkGetBufferMemoryRequirements(device.handle(), buffer, &requirements);
  exported.memory_bytes_ = requirements.size;
  GARUDA_TRY_ASSIGN(exported.memory_, allocate_for(device, buffer, requirements));
  GARUDA_TRY(check(device.fn().vkBindBufferMemory(device.handle(), buffer, exported.memory_.handle(), 0),
                   "vkBindBufferMemory"));
  VkBufferDeviceAddressInfo const info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
  exported.address_ = device.fn().vkGetBufferDeviceAddress(device.handle(), &info);
  return exported;
}

Result<os::FileDescriptor> ExportedBuffer::open_memory() const {
  VkMemoryGetFdInfoKHR const info{
      .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = memory_.handle(), .handleType = kHandleType};
  int fd = -1;
  GARUDA_TRY(check(device_.fn->vkGetMemoryFdKHR(device_.device, &info, &fd), "vkGetMemoryFdKHR"));
  return os::FileDescriptor(fd);
}

}  // namespace garuda::vk
