// Queries whose columns go to a device whole, beside those that it takes in slices: which of the two are offered, and
// what it takes to bring tables there.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/query_run.hpp"
#include "vk_runtime/memory/copy_team.hpp"

namespace garuda::placement {

/// Whether a query that may take slices as well takes this device. Errors: usage where it leaves it alone; no_device
/// for one without the compute path.
Result<void> check_placement(contract::DeviceFacts const& facts, Placement asked);

/// Errors: limit_exceeded when so many bytes may not be taken, or a column is larger than the device's buffers.
Result<void> check_budgets(RunOptions const& options, contract::DeviceFacts const& facts, std::uint64_t device_bytes,
                           std::uint64_t host_bytes);
Result<void> check_buffers(std::span<device::UploadColumn const> columns, std::uint64_t rows,
                           contract::DeviceFacts const& facts);

/// Opens a device for tables, timed. Errors: those of open_vulkan.
Result<device::TableDevice> open_device(contract::DeviceSet& devices, std::size_t index, run::RunRecorder& recorder);

/// How keys of strings are compared, for the plan.
void describe(compute::NumberedStrings const& strings, contract::Offer& offer);

/// Threads that copy each way: as many as lanes are asked for, or of the query's those that still help.
template <class Inquiry>
std::uint32_t copy_threads(Inquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.lanes;
  return asked != 0 ? asked : std::min(inquiry.shape.threads, vk::kMostStreamingThreads);
}

/// Rows of a batch that comes down.
inline constexpr std::uint64_t kWholeBatchRows = std::uint64_t{1} << 22;
/// Batches in the host's memory: two are on their way, and one that was given may be kept.
inline constexpr std::uint64_t kHostBatches = 3;

/// Adds what the offers of all operators have in common that take tables whole.
template <class Inquiry, class Offer>
void describe_whole(Inquiry const& inquiry, Offer& offer) {
  auto const asked = inquiry.options.tuning.chunk_rows;
  offer.source = inquiry.shape.resident_on ? contract::TableSource::resident : contract::TableSource::upload;
  offer.tuning.placement = Placement::device;
  offer.candidate.choices = to_string(offer.tuning);
  offer.chunk_rows = asked != 0 ? asked : kWholeBatchRows;
  offer.lanes = copy_threads(inquiry);
  if (inquiry.shape.resident_on)
    offer.details.emplace_back("placement", "device: the columns live there, and so does the result until it is read");
}

/// Whether a query is offered to be taken whole: always where its tables live; of others path automatic leaves
/// integrated and software devices alone.
template <class Inquiry>
bool may_take_whole(Inquiry const& inquiry) {
  if (inquiry.shape.resident_on) return true;
  if (inquiry.options.tuning.placement == Placement::slices) return false;
  if (inquiry.options.path == Path::compute) return inquiry.requested == inquiry.device;
  return inquiry.options.path == Path::automatic && inquiry.facts().info->kind != DeviceKind::cpu &&
         (!inquiry.requested || inquiry.requested == inquiry.device);
}

/// The whole offers, or why there are none, beside the slices, which add_slices(offers) adds; nullopt: they were not
/// asked for. Tables on a device have no slices, nor has a path that was asked for by name beside whole offers: slices
/// move every row up as well, after the host has encoded and partitioned it. Errors: those of both, when
/// placement=device, or a path that the device does not have, is asked for.
template <class Offer, class Inquiry, class AddSlices>
Result<contract::Offers<Offer>> beside_slices(Inquiry const& inquiry, std::optional<Result<std::vector<Offer>>> whole,
                                              AddSlices const& add_slices) {
  bool const is_named = inquiry.options.path == Path::compute;
  bool const is_offered = whole && *whole;
  contract::Offers<Offer> offers;
  if (whole && !is_offered && inquiry.shape.resident_on) return propagate(std::move(*whole));
  if (whole && !is_offered) {
    auto const& error = whole->error();
    bool const is_refused = error.code() != ErrorCode::no_device;
    if (is_refused && inquiry.options.tuning.placement == Placement::device)
      return fail(error.code(), fmt::format("placement=device cannot be had: {}", error.message()));
    if (is_refused && is_named) offers.notes.push_back(fmt::format("placement=slices: {}", error.message()));
    if (!is_refused && is_named) return propagate(std::move(*whole));
  }
  if (!is_offered || !(is_named || inquiry.shape.resident_on)) GARUDA_TRY(add_slices(offers));
  if (is_offered) std::ranges::move(**whole, std::back_inserter(offers.list));
  return offers;
}

/// Device bytes that a plan adds for small buffers and alignment.
inline constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

/// A join whose tables go to the device whole.
struct StreamedShape {
  double build_rows = 0;
  double probe_rows = 0;
  double matches = 0;
  double build_row_bytes = 0;  ///< of the columns that go up
  double probe_row_bytes = 0;
  double build_moved_bytes = 0;  ///< of what the passes move
  double probe_moved_bytes = 0;
  double result_row_bytes = 0;    ///< on the device
  double arriving_row_bytes = 0;  ///< that come down
  /// Columns that the host gathers by row number: bytes of a value and of the column.
  std::vector<std::pair<double, double>> gathered;
  double key_bytes = 4;
  double range_rows = 1;  ///< of the probe side, joined at once
  std::uint32_t copy_threads = 1;
};
/// Copies of ranges, passes and copies of rows run side by side, so that the slowest of them counts.
contract::PhaseCosts streamed_join_costs(StreamedShape const& shape, rates::DeviceRates const& rates,
                                         rates::HostRates const& host);

/// Bytes that go to a device before a query of tables there, and bytes of its result that come down.
struct CarriedShape {
  double up_bytes = 0;
  double down_bytes = 0;
  double converted = 0;  ///< values that the host converts; priced as of one thread
  std::uint32_t copy_threads = 1;
};
/// `there`: the query's own.
contract::PhaseCosts carried_costs(CarriedShape const& shape, contract::PhaseCosts there,
                                   rates::DeviceRates const& rates, rates::HostRates const& host);

/// A group-by whose table goes to the device whole.
struct StreamedGroupShape {
  double rows = 0;
  double groups = 0;
  double row_bytes = 0;  ///< of the columns that go up
  double result_row_bytes = 0;
  std::uint32_t converted = 0;  ///< values of a row that the host converts; priced as of one thread
  std::uint32_t copy_threads = 1;
  bool encodes_first = false;                       ///< keys are encoded on the host before the way is chosen
  std::vector<compute::NumberedStrings> strings{};  ///< of keys of strings, a column each
};
/// Prices a group-by of a table that lives on the device.
contract::PhaseCosts resident_group_by_costs(StreamedGroupShape const& shape, rates::DeviceRates const& rates,
                                             rates::HostRates const& host);
contract::PhaseCosts streamed_group_by_costs(StreamedGroupShape const& shape, rates::DeviceRates const& rates,
                                             rates::HostRates const& host);

}  // namespace garuda::placement
