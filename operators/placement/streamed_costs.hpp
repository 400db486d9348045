// Prices of joins and group-bys whose tables go to the device whole.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operators/compute/strings/device_strings.hpp"
#include "operators/contract/offers/costs.hpp"

namespace garuda::placement {

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
