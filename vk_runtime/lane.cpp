#include "vk_runtime/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace garuda::vk {
namespace {

constexpr VkImageSubresourceRange color_range(std::uint32_t first_layer, std::uint32_t layers) {
  return {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
          .baseMipLevel = 0,
          .levelCount = 1,
          .baseArrayLayer = first_layer,
          .layerCount = layers};
}

VkBufferImageCopy texel_region(BufferView buffer, std::uint32_t layer, VkRect2D area) {
  return {.bufferOffset = buffer.offset,
          .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                               .mipLevel = 0,
                               .baseArrayLayer = layer,
                               .layerCount = 1},
          .imageOffset = {area.offset.x, area.offset.y, 0},
          .imageExtent = {area.extent.width, area.extent.height, 1}};
}

void pipeline_barrier(Device const& device, VkCommandBuffer commands, VkDependencyInfo const& dependency) {
  device.fn().vkCmdPipelineBarrier2(commands, &dependency);
}

}  // namespace

// ---- descriptors ----

Result<void> DescriptorArena::add_pool() {
  constexpr std::uint32_t kSets = 256;
  // Garuda's sets hold up to about eight buffers and two images; a set that does not fit goes to the next pool.
  constexpr std::array<VkDescriptorPoolSize, 3> kSizes{{{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8 * kSets},
                                                        {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 2 * kSets},
                                                        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2 * kSets}}};
  VkDescriptorPoolCreateInfo const info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                        .maxSets = kSets,
                                        .poolSizeCount = kSizes.size(),
                                        .pPoolSizes = kSizes.data()};
  GARUDA_TRY_ASSIGN(auto pool, make_object(device_->owner(), &VolkDeviceTable::vkCreateDescriptorPool, info,
                                           "vkCreateDescriptorPool"));
  pools_.push_back(std::move(pool));
  return {};
}

Result<VkDescriptorSet> DescriptorArena::allocate(VkDescriptorSetLayout layout) {
  while (true) {
    bool const fresh = current_ == pools_.size();
    if (fresh) GARUDA_TRY(add_pool());
    VkDescriptorSetAllocateInfo const info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = pools_[current_].get(),
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    VkResult const result = device_->fn().vkAllocateDescriptorSets(device_->handle(), &info, &set);
    if (result == VK_SUCCESS) return set;
    bool const full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (!full || fresh) return propagate(check(result, "vkAllocateDescriptorSets"));
    ++current_;
  }
}

Result<void> DescriptorArena::reset() {
  for (auto const& pool : pools_) {
    GARUDA_TRY(check(device_->fn().vkResetDescriptorPool(device_->handle(), pool.get(), 0), "vkResetDescriptorPool"));
  }
  current_ = 0;
  return {};
}

// ---- recording ----

VkClearColorValue clear_uint(std::uint32_t r, std::uint32_t g, std::uint32_t b, std::uint32_t a) noexcept {
  return {.uint32 = {r, g, b, a}};
}

VkClearColorValue clear_float(float r, float g, float b, float a) noexcept { return {.float32 = {r, g, b, a}}; }

CommandRecorder::CommandRecorder(Device& device, VkCommandBuffer commands, DescriptorArena& descriptors,
                                 PhaseTimer& timer) noexcept
    : device_(&device), commands_(commands), descriptors_(&descriptors), timer_(&timer) {}

void CommandRecorder::begin_phase(char const* name) {
  begin_label(name);
  timer_->begin(commands_, name);
}

void CommandRecorder::end_phase() {
  timer_->end(commands_);
  end_label();
}

void CommandRecorder::begin_label(char const* name) {
  if (device_->debug().begin_label == nullptr) return;
  VkDebugUtilsLabelEXT const label{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = name};
  device_->debug().begin_label(commands_, &label);
}

void CommandRecorder::end_label() {
  if (device_->debug().end_label != nullptr) device_->debug().end_label(commands_);
}

void CommandRecorder::barrier(Buffer const& buffer, ResourceUse producer, ResourceUse consumer) {
  VkBufferMemoryBarrier2 const barrier{.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                       .srcStageMask = producer.stages,
                                       .srcAccessMask = producer.access,
                                       .dstStageMask = consumer.stages,
                                       .dstAccessMask = consumer.access,
                                       .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .buffer = buffer.handle(),
                                       .offset = 0,
                                       .size = VK_WHOLE_SIZE};
  pipeline_barrier(
      *device_, commands_,
      {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .bufferMemoryBarrierCount = 1, .pBufferMemoryBarriers = &barrier});
}

void CommandRecorder::barrier(Image const& image, ResourceUse producer, ResourceUse consumer) {
  barrier(image, 0, image.layers(), producer, consumer);
}

void CommandRecorder::barrier(Image const& image, std::uint32_t first_layer, std::uint32_t layer_count,
                              ResourceUse producer, ResourceUse consumer) {
  GARUDA_EXPECTS(consumer.layout != VK_IMAGE_LAYOUT_UNDEFINED);
  GARUDA_EXPECTS(first_layer <= image.layers() && layer_count <= image.layers() - first_layer);
  VkImageMemoryBarrier2 const barrier{.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                      .srcStageMask = producer.stages,
                                      .srcAccessMask = producer.access,
                                      .dstStageMask = consumer.stages,
                                      .dstAccessMask = consumer.access,
                                      .oldLayout = producer.layout,
                                      .newLayout = consumer.layout,
                                      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .image = image.handle(),
                                      .subresourceRange = color_range(first_layer, layer_count)};
  pipeline_barrier(
      *device_, commands_,
      {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1, .pImageMemoryBarriers = &barrier});
}

void CommandRecorder::barrier(ResourceUse producer, ResourceUse consumer) {
  VkMemoryBarrier2 const barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                 .srcStageMask = producer.stages,
                                 .srcAccessMask = producer.access,
                                 .dstStageMask = consumer.stages,
                                 .dstAccessMask = consumer.access};
  pipeline_barrier(*device_, commands_,
                   {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier});
}

void CommandRecorder::fill(BufferView view, std::uint32_t word) {
  GARUDA_EXPECTS(view.offset % 4 == 0 && view.bytes % 4 == 0 && view.bytes > 0);
  device_->fn().vkCmdFillBuffer(commands_, view.buffer, view.offset, view.bytes, word);
}

void CommandRecorder::update(BufferView view, std::span<std::byte const> bytes) {
  GARUDA_EXPECTS(view.offset % 4 == 0 && bytes.size() % 4 == 0 && !bytes.empty() && bytes.size() <= 65'536);
  GARUDA_EXPECTS(bytes.size() <= view.bytes);
  device_->fn().vkCmdUpdateBuffer(commands_, view.buffer, view.offset, bytes.size(), bytes.data());
}

void CommandRecorder::copy(BufferView source, BufferView destination) {
  GARUDA_EXPECTS(source.bytes == destination.bytes && source.bytes > 0);
  VkBufferCopy const region{source.offset, destination.offset, source.bytes};
  device_->fn().vkCmdCopyBuffer(commands_, source.buffer, destination.buffer, 1, &region);
}

void CommandRecorder::copy(Image const& source, std::uint32_t layer, VkRect2D area, BufferView destination) {
  VkBufferImageCopy const region = texel_region(destination, layer, area);
  device_->fn().vkCmdCopyImageToBuffer(commands_, source.handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                       destination.buffer, 1, &region);
}

void CommandRecorder::copy(BufferView source, Image const& destination, std::uint32_t layer, VkRect2D area) {
  VkBufferImageCopy const region = texel_region(source, layer, area);
  device_->fn().vkCmdCopyBufferToImage(commands_, source.buffer, destination.handle(),
                                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

void CommandRecorder::clear(Image const& image, VkClearColorValue value) {
  VkImageSubresourceRange const range = color_range(0, image.layers());
  device_->fn().vkCmdClearColorImage(commands_, image.handle(), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1,
                                     &range);
}

Result<void> CommandRecorder::write_descriptors(Pipeline const& pipeline, std::span<BoundResource const> resources,
                                                VkDescriptorSet set) const {
  GARUDA_EXPECTS(resources.size() == pipeline.bindings().size());
  std::uint64_t const largest = device_->traits().limits.max_storage_buffer_range;
  std::vector<VkDescriptorBufferInfo> buffers(resources.size());
  std::vector<VkDescriptorImageInfo> images(resources.size());
  std::vector<VkWriteDescriptorSet> writes;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    BindingSpec const& binding = pipeline.bindings()[i];
    auto const resource = std::ranges::find(resources, binding.binding, &BoundResource::binding);
    GARUDA_EXPECTS(resource != resources.end());
    VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                               .dstSet = set,
                               .dstBinding = binding.binding,
                               .descriptorCount = 1};
    if (binding.kind == BindingKind::storage_buffer) {
      GARUDA_EXPECTS(resource->buffer.buffer != VK_NULL_HANDLE && resource->buffer.bytes > 0);
      if (resource->buffer.bytes > largest) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("binding {} of pipeline {} is larger than a storage buffer may be, {} bytes: {}",
                                binding.binding, pipeline.name(), largest, resource->buffer.bytes));
      }
      buffers[i] = {resource->buffer.buffer, resource->buffer.offset, resource->buffer.bytes};
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = &buffers[i];
    } else {
      GARUDA_EXPECTS(resource->image != VK_NULL_HANDLE);
      bool const sampled = binding.kind == BindingKind::sampled_image;
      images[i] = {VK_NULL_HANDLE, resource->image,
                   sampled ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL};
      write.descriptorType = sampled ? VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
      write.pImageInfo = &images[i];
    }
    writes.push_back(write);
  }
  device_->fn().vkUpdateDescriptorSets(device_->handle(), static_cast<std::uint32_t>(writes.size()), writes.data(), 0,
                                       nullptr);
  return {};
}

Result<void> CommandRecorder::bind(Pipeline const& pipeline, std::span<BoundResource const> resources,
                                   std::span<std::byte const> push) {
  VolkDeviceTable const& fn = device_->fn();
  if (pipeline.is_new() && device_->traits().compiles_when_run()) timer_->compiles();
  fn.vkCmdBindPipeline(commands_, pipeline.bind_point(), pipeline.handle());
  if (!pipeline.bindings().empty()) {
    GARUDA_TRY_ASSIGN(VkDescriptorSet const set, descriptors_->allocate(pipeline.set_layout()));
    GARUDA_TRY(write_descriptors(pipeline, resources, set));
    fn.vkCmdBindDescriptorSets(commands_, pipeline.bind_point(), pipeline.layout(), 0, 1, &set, 0, nullptr);
  }
  GARUDA_EXPECTS(push.size() == pipeline.push_bytes());
  if (!push.empty()) this->push(pipeline, push);
  return {};
}

void CommandRecorder::push(Pipeline const& pipeline, std::span<std::byte const> push) {
  GARUDA_EXPECTS(push.size() == pipeline.push_bytes() && !push.empty());
  device_->fn().vkCmdPushConstants(commands_, pipeline.layout(), pipeline.stages(), 0,
                                   static_cast<std::uint32_t>(push.size()), push.data());
}

void CommandRecorder::begin_rendering(VkRect2D area, std::span<ColorAttachment const> attachments) {
  std::vector<VkRenderingAttachmentInfo> infos;
  for (ColorAttachment const& attachment : attachments) {
    infos.push_back({.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                     .imageView = attachment.view,
                     .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                     .loadOp = attachment.clear ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD,
                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                     .clearValue = {.color = attachment.clear_value}});
  }
  VkRenderingInfo const info{.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                             .renderArea = area,
                             .layerCount = 1,
                             .colorAttachmentCount = static_cast<std::uint32_t>(infos.size()),
                             .pColorAttachments = infos.data()};
  VkViewport const viewport{.x = static_cast<float>(area.offset.x),
                            .y = static_cast<float>(area.offset.y),
                            .width = static_cast<float>(area.extent.width),
                            .height = static_cast<float>(area.extent.height),
                            .minDepth = 0.0F,
                            .maxDepth = 1.0F};
  VolkDeviceTable const& fn = device_->fn();
  fn.vkCmdBeginRendering(commands_, &info);
  fn.vkCmdSetViewport(commands_, 0, 1, &viewport);
  fn.vkCmdSetScissor(commands_, 0, 1, &area);
}

void CommandRecorder::end_rendering() { device_->fn().vkCmdEndRendering(commands_); }

void CommandRecorder::draw(std::uint32_t vertices, std::uint32_t instances, std::uint32_t first_vertex,
                           std::uint32_t first_instance) {
  device_->fn().vkCmdDraw(commands_, vertices, instances, first_vertex, first_instance);
}

void CommandRecorder::dispatch_part(std::uint64_t groups, std::uint32_t part, std::uint32_t parts) {
  GARUDA_EXPECTS(part < parts);
  if (groups == 0) return;
  auto const& limit = device_->traits().limits.max_workgroup_count;
  GroupCounts const counts = split_groups(groups, limit[0], limit[1], parts);
  if (parts == 1) return device_->fn().vkCmdDispatch(commands_, counts.x, counts.y, 1);
  // Whole rows where there are several, so that gl_NumWorkGroups.x is that of all.
  bool const has_rows = counts.y > 1;
  std::uint64_t const all = has_rows ? counts.y : counts.x;
  // Rounded up: where there are more parts than that, the first one is not among the empty ones.
  auto const begin = static_cast<std::uint32_t>((all * part + parts - 1) / parts);
  auto const count = static_cast<std::uint32_t>((all * (part + 1) + parts - 1) / parts) - begin;
  if (count == 0) return;
  if (has_rows)
    device_->fn().vkCmdDispatchBase(commands_, 0, begin, 0, counts.x, count, 1);
  else
    device_->fn().vkCmdDispatchBase(commands_, begin, 0, 0, count, 1, 1);
}

void CommandRecorder::dispatch_indirect(Buffer const& buffer, std::uint64_t offset) {
  device_->fn().vkCmdDispatchIndirect(commands_, buffer.handle(), offset);
}

GroupCounts split_groups(std::uint64_t groups, std::uint32_t max_x, std::uint32_t max_y, std::uint32_t parts) {
  if (groups == 0) return {};
  std::uint64_t y = (groups + max_x - 1) / max_x;
  GARUDA_EXPECTS(y <= max_y);
  if (y > 1) y = std::clamp<std::uint64_t>(parts, y, max_y);
  std::uint64_t const x = (groups + y - 1) / y;
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>((groups + x - 1) / x)};
}

// ---- lanes ----

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
