#include "operators/placement/uploaded_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "operators/contract/join_terms.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/resident_offers.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/placement/whole_offer.hpp"

namespace garuda::placement {
namespace {

/// Batches that come down, and one that was given and may be kept.
constexpr double kHostBatches = 3;

/// What both tables are brought there by.
struct UploadedJoin {
  std::size_t device = 0;  ///< index into the devices
  Upload upload = Upload::automatic;
  std::uint32_t copy_threads = 1;
};

/// Both tables, with the columns that the join reads, on a device, or outlines of them. The request refers to them.
struct TablesThere {
  std::vector<DeviceTable> tables;  ///< left, right
  resolve::JoinRequest request;
};

/// The request for `tables`, which hold the columns that it reads.
Result<TablesThere> request_there(resolve::JoinRequest request, std::vector<DeviceTable> tables) {
  request.left = tables[0].view();
  request.right = tables[1].view();
  // Left rows alone of host tables come in their order.
  request.spec.ordered = request.spec.ordered || !request.columns.parts.pairs;
  GARUDA_TRY_ASSIGN(request.columns,
                    resolve::resolve_join(request.left.schema(), request.right.schema(), request.spec));
  return TablesThere{std::move(tables), std::move(request)};
}

/// What goes up.
struct UploadSize {
  std::uint64_t bytes = 0;
  std::uint64_t converted = 0;  ///< values that the host converts
};

/// Strings that are not compared stay where they are. Errors: usage, naming the column.
Result<void> check_columns(resolve::JoinRequest const& request, Side side, std::span<std::size_t const> columns) {
  auto const& schema = (side == Side::left ? request.left : request.right).schema();
  auto compared = request.columns.key_columns(side);
  if (request.columns.condition)
    for (auto const& column : request.columns.condition->columns(side)) compared.push_back(column.column);
  for (auto const column : columns) {
    auto const& type = schema[column].type;
    bool const is_compared = std::ranges::find(compared, column) != compared.end();
    if (is_compared ? device::stored_words(type) : device::device_words(type)) continue;
    return fail(ErrorCode::usage, fmt::format("beside keys and what is compared, tables brought to a device whole have "
                                              "columns of fixed width: '{}' is {}",
                                              schema[column].name, to_string(type)));
  }
  return {};
}

/// Adds what goes up of a column of strings: offsets, bytes, and codes.
void add_strings(device::DeviceTableState const& table, device::Strings const& strings, UploadSize& size) {
  for (auto const& piece : strings.pieces) {
    size.bytes += piece->count * materialize::kWordBytes + piece->num_bytes;
    size.converted += piece->count;
  }
  size.bytes += table.rows * materialize::kWordBytes;
}

/// Outlines of both tables. Errors: usage, limit_exceeded for columns that the device does not hold.
Result<TablesThere> outline(contract::JoinInquiry const& inquiry, UploadSize& size) {
  auto const& request = *inquiry.shape.tables;
  device::TableDevice device;
  device.info = inquiry.facts().info;
  std::vector<DeviceTable> tables;
  for (auto const side : {Side::left, Side::right}) {
    auto const& table = side == Side::left ? request.left : request.right;
    GARUDA_TRY_ASSIGN(auto const columns, resolve::columns_read(request, side));
    GARUDA_TRY(check_columns(request, side, columns));
    GARUDA_TRY_ASSIGN(auto one, device::outline_table(table, columns, device));
    GARUDA_TRY(check_buffers(one.columns, one.state->rows, inquiry.facts()));
    size.bytes += one.state->rows * device::row_bytes(one.columns);
    for (auto const& column : one.columns)
      if (!column.is_direct) size.converted += one.state->rows * column.sources.size();
    for (auto const& column : one.state->columns)
      if (column.strings != nullptr) add_strings(*one.state, *column.strings, size);
    tables.emplace_back(std::move(one.state));
  }
  return request_there(request, std::move(tables));
}

/// Opens the device and copies both tables there.
Result<TablesThere> upload(resolve::JoinRequest const& request, UploadedJoin const& join, run::QueryRun& run) {
  GARUDA_TRY_ASSIGN(auto const device, open_device(*request.devices, join.device, run.recorder));
  device::UploadOptions const options{join.upload, join.copy_threads, request.options.control, &run.recorder};
  std::vector<DeviceTable> tables;
  std::uint64_t bytes = 0;
  for (auto const side : {Side::left, Side::right}) {
    GARUDA_TRY_ASSIGN(auto const columns, resolve::columns_read(request, side));
    GARUDA_TRY_ASSIGN(
        auto table, device::upload_table(side == Side::left ? request.left : request.right, columns, device, options));
    bytes += table.device_bytes();
    tables.push_back(std::move(table));
  }
  GARUDA_TRY_ASSIGN(auto there, request_there(request, std::move(tables)));
  there.request.options.device_memory_limit_bytes = limit_beside(there.request.options, bytes);
  return there;
}

/// Errors: usage, invalid_input.
Result<void> check_uploaded(resolve::JoinRequest const& request) {
  if (request.columns.condition)
    GARUDA_TRY(
        device::check_device_condition(request.left.schema(), request.right.schema(), *request.columns.condition));
  return device::check_whole_keys(request.left.schema(), request.right.schema(), request.columns);
}

/// Of a row of the result that comes down.
double down_row_bytes(TablesThere const& there) {
  double bytes = 0;
  for (auto const& output : there.request.columns.output) {
    auto const& table = output.side == Side::left ? there.request.left : there.request.right;
    auto const& strings = table.resident()->columns[output.column].strings;
    bytes += static_cast<double>(materialize::kWordBytes *
                                 device::stored_words(table.schema()[output.column].type).value_or(1));
    if (strings == nullptr || strings->count() == 0) continue;
    auto const& piece = *strings->pieces.front();
    bytes += static_cast<double>(piece.num_bytes) / static_cast<double>(piece.count);
  }
  return bytes;
}

/// Rows, or their number, of tables that are brought there first.
void set_starts(UploadedJoin const& join, compute::ResidentJoinWay const& way, contract::JoinOffer& offer) {
  offer.start = [join, way](resolve::JoinRequest const& request, Plan plan) -> Result<std::unique_ptr<JoinResult>> {
    auto run = std::make_unique<run::QueryRun>(request.options);
    GARUDA_TRY_ASSIGN(auto const uploaded, upload(request, join, *run));
    return device::join_device_tables(uploaded.request, std::move(plan), way, std::move(run));
  };
  offer.count = [join, way](resolve::JoinRequest const& request, Plan const& plan) -> Result<contract::CountedWhole> {
    run::QueryRun run(request.options);
    GARUDA_TRY_ASSIGN(auto const uploaded, upload(request, join, run));
    return device::count_device_tables(uploaded.request, plan, way, run);
  };
}

}  // namespace

Result<std::vector<contract::JoinOffer>> offer_uploaded_join(contract::JoinInquiry const& inquiry) {
  auto const& facts = inquiry.facts();
  auto const& shape = inquiry.shape;
  GARUDA_TRY(check_uploaded(*shape.tables));
  GARUDA_TRY(check_placement(facts, inquiry.options.tuning.placement));
  UploadSize size;
  GARUDA_TRY_ASSIGN(auto const there, outline(inquiry, size));
  auto const matches = std::max(shape.expected_matches, shape.matched_left);
  GARUDA_TRY_ASSIGN(auto offered, offer_join_ways(inquiry, there.request, matches, false));
  UploadedJoin const join{*inquiry.device, inquiry.options.tuning.upload, copy_threads(inquiry)};
  auto const row_bytes = down_row_bytes(there);
  auto const rows = shape.output.empty() ? 0 : contract::result_rows(shape);
  CarriedShape const carried{static_cast<double>(size.bytes), rows * row_bytes, static_cast<double>(size.converted),
                             join.copy_threads};
  std::vector<contract::JoinOffer> offers;
  for (auto& [offer, way] : offered) {
    offer.device_bytes += size.bytes;
    auto const batch_rows = std::min(static_cast<double>(offer.chunk_rows), rows);
    offer.host_bytes = static_cast<std::uint64_t>(kHostBatches * batch_rows * row_bytes);
    GARUDA_TRY(check_budgets(inquiry.options, facts, offer.device_bytes, offer.host_bytes));
    auto there_ns = std::exchange(offer.candidate.phases_ns, {});
    contract::set_phases(offer.candidate, carried_costs(carried, std::move(there_ns), facts.rates(), inquiry.host));
    offer.details.emplace_back("placement", fmt::format("device: both tables go there whole, {} bytes", size.bytes));
    set_starts(join, way, offer);
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace garuda::placement
