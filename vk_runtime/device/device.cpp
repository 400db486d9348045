#include "vk_runtime/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::vk {
namespace {

QueueFamily const* main_family(DeviceTraits const& traits) {
  auto const found = std::ranges::find_if(traits.queue_families,
                                          [](QueueFamily const& family) { return family.graphics && family.compute; });
  return found == traits.queue_families.end() ? nullptr : &*found;
}

QueueFamily const* transfer_family(DeviceTraits const& traits) {
  auto const found = std::ranges::find_if(traits.queue_families, [](QueueFamily const& family) {
    return family.transfer && !family.graphics && !family.compute && !family.video;
  });
  return found == traits.queue_families.end() ? nullptr : &*found;
}

constexpr std::uint32_t kMostTransferQueues = 2;

/// The features to enable: everything required, and what DeviceFeatures found of the optional ones.
struct EnabledFeatures {
  VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};

  explicit EnabledFeatures(DeviceFeatures const& features) {
    core.pNext = &v12;
    v12.pNext = &v13;
    if (features.pipeline_executable_properties) v13.pNext = &executables;

    v13.dynamicRendering = VK_TRUE;
    v13.synchronization2 = VK_TRUE;
    v13.maintenance4 = VK_TRUE;
    v12.timelineSemaphore = VK_TRUE;

    v12.bufferDeviceAddress = features.buffer_device_address;
    core.features.independentBlend = features.independent_blend;
    core.features.shaderFloat64 = features.exact_float64();
    v13.subgroupSizeControl = features.subgroup_size_control;
    v13.computeFullSubgroups = features.compute_full_subgroups;
    executables.pipelineExecutableInfo = features.pipeline_executable_properties;
  }
  EnabledFeatures(EnabledFeatures const&) = delete;
  EnabledFeatures& operator=(EnabledFeatures const&) = delete;
};

/// The extension that gives queues a low priority: other work of the GPU, the desktop first, goes before a query.
char const* priority_extension(std::span<std::string const> offered) {
  for (char const* const name : {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME})
    if (std::ranges::find(offered, name) != offered.end()) return name;
  return nullptr;
}

std::vector<char const*> enabled_extensions(DeviceFeatures const& features, std::span<std::string const> offered) {
  std::vector<char const*> names;
  // For memory that other APIs open (exported_buffer.hpp). An extension alone, no feature.
  if (std::ranges::find(offered, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) != offered.end())
    names.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  if (features.external_memory_host) names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (features.memory_budget) names.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (features.pipeline_executable_properties) {
    names.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  }
  return names;
}

/// `transfer`: nullptr for none of these queues; `low_priority_by`: nullptr for the usual one.
Result<VkDevice> create_handle(PhysicalDevice const& physical, QueueFamily const* transfer,
                               char const* low_priority_by) {
  VkDeviceQueueGlobalPriorityCreateInfoKHR const low{
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
      .globalPriority = VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR};
  void const* const priority = low_priority_by != nullptr ? &low : nullptr;
  std::array<float, kMostTransferQueues> priorities{};
  priorities.fill(1.0F);
  std::vector<VkDeviceQueueCreateInfo> queues;
  queues.push_back({.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                    .pNext = priority,
                    .queueFamilyIndex = main_family(physical.traits)->index,
                    .queueCount = 1,
                    .pQueuePriorities = priorities.data()});
  if (transfer != nullptr) {
    queues.push_back({.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                      .pNext = priority,
                      .queueFamilyIndex = transfer->index,
                      .queueCount = std::min(transfer->count, kMostTransferQueues),
                      .pQueuePriorities = priorities.data()});
  }
  EnabledFeatures const features(physical.traits.features);
  std::vector<char const*> extensions = enabled_extensions(physical.traits.features, physical.extensions);
  if (low_priority_by != nullptr) extensions.push_back(low_priority_by);
  VkDeviceCreateInfo const info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features.core,
                                .queueCreateInfoCount = static_cast<std::uint32_t>(queues.size()),
                                .pQueueCreateInfos = queues.data(),
                                .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data()};
  VkDevice device = VK_NULL_HANDLE;
  GARUDA_TRY(check(vkCreateDevice(physical.handle, &info, nullptr, &device), "vkCreateDevice"));
  return device;
}

/// Shorter times count as this one, for the work that there is beside the points.
constexpr std::uint64_t kLeastNs = 1'000'000;
/// Share of the distance to a faster pace that a pace moves each time.
constexpr double kTrust = 0.25;
/// Times that a phase which was not seen yet is taken to be slower: SwiftShader takes two to five times as long as
/// lavapipe, whose pace is assumed for every software device.
constexpr double kUnseenTimes = 4;
/// A pace stays within so many times what is assumed, either way: a phase of few points and much else says little.
constexpr double kMostTimes = 32;

/// A time of LongestSubmissions. Has no destructor: threads may still measure while the process ends.
struct LongestTime {
  std::int64_t ns = 0;
  std::array<char, 128> phases = {};  // what of them fits

  SubmissionTime time(bool compiles) const { return {phases.data(), ns, compiles}; }
};

/// Leaked on purpose, for the same reason; not every system's mutex is without a destructor.
std::mutex& longest_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

constinit LongestTime longest_usual;
constinit LongestTime longest_compiling;

}  // namespace

LongestSubmissions longest_submissions() {
  std::lock_guard const lock(longest_mutex());
  return {longest_usual.time(false), longest_compiling.time(true)};
}

void Pace::submission_took(SubmissionTime const& time) {
  std::lock_guard const lock(longest_mutex());
  auto& kept = time.compiles ? longest_compiling : longest_usual;
  if (time.ns <= kept.ns) return;
  kept = {time.ns, {}};
  time.phases.copy(kept.phases.data(), kept.phases.size() - 1);
}

Pace::Pace(DeviceTraits const& traits) noexcept
    : aim_ns_(static_cast<double>(longest_submission_ns(traits.type)) / (traits.type == DeviceType::cpu ? 4 : 2)),
      assumed_ns_(aim_ns_ / static_cast<double>(std::max<std::uint64_t>(traits.max_points_per_submission, 1))) {}

double Pace::expected_ns(std::string_view phase, std::uint64_t points) const {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(known_, phase, &Known::phase);
  return static_cast<double>(points) * (found == known_.end() ? kUnseenTimes * assumed_ns_ : found->ns_a_point);
}

void Pace::took(std::string_view phase, std::uint64_t points, std::uint64_t ns, ClockSource source) {
  if (points == 0) return;
  auto const longest = static_cast<double>(std::max(ns, kLeastNs));
  if (ns < kLeastNs && longest >= expected_ns(phase, points)) return;
  auto const seen =
      std::clamp(longest / static_cast<double>(points), assumed_ns_ / kMostTimes, assumed_ns_ * kMostTimes);
  std::lock_guard const lock(mutex_);
  auto found = std::ranges::find(known_, phase, &Known::phase);
  if (found == known_.end()) {
    known_.push_back({std::string(phase), std::clamp(seen, assumed_ns_, kUnseenTimes * assumed_ns_), seen});
    return;
  }
  auto const last = std::exchange(found->last, seen);
  auto const sure = source == ClockSource::device ? seen : std::min(seen, last);
  found->ns_a_point = std::max(sure, found->ns_a_point + kTrust * (sure - found->ns_a_point));
}

Result<void> Queue::submit(VkSubmitInfo2 const& info) {
  std::lock_guard const lock(mutex_);
  used_ = true;
  return check(device_.fn->vkQueueSubmit2(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit2");
}

std::unique_lock<std::mutex> Queue::hold() { return std::unique_lock(mutex_); }

bool Queue::used() const {
  std::lock_guard const lock(mutex_);
  return used_;
}

Result<std::unique_ptr<Device>> Device::create(Instance const& instance, PhysicalDevice const& physical,
                                               DeviceOptions const& options) {
  if (auto reason = unusable_reason(physical.traits)) {
    return fail(ErrorCode::no_device, fmt::format("{} cannot be used: {}", physical.traits.name, *reason));
  }
  auto device = std::unique_ptr<Device>(new Device);
  auto const* const transfer = options.single_queue ? nullptr : transfer_family(physical.traits);
  auto const* const low_priority_by = options.single_queue ? nullptr : priority_extension(physical.extensions);
  auto made = create_handle(physical, transfer, low_priority_by);
  // A family may offer other priorities alone, and a system forbid them all.
  if (!made && low_priority_by != nullptr) made = create_handle(physical, transfer, nullptr);
  GARUDA_TRY_ASSIGN(VkDevice const handle, std::move(made));
  volkLoadDeviceTable(&device->fn_, handle);
  device->handle_ = Unique<VkDevice>({handle, &device->fn_}, handle);
  device->physical_ = physical.handle;
  device->traits_ = physical.traits;
  device->debug_ = instance.debug();
  device->open_queues(transfer);
  device->memory_ =
      std::make_unique<MemoryPool>(device->owner(), physical.handle, device->traits_, options.memory_limit_bytes);
  device->pace_ = std::make_unique<Pace>(device->traits_);
  device->pinned_ = PinnedRegistry::create(*device);
  return device;
}

void Device::open_queues(QueueFamily const* transfer) {
  auto const open = [this](std::uint32_t family, std::uint32_t i) {
    VkQueue queue = VK_NULL_HANDLE;
    fn_.vkGetDeviceQueue(handle(), family, i, &queue);
    return std::make_unique<Queue>(owner(), queue, family);
  };
  std::uint32_t const main = main_family(traits_)->index;
  graphics_queue_ = open(main, 0);
  buffer_families_.push_back(main);
  if (transfer != nullptr) {
    for (std::uint32_t i = 0; i < std::min(transfer->count, kMostTransferQueues); ++i)
      transfer_queues_.push_back(open(transfer->index, i));
    buffer_families_.push_back(transfer->index);
  }
}

Device::~Device() {
  // A device that only compiled has nothing to wait for, and RADV's null device cannot even do that.
  bool used = graphics_queue_ && graphics_queue_->used();
  for (auto const& queue : transfer_queues_) used = used || queue->used();
  // On a lost device this fails, and then there is nothing left to wait for either.
  if (used) static_cast<void>(wait_idle());
  if (pinned_) pinned_->close();
}

void Device::keep_timeline(TimelineSemaphore timeline) noexcept try {
  std::lock_guard const lock(timelines_mutex_);
  timelines_.push_back(std::move(timeline));
} catch (std::bad_alloc const&) {
  // Destroyed, which any other driver's threads leave in peace.
}

std::optional<TimelineSemaphore> Device::take_timeline() {
  std::lock_guard const lock(timelines_mutex_);
  if (timelines_.empty()) return std::nullopt;
  auto timeline = std::move(timelines_.back());
  timelines_.pop_back();
  return timeline;
}

Result<void> Device::wait_idle() {
  // Vulkan takes the wait for a use of every queue, during which no thread may submit.
  std::array<std::unique_lock<std::mutex>, kMostTransferQueues> held;
  auto const main = graphics_queue_->hold();
  for (std::size_t i = 0; i < transfer_queues_.size(); ++i) held[i] = transfer_queues_[i]->hold();
  return check(fn_.vkDeviceWaitIdle(handle()), "vkDeviceWaitIdle");
}

void Device::set_object_name(std::uint64_t handle, VkObjectType type, char const* name) const {
  if (debug_.set_name == nullptr) return;
  VkDebugUtilsObjectNameInfoEXT const info{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           .objectType = type,
                                           .objectHandle = handle,
                                           .pObjectName = name};
  // A name is for the reader of a capture: going without it is no failure.
  static_cast<void>(debug_.set_name(this->handle(), &info));
}

}  // namespace garuda::vk
