#include "operators/placement/whole_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "operators/contract/offers/costs.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_result.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::placement {
namespace {

/// Passes keep the rows in so many copies, with packed keys and numbers of rows besides.
constexpr std::uint64_t kGroupCopies = 4;
constexpr std::uint64_t kBesidesBytes = 40;
/// Bytes of host memory that rows take whose values are converted on their way.
constexpr std::uint64_t kConvertedBytes = 8;

/// Errors: usage for a table that is not brought to a device.
Result<void> check_upload(resolve::GroupByRequest const& request) {
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

Result<void> check(contract::GroupByInquiry const& inquiry) {
  auto const& request = *inquiry.shape.table;
  if (inquiry.shape.resident_on) {
    GARUDA_TRY(compute::compute_tuning(*inquiry.facts().vulkan));
    return device::check_device_group_by(request.table.schema(), request.columns);
  }
  GARUDA_TRY(check_upload(request));
  return check_placement(inquiry.facts(), inquiry.options.tuning.placement);
}

/// The columns that a group-by reads, as they lie on the device.
std::vector<device::UploadColumn> columns_of(resolve::GroupByRequest const& request) {
  std::vector<device::UploadColumn> columns;
  std::vector<std::size_t> nullable;
  for (auto const column : device::group_by_columns_used(request.columns)) {
    columns.push_back(device::value_column(request.table, column));
    if (materialize::has_nulls(request.table, column)) nullable.push_back(column);
  }
  device::add_null_words(nullable, columns);
  return columns;
}

StreamedGroupShape shape_of(contract::GroupByInquiry const& inquiry, std::span<device::UploadColumn const> columns) {
  auto const& request = *inquiry.shape.table;
  auto const& schema = request.table.schema();
  StreamedGroupShape shape;
  shape.rows = static_cast<double>(request.table.num_rows());
  shape.groups = inquiry.shape.is_unseen ? shape.rows / 2 : static_cast<double>(inquiry.shape.estimated_groups);
  shape.row_bytes = static_cast<double>(device::row_bytes(columns));
  for (auto const& column : columns)
    shape.converted += column.is_direct ? 0 : static_cast<std::uint32_t>(column.sources.size());
  auto const null_words = std::ranges::any_of(columns, &device::UploadColumn::is_nulls) ? 1U : 0U;
  std::uint64_t words = 0;
  for (auto const key : request.columns.keys) words += device::stored_words(schema[key].type).value_or(0) + null_words;
  for (auto const& aggregate : request.columns.aggregates)
    words += device::device_words(aggregate.result).value_or(0) + null_words;
  shape.result_row_bytes = static_cast<double>(words * materialize::kWordBytes);
  shape.copy_threads = copy_threads(inquiry);
  shape.encodes_first = inquiry.shape.is_encoded;
  return shape;
}

/// The price where the table lives, and how keys of strings are compared there.
void price_resident(contract::GroupByInquiry const& inquiry, StreamedGroupShape shape, contract::GroupByOffer& offer) {
  auto const& request = *inquiry.shape.table;
  for (auto const key : request.columns.keys) {
    auto const strings = device::numbered_strings(*request.table.resident(), key);
    if (strings.strings == 0) continue;
    describe(strings, offer);
    shape.strings.push_back(strings);
  }
  contract::set_phases(offer.candidate, resident_group_by_costs(shape, inquiry.facts().rates(), inquiry.host));
}

/// The price with the columns' way up and the groups' way down. Errors: limit_exceeded where the device or the host has
/// no room for them.
Result<void> price_upload(contract::GroupByInquiry const& inquiry, std::span<device::UploadColumn const> columns,
                          StreamedGroupShape const& shape, contract::GroupByOffer& offer) {
  auto const batch_rows = std::min(offer.chunk_rows, offer.slice_rows);
  offer.host_bytes = kHostBatches * batch_rows * static_cast<std::uint64_t>(shape.result_row_bytes) +
                     (shape.converted > 0 ? offer.slice_rows * kConvertedBytes : 0);
  GARUDA_TRY(check_buffers(columns, offer.slice_rows, inquiry.facts()));
  GARUDA_TRY(check_budgets(inquiry.options, inquiry.facts(), offer.device_bytes, offer.host_bytes));
  contract::set_phases(offer.candidate, streamed_group_by_costs(shape, inquiry.facts().rates(), inquiry.host));
  auto const converted =
      shape.converted == 0 ? std::string() : fmt::format(", {} values a row converted on the host", shape.converted);
  offer.details.emplace_back("placement", fmt::format("device: the columns go there whole, {} bytes a row{}",
                                                      device::row_bytes(columns), converted));
  return {};
}

}  // namespace

Result<std::vector<contract::GroupByOffer>> offer_whole_group_by(contract::GroupByInquiry const& inquiry) {
  GARUDA_TRY(check(inquiry));
  auto const columns = columns_of(*inquiry.shape.table);
  auto const shape = shape_of(inquiry, columns);
  auto offer = contract::device_offer<contract::GroupByOffer>(Path::compute, inquiry);
  describe_whole(inquiry, offer);
  offer.key_bits = 0;
  offer.slice_rows = static_cast<std::uint64_t>(inquiry.shape.table->table.num_rows());
  offer.device_bytes = offer.slice_rows * (kGroupCopies * device::row_bytes(columns) + kBesidesBytes) + kSpareBytes;
  if (inquiry.shape.resident_on) {
    price_resident(inquiry, shape, offer);
  } else {
    GARUDA_TRY(price_upload(inquiry, columns, shape, offer));
  }
  return std::vector{std::move(offer)};
}

Result<std::unique_ptr<GroupByResult>> group_whole_table(resolve::GroupByRequest const& request,
                                                         contract::GroupByOffer const& offer, Plan plan) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  auto options = request.options;
  auto columns = request.columns;
  std::optional<DeviceTable> brought;
  if (offer.source == contract::TableSource::upload) {
    GARUDA_TRY_ASSIGN(auto const device, open_device(*request.devices, *offer.device, run->recorder));
    GARUDA_TRY_ASSIGN(brought,
                      device::upload_table(request.table, device::group_by_columns_used(request.columns), device,
                                           {options.tuning.upload, offer.lanes, options.control, &run->recorder}));
    GARUDA_TRY_ASSIGN(columns, resolve::resolve_group_by(brought->view(), request.spec));
    options.device_memory_limit_bytes = device::limit_beside(options, brought->device_bytes());
  }
  auto const& table = brought ? brought->state() : *request.table.resident();
  GARUDA_TRY_ASSIGN(auto groups,
                    device::group_device_table(table, columns, request.spec.ordered, options, run->recorder));
  RunStats inputs;
  inputs.rows = table.rows;
  auto result = std::make_unique<device::DeviceResult>(
      std::move(groups), std::move(plan),
      device::DeviceResultOptions{"group-by", options.control, options.tuning.upload, offer.lanes, inputs},
      std::move(run));
  if (brought) GARUDA_TRY(result->start_downloads());
  return result;
}

}  // namespace garuda::placement
