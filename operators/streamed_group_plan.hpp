// Group-bys whose table goes to a device whole: which can, on what device, and at what price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "operators/calibration/rates.hpp"
#include "operators/group_by_request.hpp"
#include "operators/streamed_choice.hpp"

namespace garuda::operators {

/// The plan, with what the driver needs beside the printable part.
struct StreamedGroupPlan {
  Plan plan;
  GroupByTuning tuning;
  std::size_t device = 0;  ///< index into the devices
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;         ///< of the columns that go up, as they lie on the device
  std::uint64_t result_row_bytes = 0;  ///< likewise of those that come down
  std::uint32_t converted = 0;         ///< values of a row that one host thread converts: narrow ones, bits of nulls
  std::uint64_t batch_rows = 0;
  std::uint32_t copy_threads = 1;  ///< each way
  calibration::DeviceRates device_rates;
  calibration::HostRates host_rates;
  std::string reason;  ///< of the candidate: where the rates are from

  /// What the group-by takes this way when it gives `groups` groups. `encodes_first`: keys are encoded on the host to
  /// tell whether another way is cheaper.
  Candidate candidate(double groups, bool encodes_first) const;
};

using StreamedGroupChoice = StreamedChoice<StreamedGroupPlan>;

/// Whether the options allow placing the table on a device whole: path compute or automatic, not placement=slices.
bool may_stream(GroupByOptions const& options) noexcept;

/// Plans. Requires may_stream(). Of path automatic without a device: for the GPU with the least estimate. Reads null
/// counts, nothing else of the table. Errors: no_device, usage for a device that cannot run the path; usage or, for
/// want of memory, limit_exceeded when placement=device is asked for and cannot be had, with the reason.
Result<StreamedGroupChoice> plan_streamed_group_by(GroupByRequest const& request);

}  // namespace garuda::operators
