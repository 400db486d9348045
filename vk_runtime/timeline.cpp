#include "vk_runtime/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
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

using Clock = std::chrono::steady_clock;

std::uint64_t mask_of(std::uint32_t valid_bits) {
  return valid_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << valid_bits) - 1;
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
  GARUDA_TRY_ASSIGN(timeline_.semaphore,
                    make_object(device_->owner(), &VolkDeviceTable::vkCreateSemaphore, info, "vkCreateSemaphore"));
  device_->set_name(timeline_.semaphore.get(), VK_OBJECT_TYPE_SEMAPHORE, name_);
  return {};
}

Result<Unique<VkCommandPool>> make_command_pool(Device const& device, std::uint32_t family) {
  VkCommandPoolCreateInfo const info{
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      .queueFamilyIndex = family};
  return make_object(device.owner(), &VolkDeviceTable::vkCreateCommandPool, info, "vkCreateCommandPool");
}

Result<VkCommandBuffer> allocate_commands(Device const& device, VkCommandPool pool) {
  VkCommandBufferAllocateInfo const info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = pool,
                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                         .commandBufferCount = 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  GARUDA_TRY(
      check(device.fn().vkAllocateCommandBuffers(device.handle(), &info, &commands), "vkAllocateCommandBuffers"));
  return commands;
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

Result<PhaseTimer> PhaseTimer::create(Device& device, Queue const& queue, std::uint32_t capacity) {
  GARUDA_EXPECTS(capacity >= 1);
  auto const& families = device.traits().queue_families;
  auto const family = std::ranges::find(families, queue.family(), &QueueFamily::index);
  GARUDA_EXPECTS(family != families.end());
  bool const usable = device.traits().timestamps_reliable && family->timestamp_valid_bits > 0;
  PhaseTimer timer(device, usable ? ClockSource::device : ClockSource::host);
  timer.capacity_ = capacity;
  timer.valid_mask_ = mask_of(family->timestamp_valid_bits);
  if (!usable) return timer;
  VkQueryPoolCreateInfo const info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * capacity};
  GARUDA_TRY_ASSIGN(timer.pool_,
                    make_object(device.owner(), &VolkDeviceTable::vkCreateQueryPool, info, "vkCreateQueryPool"));
  return timer;
}

void PhaseTimer::begin(VkCommandBuffer commands, std::string_view name) {
  GARUDA_EXPECTS(!open_);
  open_ = true;
  timed_ = phases_.size() < capacity_;
  if (!timed_) {
    ++dropped_;
    return;
  }
  auto const query = static_cast<std::uint32_t>(2 * phases_.size());
  phases_.push_back({std::string(name)});
  if (source_ == ClockSource::host) return;
  device_->fn().vkCmdResetQueryPool(commands, pool_.get(), query, 2);
  device_->fn().vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_.get(), query);
}

void PhaseTimer::end(VkCommandBuffer commands) {
  GARUDA_EXPECTS(open_);
  open_ = false;
  if (!timed_ || source_ == ClockSource::host) return;
  auto const query = static_cast<std::uint32_t>(2 * phases_.size() - 1);
  device_->fn().vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_.get(), query);
}

void PhaseTimer::compiles() {
  if (open_ && timed_) phases_.back().compiles = true;
}

void PhaseTimer::submitted(Ticket ticket) {
  GARUDA_EXPECTS(!open_);
  if (phases_.size() == submitted_phases_) return;
  submissions_.push_back({.ticket = ticket,
                          .first_phase = submitted_phases_,
                          .end_phase = phases_.size(),
                          .submitted = Clock::now(),
                          .completed = {},
                          .done = false});
  submitted_phases_ = phases_.size();
  auto& submission = submissions_.back();
  auto& pace = device_->pace();
  submission.own_compiles = std::ranges::any_of(phases_of(submission), &Phase::compiles);
  submission.compiles = submission.own_compiles || (source_ == ClockSource::host && pace.is_compiling());
  if (submission.own_compiles) pace.compiling_began();
  submission.compilations = pace.compilations();
}

void PhaseTimer::discard() {
  phases_.resize(submitted_phases_);
  open_ = false;
}

void PhaseTimer::completed(Ticket ticket) {
  auto const now = Clock::now();
  for (Submission& submission : submissions_) {
    if (submission.done || submission.ticket.semaphore != ticket.semaphore) continue;
    if (submission.ticket.value > ticket.value) continue;
    submission.done = true;
    submission.completed = now;
    auto& pace = device_->pace();
    if (submission.own_compiles) pace.compiling_ended();
    if (source_ == ClockSource::host && pace.compilations() != submission.compilations) submission.compiles = true;
  }
}

Result<void> PhaseTimer::collect() {
  GARUDA_EXPECTS(std::ranges::all_of(submissions_, &Submission::done));
  GARUDA_EXPECTS(!open_ && submitted_phases_ == phases_.size());
  if (source_ == ClockSource::device) {
    GARUDA_TRY(collect_device());
  } else {
    collect_host();
  }
  phases_.clear();
  submissions_.clear();
  submitted_phases_ = 0;
  return {};
}

Result<void> PhaseTimer::collect_device() {
  if (phases_.empty()) return {};
  std::vector<std::uint64_t> ticks(2 * phases_.size());
  GARUDA_TRY(check(
      device_->fn().vkGetQueryPoolResults(device_->handle(), pool_.get(), 0, static_cast<std::uint32_t>(ticks.size()),
                                          ticks.size() * sizeof(std::uint64_t), ticks.data(), sizeof(std::uint64_t),
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
      "vkGetQueryPoolResults"));
  double const period = device_->traits().limits.timestamp_period_ns;
  auto const elapsed_ns = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::int64_t>(static_cast<double>((ticks[end] - ticks[begin]) & valid_mask_) * period);
  };
  for (std::size_t i = 0; i < phases_.size(); ++i)
    add(phases_[i].name, elapsed_ns(2 * i, 2 * i + 1), phases_[i].compiles);
  for (auto const& submission : submissions_)
    submission_times_.push_back({names_of(submission),
                                 elapsed_ns(2 * submission.first_phase, 2 * submission.end_phase - 1),
                                 submission.compiles});
  return {};
}

void PhaseTimer::collect_host() {
  for (Submission const& submission : submissions_) {
    auto name = names_of(submission);
    auto const started = std::max(submission.submitted, last_completed_.value_or(submission.submitted));
    last_completed_ = submission.completed;
    auto const ns = std::chrono::nanoseconds(submission.completed - started).count();
    add(name, ns, submission.compiles);
    submission_times_.push_back({std::move(name), ns, submission.compiles});
  }
}

std::span<PhaseTimer::Phase const> PhaseTimer::phases_of(Submission const& submission) const {
  return std::span(phases_).subspan(submission.first_phase, submission.end_phase - submission.first_phase);
}

std::string PhaseTimer::names_of(Submission const& submission) const {
  std::string names;
  for (auto const& phase : phases_of(submission)) names += (names.empty() ? "" : "+") + phase.name;
  return names;
}

void PhaseTimer::add(std::string const& name, std::int64_t ns, bool compiles) {
  auto const found = std::ranges::find(times_, name, &PhaseTime::name);
  if (found != times_.end()) {
    found->ns += ns;
    found->compiles = found->compiles || compiles;
  } else {
    times_.push_back({name, ns, compiles});
  }
}

}  // namespace garuda::vk
