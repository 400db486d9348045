// Joins whose tables go to a device whole: which can, on what device, and in what sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/calibration/rates.hpp"
#include "operators/join_request.hpp"

namespace garuda::operators {

/// One table of such a join: the columns that go to the device.
struct StreamedSide {
  TableView table;
  std::uint64_t rows = 0;
  std::vector<std::size_t> columns;  ///< of the table; the key first
  std::vector<std::uint32_t> words;  ///< u32 words of a value, of each of them

  std::uint64_t row_bytes() const noexcept;
};

/// A column of the result.
struct StreamedOutput {
  bool from_probe = false;   ///< side that it comes from
  std::size_t position = 0;  ///< among that side's columns; 0: the key
};

/// The plan, with what the driver needs beside the printable part.
struct StreamedPlan {
  Plan plan;
  JoinTuning tuning;
  std::size_t device = 0;  ///< index into the devices
  bool build_is_left = true;
  StreamedSide build;
  StreamedSide probe;
  std::vector<StreamedOutput> output;
  std::uint64_t range_rows = 0;     ///< probe rows that are joined at once
  std::uint64_t capacity_rows = 0;  ///< result rows that one of the sets of columns holds
  std::uint64_t batch_rows = 0;
  std::uint32_t copy_threads = 1;  ///< each way
  calibration::DeviceRates device_rates;
  calibration::HostRates host_rates;
  std::string reason;  ///< of the candidate: where the rates are from

  std::uint64_t result_row_bytes() const noexcept;
  /// What the join takes this way when it gives `matches` rows.
  Candidate candidate(double matches) const;
};

/// Sets of result columns on the device: one is written while the others are copied to the host.
inline constexpr std::uint32_t kResultSets = 3;

/// Either a plan or the reason why the join takes slices.
struct StreamedChoice {
  std::optional<StreamedPlan> plan;
  std::string refusal;
  ErrorCode code = ErrorCode::usage;  ///< of the refusal, where placement=device was asked for
};

/// Whether the options allow placing the tables on a device whole: path compute or automatic, not placement=slices.
bool may_stream(JoinOptions const& options) noexcept;

/// Plans, for a result of as many rows as the probe side. Requires may_stream(). Of path automatic without a device:
/// for the GPU with the least estimate. Reads null counts, nothing else of the tables. Errors: no_device, usage for a
/// device that cannot run the path; usage or, for want of memory, limit_exceeded when placement=device is asked for and
/// cannot be had, with the reason.
Result<StreamedChoice> plan_streamed_join(JoinRequest const& request);

}  // namespace garuda::operators
