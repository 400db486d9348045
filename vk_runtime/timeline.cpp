#include "vk_runtime/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace garuda::vk {
namespace {

constexpr std::chrono::nanoseconds kPollInterval = std::chrono::milliseconds(10);

VkSemaphoreSubmitInfo submit_info(Ticket ticket) {
  return {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
          .semaphore = ticket.semaphore,
          .value = ticket.value,
          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

}  // namespace

Timeline::~Timeline() {
  if (timeline_.semaphore) device_->keep_timeline(std::move(timeline_));
}

Result<void> Timeline::take_semaphore() {
  if (auto kept = device_->take_timeline()) {
    timeline_ = std::move(*kept);
    device_->set_name(timeline_.semaphore.get(), VK_OBJECT_TYPE_SEMAPHORE, name_);
    return {};
  }
  VkSemaphoreTypeCreateInfo const type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = 0};
  VkSemaphoreCreateInfo const info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  GARUDA_TRY(
      check(device_->fn().vkCreateSemaphore(device_->handle(), &info, nullptr, &semaphore), "vkCreateSemaphore"));
  timeline_.semaphore = Unique<VkSemaphore>(device_->owner(), semaphore);
  device_->set_name(semaphore, VK_OBJECT_TYPE_SEMAPHORE, name_);
  return {};
}

Result<Ticket> Timeline::submit(std::span<VkCommandBuffer const> commands, std::span<Ticket const> waits) {
  if (!timeline_.semaphore) GARUDA_TRY(take_semaphore());
  std::vector<VkCommandBufferSubmitInfo> buffers;
  for (VkCommandBuffer buffer : commands) {
    buffers.push_back({.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = buffer});
  }
  std::vector<VkSemaphoreSubmitInfo> wait_infos;
  for (Ticket ticket : waits) {
    if (ticket.semaphore != VK_NULL_HANDLE) wait_infos.push_back(submit_info(ticket));
  }
  Ticket const done{timeline_.semaphore.get(), timeline_.value + 1};
  VkSemaphoreSubmitInfo const signal = submit_info(done);
  VkSubmitInfo2 const info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                           .waitSemaphoreInfoCount = static_cast<std::uint32_t>(wait_infos.size()),
                           .pWaitSemaphoreInfos = wait_infos.data(),
                           .commandBufferInfoCount = static_cast<std::uint32_t>(buffers.size()),
                           .pCommandBufferInfos = buffers.data(),
                           .signalSemaphoreInfoCount = 1,
                           .pSignalSemaphoreInfos = &signal};
  GARUDA_TRY(queue_->submit(info));
  timeline_.value = done.value;
  return done;
}

Result<void> Timeline::wait(Ticket ticket, WaitOptions const& options) const {
  if (ticket.semaphore == VK_NULL_HANDLE) return {};
  using Clock = std::chrono::steady_clock;
  auto const started = Clock::now();
  bool const polls = options.cancelled != nullptr || options.timeout.has_value();
  std::uint64_t const interval = polls ? static_cast<std::uint64_t>(kPollInterval.count()) : UINT64_MAX;
  VkSemaphoreWaitInfo const info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &ticket.semaphore,
                                 .pValues = &ticket.value};
  while (true) {
    VkResult const result = device_->fn().vkWaitSemaphores(device_->handle(), &info, interval);
    GARUDA_TRY(check(result, "vkWaitSemaphores"));
    if (result == VK_SUCCESS) return {};
    if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed)) {
      return fail(ErrorCode::cancelled, "cancelled while waiting for the device");
    }
    if (options.timeout && Clock::now() - started >= *options.timeout) {
      auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(*options.timeout);
      return fail(ErrorCode::device_failure,
                  fmt::format("the device did not finish a submission in time, ms: {}", ms.count()));
    }
  }
}

Result<bool> Timeline::reached(Ticket ticket) const {
  if (ticket.semaphore == VK_NULL_HANDLE) return true;
  std::uint64_t value = 0;
  GARUDA_TRY(check(device_->fn().vkGetSemaphoreCounterValue(device_->handle(), ticket.semaphore, &value),
                   "vkGetSemaphoreCounterValue"));
  return value >= ticket.value;
}

}  // namespace garuda::vk
