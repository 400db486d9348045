#include "operators/graphics/group_by/group_by_slice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/graphics/group_by/group_counts.hpp"
#include "operators/graphics/group_by/group_extremes.hpp"
#include "operators/graphics/group_by/group_sums.hpp"

namespace garuda::graphics {

GroupBySlice::GroupBySlice(GroupByResources const& resources, contract::GroupSlice const& slice)
    : slice_(slice),
      options_(*resources.options),
      lane_(*resources.lane),
      submissions_(lane_, options_.control, options_.stats),
      context_(lane_, *resources.pipelines, submissions_, *resources.limits, options_.tuning, options_.stats,
               resources.memory_budget_bytes) {}

Result<std::unique_ptr<contract::GroupByKernel>> GroupBySlice::start(GroupByResources const& resources,
                                                                     contract::GroupSlice const& slice) {
  GARUDA_EXPECTS(slice.num_rows > 0 && slice.num_rows <= contract::kMaxPassRows);
  std::unique_ptr<GroupBySlice> kernel(new GroupBySlice(resources, slice));
  GARUDA_TRY(kernel->check_values(*resources.options));
  GARUDA_TRY(kernel->start_grouping(resources));
  return std::unique_ptr<contract::GroupByKernel>(std::move(kernel));
}

GroupBySlice::~GroupBySlice() {
  // A failure to drain is a lost device: nothing runs any more, and the next call on the lane reports it.
  (void)lane_.drain();
}

// Refused here, where a smaller slice is easily taken, rather than after the grouping.
Result<void> GroupBySlice::check_values(contract::GroupByBackendOptions const& options) const {
  auto const most = group_by_slice_rows(0, options.max_value_words, context_.limits());
  if (slice_.num_rows > most) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("values of {} rows do not fit the device's storage buffers of {} "
                            "bytes, at most {} rows do",
                            slice_.num_rows, context_.limits().max_buffer_bytes, most));
  }
  auto const bytes = slice_.num_rows * (8 + 4 * std::uint64_t{options.max_value_words});
  if (bytes <= context_.bytes_left()) return {};
  return fail(
      ErrorCode::limit_exceeded,
      fmt::format("no room in a lane's share of device memory for values and group ids of {} bytes: {} bytes left",
                  bytes, context_.bytes_left()));
}

Result<void> GroupBySlice::start_grouping(GroupByResources const& resources) {
  groups_.num_rows = static_cast<std::uint32_t>(slice_.num_rows);
  GARUDA_TRY(context_.reserve_read_back());
  if (std::holds_alternative<contract::NoKeys>(slice_.keys)) {
    groups_.num_groups = 1;
    GARUDA_TRY_ASSIGN(groups_.ids, context_.zeroed_buffer(slice_.num_rows * 4, "group ids", vulkan::phase::kMap));
    GARUDA_TRY_ASSIGN(groups_.head_rows, context_.zeroed_buffer(4, "head rows", vulkan::phase::kMap));
    before_grouping_ = lane_.arena().mark();
    return {};
  }
  GARUDA_TRY_ASSIGN(groups_.ids, context_.buffer(slice_.num_rows * 4, "group ids"));
  GARUDA_TRY_ASSIGN(groups_.head_rows, context_.buffer(slice_.num_rows * 4, "head rows"));
  before_grouping_ = lane_.arena().mark();
  GARUDA_TRY_ASSIGN(grouping_, resources.start_grouping(context_, slice_));
  return {};
}

Result<std::uint64_t> GroupBySlice::group() {
  if (grouping_) {
    GARUDA_TRY(grouping_->run(context_, groups_));
    GARUDA_TRY(submissions_.finish());
    // Keys, images and maps go: the aggregates need the ids alone.
    grouping_.reset();
    lane_.arena().rewind(before_grouping_);
  }
  context_.max_counter("groups_of_a_slice", groups_.num_groups);
  return groups_.num_groups;
}

Result<void> GroupBySlice::download(vk::Buffer const& source, std::span<std::uint32_t> out) {
  // Ids and heads, written by compute, or filled when there are no keys.
  GARUDA_TRY(context_.order(vulkan::phase::kDownload, vk::use::kComputeWrite, vk::use::kTransferRead));
  GARUDA_TRY(context_.order(vulkan::phase::kDownload, vk::use::kTransferWrite, vk::use::kTransferRead));
  return context_.download(source, std::as_writable_bytes(out));
}

Result<void> GroupBySlice::heads(std::span<std::uint32_t> out) {
  GARUDA_EXPECTS(out.size() == groups_.num_groups);
  return download(groups_.head_rows, out);
}

Result<void> GroupBySlice::group_ids(std::span<std::uint32_t> out) {
  GARUDA_EXPECTS(out.size() == groups_.num_rows);
  return download(groups_.ids, out);
}

// Counted once for all columns. What the passes need besides goes at once.
Result<void> GroupBySlice::count_rows() {
  if (groups_.group_rows) return {};
  GARUDA_TRY_ASSIGN(auto group_rows, context_.buffer(std::uint64_t{groups_.num_groups} * 4, "rows of groups"));
  auto const mark = lane_.arena().mark();
  GARUDA_TRY(count_values(context_, groups_, {}, group_rows));
  GARUDA_TRY(submissions_.finish());
  lane_.arena().rewind(mark);
  groups_.group_rows = std::move(group_rows);
  return {};
}

Result<SliceColumn> GroupBySlice::upload(contract::AggregateInput const& input) {
  SliceColumn column;
  column.kind = input.kind;
  bool const reads_values = (input.states & ~contract::kCountState) != 0;
  if (reads_values) {
    GARUDA_TRY_ASSIGN(column.values, context_.upload_buffer(input.values.size_bytes(), "values"));
    GARUDA_TRY(context_.upload(column.values, 0, std::as_bytes(input.values)));
  }
  if (!input.validity.empty()) {
    GARUDA_TRY_ASSIGN(column.validity, context_.upload_buffer(input.validity.size_bytes(), "validity"));
    GARUDA_TRY(context_.upload(column.validity, 0, std::as_bytes(input.validity)));
  }
  return column;
}

Result<contract::AggregateState> GroupBySlice::aggregate(contract::AggregateInput const& input) {
  GARUDA_EXPECTS(groups_.num_groups > 0 && input.states != 0);
  GARUDA_EXPECTS(input.kind != contract::ValueKind::none || input.states == contract::kCountState);
  GARUDA_EXPECTS(input.validity.empty() || input.validity.size() == (slice_.num_rows + 31) / 32);
  bool const counts_rows = (input.states & contract::kCountState) != 0 && input.validity.empty();
  bool const needs_lanes = (input.states & contract::kSumState) != 0 &&
                           sum_lanes(slice_.num_rows, options_.tuning.spread, context_.limits()) > 1;
  if (counts_rows || needs_lanes) GARUDA_TRY(count_rows());
  auto const mark = lane_.arena().mark();
  auto state = run(input);
  // The memory of a failed call is taken back, too, once the device is done with it.
  GARUDA_TRY(submissions_.finish());
  lane_.arena().rewind(mark);
  return state;
}

Result<contract::AggregateState> GroupBySlice::run(contract::AggregateInput const& input) {
  contract::AggregateState state;
  GARUDA_TRY_ASSIGN(auto const column, upload(input));
  if ((input.states & contract::kCountState) != 0) GARUDA_TRY(fill_counts(input, column, state));
  if ((input.states & contract::kSumState) != 0) {
    GroupSums sums(groups_, column);
    GARUDA_TRY(sums.run(context_, state));
  }
  if ((input.states & (contract::kMinState | contract::kMaxState)) != 0) {
    GARUDA_TRY(find_extremes(context_, groups_, column, input.states, state));
  }
  return state;
}

Result<void> GroupBySlice::fill_counts(contract::AggregateInput const& input, SliceColumn const& column,
                                       contract::AggregateState& state) {
  if (input.validity.empty()) {
    GARUDA_TRY_ASSIGN(state.counts, download_counts(context_, groups_, groups_.group_rows));
    return {};
  }
  GARUDA_TRY_ASSIGN(auto const counts, context_.buffer(std::uint64_t{groups_.num_groups} * 4, "counts"));
  GARUDA_TRY(count_values(context_, groups_, column, counts));
  GARUDA_TRY(context_.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kTransferRead));
  GARUDA_TRY_ASSIGN(state.counts, download_counts(context_, groups_, counts));
  return {};
}

}  // namespace garuda::graphics
