#include "operators/compute/join/unmatched_rows.hpp"

#include <utility>

namespace garuda::compute {
namespace {

constexpr char const* kCountPhase = "count unmatched rows";
constexpr char const* kRowsPhase = "unmatched rows";
constexpr std::uint32_t kItems = 8;

PassShape unmatched_shape(std::string_view entry) { return {entry, 0, kItems, sizeof(shaders::UnmatchedRowsPush), {}}; }
PassShape count_shape() { return unmatched_shape("compute/join/unmatched_rows.comp:COUNT"); }
PassShape write_shape() { return unmatched_shape("compute/join/unmatched_rows.comp:WRITE"); }
PassShape places_shape() { return {"compute/join/merged_places.comp", 0, 1, sizeof(shaders::MergedPlacesPush), {}}; }

std::uint64_t num_blocks(ComputeContext const& context, std::uint64_t rows) {
  return groups_for(rows, std::uint64_t{context.tuning().group_size} * kItems);
}

std::uint32_t chosen_by(contract::SideRows chosen) {
  GARUDA_EXPECTS(chosen != contract::SideRows::none);
  if (chosen == contract::SideRows::all) return shaders::kRowsAll;
  return chosen == contract::SideRows::matched ? shaders::kRowsMarked : shaders::kRowsUnmarked;
}

}  // namespace

Result<UnmatchedRows> UnmatchedRows::create(ComputeContext& context, MarkedRows rows, contract::SideRows chosen) {
  UnmatchedRows made;
  made.marked_ = std::move(rows);
  if (made.num_rows() == 0) return made;
  auto const blocks = num_blocks(context, made.num_rows());
  GARUDA_TRY_ASSIGN(made.counts_, context.device_buffer(blocks * 4, "unmatched rows of blocks"));
  GARUDA_TRY_ASSIGN(made.firsts_, context.device_buffer(blocks * 4, "first unmatched rows of blocks"));
  GARUDA_TRY_ASSIGN(made.scan_, DeviceScan::create(context, blocks));
  made.push_.marks = made.marked_.marks;
  made.push_.numbers = made.marked_.numbers;
  made.push_.counts = made.counts_.address();
  made.push_.firsts = made.firsts_.address();
  made.push_.num_rows = static_cast<std::uint32_t>(made.num_rows());
  made.push_.rows = chosen_by(chosen);
  return made;
}

Result<void> UnmatchedRows::record_count(ComputeContext& context) {
  if (num_rows() == 0) return {};
  auto const blocks = num_blocks(context, num_rows());
  GARUDA_TRY(context.dispatch(kCountPhase, count_shape(), push_, blocks, num_rows()));
  return scan_.record(context, kCountPhase, {counts_.address(), firsts_.address(), blocks});
}

Result<std::uint64_t> UnmatchedRows::count(ComputeContext& context) {
  return num_rows() == 0 ? Result<std::uint64_t>(0) : scan_.read_total(context, kCountPhase);
}

Result<void> UnmatchedRows::record_rows(ComputeContext& context, std::span<shaders::UnmatchedColumn const> columns,
                                        std::uint64_t first_row, VkDeviceAddress places) {
  if (num_rows() == 0 || columns.empty()) return {};
  GARUDA_TRY_ASSIGN(auto written, context.device_buffer(columns.size_bytes(), "columns of unmatched rows"));
  GARUDA_TRY(context.update(kRowsPhase, written, std::as_bytes(columns)));
  auto push = push_;
  push.columns = columns_.emplace_back(std::move(written)).address();
  push.places = places;
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.first_row = static_cast<std::uint32_t>(first_row);
  return context.dispatch(kRowsPhase, write_shape(), push, num_blocks(context, num_rows()), num_rows());
}

Result<void> record_merged_places(ComputeContext& context, RowList const& list, RowList const& other,
                                  vk::Buffer const& places) {
  if (list.count == 0) return {};
  shaders::MergedPlacesPush push{};
  push.elements = list.rows;
  push.others = other.rows;
  push.places = places.address();
  push.num_elements = static_cast<std::uint32_t>(list.count);
  push.num_others = static_cast<std::uint32_t>(other.count);
  return context.dispatch_each(kRowsPhase, places_shape(), push, list.count);
}

std::vector<vk::ComputePipelineSpec> unmatched_rows_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(count_shape(), tuning), compute_pipeline(write_shape(), tuning),
          compute_pipeline(places_shape(), tuning)};
}

}  // namespace garuda::compute
