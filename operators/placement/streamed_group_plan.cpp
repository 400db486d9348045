#include "operators/placement/streamed_group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/device/column_upload.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/placement/streamed_group_by.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::placement {
namespace {

constexpr std::uint64_t kGroupBatchRows = std::uint64_t{1} << 22;
/// Passes keep the rows in so many copies, with packed keys and numbers of rows besides.
constexpr std::uint64_t kGroupCopies = 4;
constexpr std::uint64_t kBesidesBytes = 40;

Result<void> check_shape(resolve::GroupByRequest const& request) {
  auto const rows = static_cast<std::uint64_t>(request.table.num_rows());
  if (rows == 0) return fail(ErrorCode::usage, "the table is empty");
  if (rows > device::kMostGroupedRows)
    return fail(ErrorCode::usage, fmt::format("the table has more rows than a device groups, 2^30: {}", rows));
  auto const& schema = request.table.schema();
  auto const checked = device::check_device_group_by(schema, request.columns);
  if (!checked) return fail(ErrorCode::usage, checked.error().message());
  for (auto const column : device::group_by_columns_used(request.columns))
    if (!device::device_words(schema[column].type))
      return fail(ErrorCode::usage, fmt::format("tables grouped on a device whole have columns of fixed width: '{}' of "
                                                "type {}",
                                                schema[column].name, to_string(schema[column].type)));
  return {};
}

/// Finds the sizes. Errors: limit_exceeded.
Result<void> size(GroupByOptions const& options, contract::DeviceFacts const& facts, StreamedGroupPlan& plan) {
  plan.plan.device_bytes = working_bytes(plan);
  // Two batches are on their way, and one that was given may be kept.
  plan.plan.host_bytes = 3 * plan.batch_rows * plan.result_row_bytes + (plan.converted > 0 ? plan.rows * 8 : 0);
  GARUDA_TRY(check_buffers(plan.columns, plan.rows, facts));
  return check_budgets(options, facts, plan.plan.device_bytes, plan.plan.host_bytes);
}

contract::GroupByOffer offer_of(contract::GroupByInquiry const& inquiry, StreamedGroupPlan plan) {
  auto offer = vulkan::device_offer<contract::GroupByOffer>(Path::compute, inquiry);
  offer.tuning = plan.tuning;
  offer.candidate.choices = to_string(plan.tuning);
  contract::set_phases(offer.candidate,
                       streamed_group_by_costs(shape_of(inquiry, plan), inquiry.facts().rates(), inquiry.host));
  offer.key_bits = 0;
  offer.slice_rows = plan.rows;
  offer.chunk_rows = plan.batch_rows;
  offer.device_bytes = plan.plan.device_bytes;
  offer.host_bytes = plan.plan.host_bytes;
  auto const converted =
      plan.converted == 0 ? std::string() : fmt::format(", {} values a row converted on the host", plan.converted);
  offer.details.emplace_back(
      "placement", fmt::format("device: the columns go there whole, {} bytes a row{}", plan.row_bytes, converted));
  offer.start = [streamed = std::move(plan)](resolve::GroupByRequest const& request, Plan printable) {
    auto own = streamed;
    own.plan = std::move(printable);
    return streamed_group_by(request, std::move(own));
  };
  return offer;
}

}  // namespace

void measure(resolve::GroupByRequest const& request, StreamedGroupPlan& plan) {
  auto const& schema = request.table.schema();
  auto& columns = plan.columns;
  std::vector<std::size_t> nullable;
  for (auto const column : device::group_by_columns_used(request.columns)) {
    columns.push_back(device::value_column(request.table, column));
    if (materialize::has_nulls(request.table, column)) nullable.push_back(column);
  }
  device::add_null_words(nullable, columns);
  plan.row_bytes = device::row_bytes(columns);
  for (auto const& column : columns)
    plan.converted += column.is_direct ? 0 : static_cast<std::uint32_t>(column.sources.size());
  for (auto const key : request.columns.keys)
    plan.result_row_bytes +=
        (device::stored_words(schema[key].type).value_or(0) + (nullable.empty() ? 0 : 1)) * materialize::kWordBytes;
  for (auto const& aggregate : request.columns.aggregates)
    plan.result_row_bytes +=
        (device::device_words(aggregate.result).value_or(0) + (nullable.empty() ? 0 : 1)) * materialize::kWordBytes;
}

std::uint64_t working_bytes(StreamedGroupPlan const& plan) {
  return plan.rows * (kGroupCopies * plan.row_bytes + kBesidesBytes) + kSpareBytes;
}

StreamedGroupShape shape_of(contract::GroupByInquiry const& inquiry, StreamedGroupPlan const& plan) {
  StreamedGroupShape shape;
  shape.rows = static_cast<double>(plan.rows);
  shape.groups = inquiry.shape.is_unseen ? shape.rows / 2 : static_cast<double>(inquiry.shape.estimated_groups);
  shape.row_bytes = static_cast<double>(plan.row_bytes);
  shape.result_row_bytes = static_cast<double>(plan.result_row_bytes);
  shape.converted = plan.converted;
  shape.copy_threads = plan.copy_threads;
  shape.encodes_first = inquiry.shape.is_encoded;
  return shape;
}

Result<contract::GroupByOffer> offer_streamed_group_by(contract::GroupByInquiry const& inquiry) {
  auto const& request = *inquiry.shape.table;
  GARUDA_TRY(check_shape(request));
  GARUDA_TRY(check_placement(inquiry.facts(), inquiry.options.tuning.placement));
  StreamedGroupPlan plan;
  plan.rows = static_cast<std::uint64_t>(request.table.num_rows());
  plan.tuning = inquiry.options.tuning;
  plan.tuning.placement = Placement::device;
  plan.batch_rows = plan.tuning.chunk_rows != 0 ? plan.tuning.chunk_rows : std::min(kGroupBatchRows, plan.rows);
  measure(request, plan);
  GARUDA_TRY(size(request.options, inquiry.facts(), plan));
  plan.device = *inquiry.device;
  plan.copy_threads = copy_threads(inquiry);
  return offer_of(inquiry, std::move(plan));
}

}  // namespace garuda::placement
