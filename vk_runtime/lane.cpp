#include "vk_runtime/lane.hpp"

namespace garuda::vk {

Lane::Lane(Device& device, Queue& queue, LaneOptions const& options, PhaseTimer timer)
    : device_(device),
      queue_(queue),
      reads_in_place_(options.reads_in_place),
      arena_(device, options.block_bytes),
      timeline_(device, queue, options.name),
      timer_(std::move(timer)),
      descriptors_(device) {}

Result<std::unique_ptr<Lane>> Lane::create(Device& device, LaneOptions const& options) {
  Queue& queue = device.graphics_queue();
  GARUDA_TRY_ASSIGN(PhaseTimer timer, PhaseTimer::create(device, queue));
  auto lane = std::unique_ptr<Lane>(new Lane(device, queue, options, std::move(timer)));
  GARUDA_TRY_ASSIGN(lane->transfer_, Transfer::create(device, queue, options.transfer));
  GARUDA_TRY_ASSIGN(lane->command_pool_, make_command_pool(device, queue.family()));
  return lane;
}

Lane::~Lane() {
  // Fails on a lost device only, which uses nothing any more.
  static_cast<void>(drain());
}

Result<VkCommandBuffer> Lane::next_command_buffer() {
  if (next_commands_ < commands_.size()) return commands_[next_commands_];
  GARUDA_TRY_ASSIGN(VkCommandBuffer const commands, allocate_commands(device_, command_pool_.get()));
  commands_.push_back(commands);
  return commands;
}

Result<CommandRecorder> Lane::begin() {
  GARUDA_TRY_ASSIGN(VkCommandBuffer const commands, next_command_buffer());
  timer_.discard();
  if (recording_) GARUDA_TRY(check(device_.fn().vkResetCommandBuffer(commands, 0), "vkResetCommandBuffer"));
  VkCommandBufferBeginInfo const info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  GARUDA_TRY(check(device_.fn().vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer"));
  recording_ = true;
  return CommandRecorder(device_, commands, descriptors_, timer_);
}

Result<Ticket> Lane::submit(CommandRecorder recorder, std::span<Ticket const> waits) {
  GARUDA_EXPECTS(recording_ && recorder.handle() == commands_[next_commands_]);
  VkCommandBuffer const commands = recorder.handle();
  GARUDA_TRY(check(device_.fn().vkEndCommandBuffer(commands), "vkEndCommandBuffer"));
  GARUDA_TRY_ASSIGN(Ticket const ticket, timeline_.submit({&commands, 1}, waits));
  recording_ = false;
  ++next_commands_;
  timer_.submitted(ticket);
  return ticket;
}

Result<void> Lane::wait(Ticket ticket, WaitOptions const& options) {
  GARUDA_TRY(timeline_.wait(ticket, options));
  timer_.completed(ticket);
  return {};
}

Result<void> Lane::submit_and_wait(CommandRecorder recorder, std::span<Ticket const> waits,
                                   WaitOptions const& options) {
  GARUDA_TRY_ASSIGN(Ticket const ticket, submit(std::move(recorder), waits));
  return wait(ticket, options);
}

Result<void> Lane::drain() {
  // A lane whose creation failed has no transfer.
  if (transfer_) GARUDA_TRY(transfer_->drain());
  return wait(timeline_.last());
}

Result<void> Lane::recycle() {
  GARUDA_TRY(drain());
  timer_.discard();
  GARUDA_TRY(timer_.collect());
  GARUDA_TRY(check(device_.fn().vkResetCommandPool(device_.handle(), command_pool_.get(), 0), "vkResetCommandPool"));
  recording_ = false;
  next_commands_ = 0;
  return descriptors_.reset();
}

Result<void> Lane::reset() {
  GARUDA_TRY(recycle());
  arena_.reset();
  return {};
}

}  // namespace garuda::vk
