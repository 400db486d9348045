#include "operators/vulkan/group_slice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::vulkan {

std::uint64_t most_group_rows(vk::DeviceTraits const& traits, std::uint32_t key_words,
                              std::uint32_t value_words) noexcept {
  // Spans of floats take 8 bytes a group, and every row may be one.
  auto const widest = std::max({key_words, value_words, 2U});
  return std::min<std::uint64_t>(contract::kMaxPassRows,
                                 traits.limits.max_storage_buffer_range / (4 * std::uint64_t{widest}) - 1);
}

Result<UploadedColumn> upload_column(PassContext& context, contract::AggregateInput const& input, bool by_address) {
  constexpr std::uint64_t kWordBytes = 4;
  auto const value_alignment = std::min<std::uint64_t>(contract::value_words(input.kind), 2) * kWordBytes;
  UploadedColumn column;
  if (input.states != contract::kCountState) {
    GARUDA_TRY_ASSIGN(column.values,
                      context.input(std::as_bytes(input.values), "values", by_address ? value_alignment : 0));
  }
  if (!input.validity.empty()) {
    GARUDA_TRY_ASSIGN(column.validity,
                      context.input(std::as_bytes(input.validity), "validity", by_address ? kWordBytes : 0));
  }
  return column;
}

Result<std::unique_ptr<contract::GroupByKernel>> GroupSliceKernel::start(
    std::unique_ptr<SliceWork> work, contract::GroupSlice const& slice,
    contract::GroupByBackendOptions const& options) {
  GARUDA_EXPECTS(slice.num_rows > 0 && slice.num_rows <= contract::kMaxPassRows);
  std::unique_ptr<GroupSliceKernel> kernel(new GroupSliceKernel(std::move(work), options));
  kernel->groups_.num_rows = static_cast<std::uint32_t>(slice.num_rows);
  kernel->groups_.num_drawn = kernel->groups_.num_rows;
  GARUDA_TRY(kernel->check_values());
  GARUDA_TRY(kernel->start_grouping(slice));
  return std::unique_ptr<contract::GroupByKernel>(std::move(kernel));
}

// Refused here, where a smaller slice is easily taken, rather than after the grouping.
Result<void> GroupSliceKernel::check_values() const {
  auto const rows = std::uint64_t{groups_.num_rows};
  auto const& traits = context_.lane().device().traits();
  auto const most = most_group_rows(traits, 0, options_.max_value_words);
  if (rows > most) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("values of {} rows do not fit the device's storage buffers of {} bytes, at most {} rows do",
                            rows, traits.limits.max_storage_buffer_range, most));
  }
  auto const bytes = rows * (8 + 4 * std::uint64_t{options_.max_value_words});
  if (bytes <= context_.bytes_left()) return {};
  return fail(
      ErrorCode::limit_exceeded,
      fmt::format("no room in a lane's share of device memory for values and group ids of {} bytes: {} bytes left",
                  bytes, context_.bytes_left()));
}

Result<void> GroupSliceKernel::start_grouping(contract::GroupSlice const& slice) {
  auto const bytes = slice.num_rows * 4;
  has_keys_ = !std::holds_alternative<contract::NoKeys>(slice.keys);
  GARUDA_TRY(context_.reserve_read_back());
  GARUDA_TRY_ASSIGN(groups_.ids, has_keys_ ? context_.buffer(bytes, "group ids")
                                           : context_.zeroed_buffer(bytes, "group ids", phase::kMap));
  GARUDA_TRY_ASSIGN(groups_.head_rows, has_keys_ ? context_.buffer(bytes, "head rows")
                                                 : context_.zeroed_buffer(4, "head rows", phase::kMap));
  if (options_.expressions != nullptr) {
    GARUDA_TRY_ASSIGN(groups_.rows, context_.buffer(bytes, "rows that pass"));
  }
  before_grouping_ = context_.lane().arena().mark();
  groups_.num_groups = 1;
  return has_keys_ ? work_->start_grouping(slice) : Result<void>{};
}

Result<std::uint64_t> GroupSliceKernel::group() {
  GARUDA_TRY(work_->filter_rows(groups_));
  if (has_keys_ && groups_.num_drawn > 0) {
    GARUDA_TRY(work_->group(groups_));
  } else if (has_keys_) {
    groups_.num_groups = 0;
  }
  if (has_keys_ || options_.expressions != nullptr) {
    GARUDA_TRY(context_.submissions().finish());
    // Keys, images and maps go: the aggregates need the ids alone.
    work_->end_grouping();
    context_.lane().arena().rewind(before_grouping_);
  }
  if (options_.stats != nullptr) options_.stats->max_counter("groups_of_a_slice", groups_.num_groups);
  return groups_.num_groups;
}

/// Ids and heads, written by compute, or filled when there are no keys.
Result<void> GroupSliceKernel::order_download() {
  GARUDA_TRY(context_.order(phase::kDownload, vk::use::kComputeWrite, vk::use::kTransferRead));
  return context_.order(phase::kDownload, vk::use::kTransferWrite, vk::use::kTransferRead);
}

Result<std::span<std::uint32_t const>> GroupSliceKernel::heads() {
  GARUDA_TRY(order_download());
  return context_.read(groups_.head_rows, 0, groups_.num_groups, heads_);
}

Result<void> GroupSliceKernel::group_ids(std::span<std::uint32_t> out) {
  GARUDA_EXPECTS(out.size() == groups_.num_rows);
  GARUDA_TRY(order_download());
  return context_.download(groups_.ids, std::as_writable_bytes(out));
}

Result<contract::AggregateState> GroupSliceKernel::aggregate(contract::AggregateInput const& input) {
  GARUDA_EXPECTS(groups_.num_groups > 0 && input.states != 0);
  GARUDA_EXPECTS(input.kind != contract::ValueKind::none || input.states == contract::kCountState);
  GARUDA_EXPECTS(input.validity.empty() || input.validity.size() == (groups_.num_rows + 31) / 32);
  return work_->aggregate(groups_, input);
}

}  // namespace garuda::vulkan
