#include "operators/compute/primitives/compute_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/stopwatch.hpp"
#include "shaders/embedded.hpp"
#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

// Every access that compute passes, their fills, copies and indirect dispatches make.
constexpr vk::ResourceUse kWorked{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                  VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                                      VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                  VK_IMAGE_LAYOUT_UNDEFINED};
constexpr vk::ResourceUse kWorkAhead{kWorked.stages | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
                                     kWorked.access | VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, VK_IMAGE_LAYOUT_UNDEFINED};

}  // namespace

vk::ComputePipelineSpec compute_pipeline(PassShape const& shape, ComputeTuning const& tuning) {
  auto const group = shape.group_size != 0 ? shape.group_size : tuning.group_size;
  GARUDA_EXPECTS(group % tuning.subgroup_size == 0);
  vk::ComputePipelineSpec spec;
  spec.compute = shaders::get(shape.entry);
  spec.constants = {{shaders::kSpecLocalSize, group},
                    {shaders::kSpecGroup, group},
                    {shaders::kSpecSubgroup, tuning.subgroup_size},
                    {shaders::kSpecItems, shape.items}};
  spec.constants.insert(spec.constants.end(), shape.constants.begin(), shape.constants.end());
  spec.push_bytes = shape.push_bytes;
  spec.required_subgroup_size = tuning.require_subgroup_size ? tuning.subgroup_size : 0;
  spec.full_subgroups = tuning.full_subgroups;
  return spec;
}

Result<vk::Buffer> ComputeContext::device_buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use) {
  if (bytes > bytes_left()) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("no room in a lane's share of device memory for {} of {} bytes: {} bytes left", name, bytes,
                            bytes_left()));
  }
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16);
  spec.use = use;
  spec.extra_usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
  spec.name = name;
  return lane().arena().buffer(spec);
}

Result<void> ComputeContext::order_all(char const* phase, std::uint64_t items) {
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase, items / vulkan::kItemsPerPoint));
  recorder->barrier(kWorked, kWorkAhead);
  return {};
}

Result<void> ComputeContext::fill(char const* phase, vk::Buffer const& buffer, std::uint32_t word, bool independent) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase));
  auto view = buffer.view();
  view.bytes = view.bytes / 4 * 4;
  recorder->fill(view, word);
  return {};
}

Result<void> ComputeContext::update(char const* phase, vk::Buffer const& buffer, std::span<std::byte const> bytes,
                                    bool independent) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase));
  recorder->update(buffer.view(0, bytes.size()), bytes);
  return {};
}

Result<vk::Pipeline const*> ComputeContext::compile(PassShape const& shape) {
  auto const compiled = pipelines_.size();
  Stopwatch const compiling;
  GARUDA_TRY_ASSIGN(auto const* pipeline, pipelines_.compile(compute_pipeline(shape, tuning_)));
  if (pipelines_.size() != compiled) submissions().count_time("pipelines", compiling.elapsed_ns());
  return pipeline;
}

template <class Command>
Result<void> ComputeContext::record_pass(char const* phase, std::string_view label, vk::Pipeline const& pipeline,
                                         std::span<std::byte const> push, std::uint64_t items, bool independent,
                                         Command const& command) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase, items / vulkan::kItemsPerPoint));
  GARUDA_TRY(recorder->bind(pipeline, {}, push));
  recorder->begin_label(std::string(label).c_str());
  command(*recorder);
  recorder->end_label();
  return {};
}

Result<void> ComputeContext::dispatch_bytes(char const* phase, PassShape const& shape, std::span<std::byte const> push,
                                            std::uint64_t groups, std::uint64_t items, bool independent) {
  if (groups == 0) return {};
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  GARUDA_EXPECTS(!pipeline->strides());
  auto const parts = parts_of(phase, items, groups);
  for (std::uint32_t part = 0; part < parts; ++part)
    GARUDA_TRY(record_pass(phase, shape.entry, *pipeline, push, items / parts, independent || part > 0,
                           [&](vk::CommandRecorder& recorder) { recorder.dispatch_part(groups, part, parts); }));
  return {};
}

Result<void> ComputeContext::dispatch_striding_bytes(char const* phase, PassShape const& shape,
                                                     std::span<std::byte const> push, std::uint64_t groups,
                                                     std::uint64_t items, bool independent) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  return record_pass(phase, shape.entry, *pipeline, push, items, independent,
                     [&](vk::CommandRecorder& recorder) { recorder.dispatch_part(groups, 0, 1); });
}

Result<void> ComputeContext::dispatch_indirect_bytes(char const* phase, PassShape const& shape,
                                                     std::span<std::byte const> push, vk::Buffer const& counts,
                                                     std::uint64_t offset, std::uint64_t items) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  return record_pass(phase, shape.entry, *pipeline, push, items, false,
                     [&](vk::CommandRecorder& recorder) { recorder.dispatch_indirect(counts, offset); });
}

std::uint32_t ComputeContext::parts_of(char const* phase, std::uint64_t items, std::uint64_t most) {
  return submissions().parts_of(phase, items / vulkan::kItemsPerPoint, most);
}

Result<std::unique_ptr<ComputeLane>> ComputeLane::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                       Control const& control, contract::StatsSink* stats,
                                                       std::uint64_t memory_limit_bytes) {
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  vk::LaneOptions options;
  options.name = "compute lane";
  GARUDA_TRY_ASSIGN(auto lane, vk::Lane::create(device, options));
  auto const available = device.memory().available_bytes();
  auto const budget = memory_limit_bytes == 0 ? available : std::min(memory_limit_bytes, available);
  return std::unique_ptr<ComputeLane>(new ComputeLane(std::move(lane), pipelines, tuning, control, stats, budget));
}

ComputeLane::ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
                         Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes)
    : tuning_(tuning),
      lane_(std::move(lane)),
      submissions_(*lane_, &control, stats),
      context_(*lane_, pipelines, submissions_, tuning_, memory_budget_bytes) {}

ComputeLane::~ComputeLane() {
  // A failure to drain is a lost device: nothing runs any more.
  (void)lane_->drain();
}

}  // namespace garuda::compute
