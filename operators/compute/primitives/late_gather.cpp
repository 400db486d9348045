#include "operators/compute/primitives/late_gather.hpp"

#include <utility>

#include "shaders/compute/join/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kGatherPhase = "gather";
constexpr std::uint32_t kItems = 4;

}  // namespace

PassShape late_gather_shape() {
  return {"compute/join/late_gather.comp", 0, kItems, sizeof(shaders::LateGatherPush), {}};
}

Result<LateGather> LateGather::create(ComputeContext& context, std::vector<DeviceColumn> sources) {
  GARUDA_EXPECTS(!sources.empty());
  LateGather gather;
  GARUDA_TRY_ASSIGN(gather.columns_,
                    context.device_buffer(sources.size() * sizeof(shaders::JoinedColumn), "gathered columns"));
  gather.sources_ = std::move(sources);
  return gather;
}

void LateGather::set_sources(std::vector<DeviceColumn> sources) {
  GARUDA_EXPECTS(sources.size() == sources_.size());
  sources_ = std::move(sources);
}

Result<void> LateGather::take_rows(ComputeContext& context, std::uint64_t capacity) {
  rows_ = {};
  GARUDA_TRY_ASSIGN(rows_, context.device_buffer(capacity * sizeof(std::uint32_t), "joined row numbers"));
  return {};
}

Result<void> LateGather::record(ComputeContext& context, vk::Buffer const& state,
                                std::span<VkDeviceAddress const> targets, std::uint64_t capacity) {
  GARUDA_EXPECTS(targets.size() == sources_.size());
  std::vector<shaders::JoinedColumn> columns;
  for (std::size_t i = 0; i < targets.size(); ++i)
    columns.push_back({sources_[i].address, targets[i], sources_[i].words, 0});
  GARUDA_TRY(context.update(kGatherPhase, columns_, std::as_bytes(std::span(columns))));
  shaders::LateGatherPush push{};
  push.rows = rows_.address();
  push.columns = columns_.address();
  push.state = state.address();
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  auto const tile = std::uint64_t{context.tuning().group_size} * kItems;
  return context.dispatch(kGatherPhase, late_gather_shape(), push, groups_for(capacity, tile),
                          capacity * columns.size());
}

}  // namespace garuda::compute
