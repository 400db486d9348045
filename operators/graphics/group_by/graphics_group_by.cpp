#include "operators/graphics/group_by/graphics_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/graphics/group_by/evaluated_rows.hpp"
#include "operators/graphics/group_by/group_context.hpp"
#include "operators/graphics/group_by/group_extremes.hpp"
#include "operators/graphics/group_by/group_sums.hpp"
#include "operators/graphics/group_by/row_grouping.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {
namespace {

/// Records the counts of the column's values in each group into `counts`: groups × u32, for vertices and compute that
/// follow.
Result<void> count_values(GroupContext& context, vulkan::DeviceGroups const& groups, SliceColumn const& column,
                          vk::Buffer const& counts) {
  GARUDA_TRY_ASSIGN(auto target, GroupTarget::create(context, groups, VK_FORMAT_R32_SFLOAT, 1, 0));
  GARUDA_TRY_ASSIGN(auto const* pipeline, context.pipeline(GroupPass::count, column.pass_kind(groups)));
  std::array const resources{
      vk::BoundResource::of(shaders::kBindIds, groups.ids),
      vk::BoundResource::of(shaders::kBindRows, groups.is_listed ? groups.rows : groups.ids),
      vk::BoundResource::of(shaders::kBindValidity, column.nulls() ? column.validity : groups.ids)};
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

/// The graphics path's work on one slice of a group-by.
class GroupBySlice final : public vulkan::SliceWork {
 public:
  /// `compute`: of passes that aggregate where `limits.blend` is false.
  GroupBySlice(vulkan::OwnLane const& own, vk::PipelineStore& pipelines, GroupByLimits const& limits,
               compute::ComputeTuning const& compute, contract::GroupByBackendOptions const& options)
      : options_(options),
        pipelines_(pipelines),
        submissions_(own.lane, options.control, options.stats),
        context_(own.lane, pipelines, submissions_, limits, options.tuning, own.budget_bytes),
        compute_(own.lane, pipelines, submissions_, compute, own.budget_bytes) {}

  /// Has rows evaluated by the backend's expressions, where it has any. Before anything else.
  Result<void> evaluate(contract::GroupSlice const& slice) {
    if (options_.expressions == nullptr) return {};
    auto const& programs = static_cast<RowPrograms const&>(*options_.expressions);
    evaluated_.emplace(compute_, pipelines_, programs, slice);
    return compute_.reserve_read_back();  // which stays when passes give their memory back
  }

  vulkan::PassContext& context() override { return context_; }
  Result<void> start_grouping(contract::GroupSlice const& slice) override;
  Result<void> group(vulkan::DeviceGroups& groups) override { return grouping_->run(context_, groups); }
  Result<void> filter_rows(vulkan::DeviceGroups& groups) override;
  void end_grouping() override {
    grouping_.reset();
    if (evaluated_) evaluated_->release();
  }
  Result<contract::AggregateState> aggregate(vulkan::DeviceGroups& groups,
                                             contract::AggregateInput const& input) override;

 private:
  Result<void> leave_out_all(vulkan::DeviceGroups& groups);
  Result<void> count_rows(vulkan::DeviceGroups& groups);
  Result<contract::AggregateState> blend(vulkan::DeviceGroups const& groups, contract::AggregateInput const& input,
                                         SliceColumn& column);
  Result<void> fill_counts(vulkan::DeviceGroups const& groups, SliceColumn const& column,
                           contract::AggregateState& state);

  contract::GroupByBackendOptions const& options_;
  vk::PipelineStore& pipelines_;
  vulkan::Submissions submissions_;
  GroupContext context_;
  compute::ComputeContext compute_;
  std::optional<EvaluatedRows> evaluated_;
  std::unique_ptr<RowGrouping> grouping_;
};

Result<void> GroupBySlice::start_grouping(contract::GroupSlice const& slice) {
  GARUDA_TRY_ASSIGN(grouping_, RowGrouping::start(context_, slice));
  return {};
}

Result<void> GroupBySlice::filter_rows(vulkan::DeviceGroups& groups) {
  if (!evaluated_ || !evaluated_->has_filter()) return {};
  auto const rows = groups.num_rows;
  GARUDA_TRY_ASSIGN(auto const flags, context_.buffer(std::uint64_t{rows} * 4, "flags of rows"));
  GARUDA_TRY_ASSIGN(auto sum, PrefixSum::create(context_, rows, "prefix sum of flags"));
  GARUDA_TRY(evaluated_->draw_filter(flags.address()));
  GARUDA_TRY(context_.prefix_sum(sum, vulkan::phase::kMap, flags));
  GARUDA_TRY_ASSIGN(auto const passing, sum.total(context_, vulkan::phase::kMap));
  groups.num_drawn = static_cast<std::uint32_t>(passing);
  groups.is_listed = passing > 0;
  if (passing == 0) return leave_out_all(groups);
  shaders::RowsPush const push{rows};
  std::array const resources{vk::BoundResource::of(shaders::kBindRows, flags),
                             vk::BoundResource::of(shaders::kBindLost, flags),
                             vk::BoundResource::of(shaders::kBindOffsets, sum.offsets()),
                             vk::BoundResource::of(shaders::kBindTileBases, sum.tile_bases()),
                             vk::BoundResource::of(shaders::kBindRowsOut, groups.rows)};
  GARUDA_TRY(context_.dispatch(vulkan::phase::kMap, "rows that pass", GroupPass::compact_rows, {}, resources,
                               vulkan::push_bytes(push), rows));
  // The list, before vertices and passes read it.
  GARUDA_TRY(
      context_.order(vulkan::phase::kMap, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite));
  return submissions_.finish();
}

// A group without keys has no rows then: all are drawn, and clipped, so that its states are those of no values.
Result<void> GroupBySlice::leave_out_all(vulkan::DeviceGroups& groups) {
  if (grouping_) return {};
  groups.num_drawn = groups.num_rows;
  GARUDA_TRY_ASSIGN(auto* const recorder, submissions_.record(vulkan::phase::kMap));
  recorder->fill(groups.ids.view(), shaders::kClippedRow);
  recorder->barrier(groups.ids, vk::use::kTransferWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
  return submissions_.finish();
}

Result<contract::AggregateState> GroupBySlice::aggregate(vulkan::DeviceGroups& groups,
                                                         contract::AggregateInput const& input) {
  if (!context_.limits().blend) return compute::slice_states(compute_, groups, input);
  bool const may_be_null = !input.validity.empty() || input.expression;
  bool const counts_rows = (input.states & contract::kCountState) != 0 && !may_be_null;
  bool const needs_lanes =
      (input.states & contract::kSumState) != 0 && sum_lanes(groups.num_rows, context_.limits().spread) > 1;
  if (counts_rows || needs_lanes) GARUDA_TRY(count_rows(groups));
  auto& arena = context_.lane().arena();
  auto const mark = arena.mark();
  SliceColumn column;
  auto state = blend(groups, input, column);
  // The memory of a failed call is taken back, too, once the device is done with it.
  GARUDA_TRY(submissions_.finish());
  column = {};
  if (evaluated_) evaluated_->release();
  arena.rewind(mark);
  return state;
}

// Counts the rows of groups, once for all columns. Memory of the passes is given back at once.
Result<void> GroupBySlice::count_rows(vulkan::DeviceGroups& groups) {
  if (groups.group_rows) return {};
  GARUDA_TRY_ASSIGN(auto group_rows, context_.buffer(std::uint64_t{groups.num_groups} * 4, "rows of groups"));
  auto const mark = context_.lane().arena().mark();
  GARUDA_TRY(count_values(context_, groups, {}, group_rows));
  GARUDA_TRY(submissions_.finish());
  context_.lane().arena().rewind(mark);
  groups.group_rows = std::move(group_rows);
  return {};
}

Result<contract::AggregateState> GroupBySlice::blend(vulkan::DeviceGroups const& groups,
                                                     contract::AggregateInput const& input, SliceColumn& column) {
  contract::AggregateState state;
  GARUDA_TRY_ASSIGN(auto uploaded, input.expression ? evaluated_->draw_values(*input.expression, input.kind, groups)
                                                    : vulkan::upload_column(context_, input));
  column = SliceColumn{std::move(uploaded), input.kind};
  if ((input.states & contract::kCountState) != 0) GARUDA_TRY(fill_counts(groups, column, state));
  if ((input.states & contract::kSumState) != 0) {
    GroupSums sums(groups, column);
    GARUDA_TRY(sums.run(context_, state));
  }
  if ((input.states & (contract::kMinState | contract::kMaxState)) != 0) {
    GARUDA_TRY(find_extremes(context_, groups, column, input.states, state));
  }
  return state;
}

Result<void> GroupBySlice::fill_counts(vulkan::DeviceGroups const& groups, SliceColumn const& column,
                                       contract::AggregateState& state) {
  vk::Buffer counts;
  if (column.nulls()) {
    GARUDA_TRY_ASSIGN(counts, context_.buffer(std::uint64_t{groups.num_groups} * 4, "counts"));
    GARUDA_TRY(count_values(context_, groups, column, counts));
    GARUDA_TRY(context_.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kTransferRead));
  }
  std::vector<std::uint32_t> read(groups.num_groups);
  GARUDA_TRY(context_.download(counts ? counts : groups.group_rows, std::as_writable_bytes(std::span(read))));
  state.counts.assign(read.begin(), read.end());
  return {};
}

}  // namespace

Result<std::unique_ptr<contract::GroupByBackend>> open_graphics_group_by(vk::Device& device,
                                                                         vk::PipelineStore& pipelines,
                                                                         contract::GroupByBackendOptions const& options,
                                                                         ImageSizes const& sizes) {
  using Backend = vulkan::LaneBackend<contract::GroupByBackend, contract::GroupByKernel, contract::GroupSlice,
                                      contract::GroupByBackendOptions>;
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(auto limits, group_by_limits(traits, sizes));
  limits.expected_groups = options.expected_groups;
  compute::ComputeTuning compute;
  GARUDA_EXPECTS(options.expressions == nullptr || limits.blend);
  if (!limits.blend || options.expressions != nullptr) {
    GARUDA_TRY_ASSIGN(compute, compute::compute_tuning(traits));
  }
  if (!limits.blend && sizes.blends && options.stats != nullptr) {
    options.stats->note(
        fmt::format("{} cannot blend all 32-bit float formats: aggregates run as compute passes", traits.name));
  }
  return Backend::open(
      device, options, "group-by lane",
      [&pipelines, limits, compute](auto const& own, auto const& given,
                                    auto const& slice) -> Result<std::unique_ptr<contract::GroupByKernel>> {
        auto work = std::make_unique<GroupBySlice>(own, pipelines, limits, compute, given);
        GARUDA_TRY(work->evaluate(slice));
        return vulkan::GroupSliceKernel::start(std::move(work), slice, given);
      });
}

}  // namespace garuda::graphics
