// Group-bys whose table goes to a device whole: which can, on what device, and at what price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/resolve/group_by_request.hpp"

namespace garuda::placement {

/// The plan, with what the driver needs beside the printable part.
struct StreamedGroupPlan {
  Plan plan;
  GroupByTuning tuning;
  std::size_t device = 0;  ///< index into the devices
  std::uint64_t rows = 0;
  std::vector<device::UploadColumn> columns;  ///< that go up
  std::uint64_t row_bytes = 0;                ///< of the columns that go up, as they lie on the device
  std::uint64_t result_row_bytes = 0;         ///< likewise of those that come down
  std::uint32_t converted = 0;                ///< values of a row that the host converts: narrow ones, bits of nulls
  std::uint64_t batch_rows = 0;
  std::uint32_t copy_threads = 1;  ///< each way
};

/// What of a row is on the device and of a group comes from there.
void measure(resolve::GroupByRequest const& request, StreamedGroupPlan& plan);
/// Device memory that grouping such rows takes, about.
std::uint64_t working_bytes(StreamedGroupPlan const& plan);
StreamedGroupShape shape_of(contract::GroupByInquiry const& inquiry, StreamedGroupPlan const& plan);

/// Offers to group shape.table whole on the inquiry's device. While no key was looked at, it is priced for half as many
/// groups as rows. Reads null counts, nothing else of the table. Errors: usage, limit_exceeded with the reason why not;
/// no_device for a device without the compute path.
Result<contract::GroupByOffer> offer_streamed_group_by(contract::GroupByInquiry const& inquiry);

}  // namespace garuda::placement
