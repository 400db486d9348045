#include "operators/graphics/group_by/group_counts.hpp"

#include <array>

#include "operators/graphics/group_by/group_target.hpp"

namespace garuda::graphics {
namespace {

std::array<vk::BoundResource, 2> inputs(DeviceGroups const& groups, SliceColumn const& column) {
  return {vk::BoundResource::of(shaders::kBindIds, groups.ids),
          vk::BoundResource::of(shaders::kBindValidity, column.nulls() ? column.validity : groups.ids)};
}

Result<void> count_in_buffer(GroupContext& context, DeviceGroups const& groups, SliceColumn const& column,
                             vk::Buffer const& counts) {
  GARUDA_TRY_ASSIGN(auto* recorder, context.submissions().record(vulkan::phase::kCount));
  recorder->fill(counts.view(), 0);
  recorder->barrier(counts, vk::use::kTransferWrite, vk::use::kComputeWrite);
  shaders::GroupsPush const push{{}, groups.num_rows, 0, groups.num_groups, 1};
  auto const [ids, validity] = inputs(groups, column);
  std::array const resources{ids, validity, vk::BoundResource::of(shaders::kBindGroupRows, counts)};
  GARUDA_TRY(context.dispatch_rows(vulkan::phase::kCount, "count", GroupPass::count_compute, column.pass_kind(),
                                   resources, vulkan::push_bytes(push), groups.num_rows, groups.num_groups));
  return context.order(vulkan::phase::kCount, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
}

}  // namespace

Result<void> count_values(GroupContext& context, DeviceGroups const& groups, SliceColumn const& column,
                          vk::Buffer const& counts) {
  if (!context.limits().blend) return count_in_buffer(context, groups, column, counts);
  GARUDA_TRY_ASSIGN(auto target, GroupTarget::create(context, groups.num_groups, VK_FORMAT_R32_SFLOAT, 1, 0));
  GARUDA_TRY_ASSIGN(auto const* pipeline, context.pipeline(GroupPass::count, column.pass_kind()));
  auto const resources = inputs(groups, column);
  for (std::uint32_t first = 0; first < groups.num_groups; first += target.groups_at_once()) {
    auto const range = target.range(first, groups.num_groups);
    auto const push = target.push(groups, range);
    GARUDA_TRY(target.draw(context, vulkan::phase::kCount, "count", *pipeline, resources, vulkan::push_bytes(push),
                           groups, vk::clear_float(0)));
    std::array const folded{target.resource(), vk::BoundResource::of(shaders::kBindGroupRows, counts)};
    GARUDA_TRY(context.dispatch(vulkan::phase::kFold, "fold counts", GroupPass::fold_counts, {}, folded,
                                vulkan::push_bytes(push), range.size));
  }
  return context.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
}

Result<std::vector<std::uint64_t>> download_counts(GroupContext& context, DeviceGroups const& groups,
                                                   vk::Buffer const& counts) {
  std::vector<std::uint32_t> read(groups.num_groups);
  GARUDA_TRY(context.download(counts, std::as_writable_bytes(std::span(read))));
  return std::vector<std::uint64_t>(read.begin(), read.end());
}

}  // namespace garuda::graphics
