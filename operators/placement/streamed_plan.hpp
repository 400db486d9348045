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
#include "garuda/types.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::placement {

/// One table of such a join.
struct StreamedSide {
  TableView table;
  std::uint64_t rows = 0;
  std::vector<device::UploadColumn> columns;  ///< the key first
  std::optional<std::size_t> key_nulls;  ///< where the key has nulls: the column of words; the key's bit is the lowest
  std::vector<std::size_t> gathered;     ///< columns of the table that are fetched on the host, by row number

  /// Row numbers come down with the rows.
  bool numbers_rows() const noexcept { return !gathered.empty(); }
  std::uint64_t row_bytes() const noexcept { return device::row_bytes(columns); }  ///< that go up
  std::uint64_t moved_bytes() const noexcept;  ///< that the passes move: row numbers, too
};

/// Words that come down: a column of the device's result.
struct StreamedWords {
  bool from_probe = false;
  std::optional<std::size_t> column;  ///< of the side's columns; nullopt: row numbers
  std::uint32_t words = 1;

  friend bool operator==(StreamedWords const&, StreamedWords const&) = default;
};

/// A column of the result: words that came down, or a gathered column.
struct StreamedOutput {
  bool from_probe = false;
  DataType type;
  std::size_t values = 0;            ///< among StreamedPlan::arriving; of a gathered column: the row numbers
  std::uint32_t words = 1;           ///< of these
  bool is_direct = true;             ///< they are values of the type
  std::optional<std::size_t> nulls;  ///< among them
  std::uint32_t null_bit = 0;
  std::optional<std::size_t> gathered;  ///< among the side's gathered columns
};

/// The plan, with what the driver needs beside the printable part.
struct StreamedPlan {
  Plan plan;
  JoinTuning tuning;
  std::size_t device = 0;  ///< index into the devices
  bool build_is_left = true;
  StreamedSide build;
  StreamedSide probe;
  std::vector<StreamedWords> arriving;
  std::vector<StreamedOutput> output;
  std::uint64_t made_row_bytes = 0;  ///< of columns that are made from what came down, or gathered; about
  std::uint64_t range_rows = 0;      ///< probe rows that are joined at once
  std::uint64_t capacity_rows = 0;   ///< result rows that one of the sets of columns holds
  std::uint64_t batch_rows = 0;
  std::uint32_t copy_threads = 1;  ///< each way

  std::uint64_t result_row_bytes() const noexcept;    ///< on the device
  std::uint64_t arriving_row_bytes() const noexcept;  ///< that come down
};

/// Sets of result columns on the device: one is written while the others are copied to the host.
inline constexpr std::uint32_t kResultSets = 3;

/// Offers to join shape.tables whole on the inquiry's device. While no key was looked at, it is priced for a result of
/// as many rows as the probe side. Reads null counts, nothing else of the tables. Requires: streamed_key_type().
/// Errors: usage, limit_exceeded with the reason why not; no_device for a device without the compute path.
Result<contract::JoinOffer> offer_streamed_join(contract::JoinInquiry const& inquiry);

/// The plan of such an offer, for the request that it was made for.
StreamedPlan streamed_plan(resolve::JoinRequest const& request, contract::JoinOffer const& offer, Plan plan);

}  // namespace garuda::placement
