// The cost model: nanoseconds a phase of every way to run, from shape, statistics and rates. Pure functions; the
// formulas stand in one table of docs/design.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/calibration/rates.hpp"
#include "operators/group_by_planner.hpp"
#include "operators/join_planner.hpp"
#include "vk_runtime/device_traits.hpp"
#include "vk_runtime/transfer.hpp"

namespace garuda::operators {

using calibration::DeviceRates;
using calibration::HostRates;

/// Estimates by phase, named as the phases of a run.
using PhaseCosts = std::vector<std::pair<std::string, double>>;
double total_ns(PhaseCosts const& costs);

/// One way of a join through the graphics pipeline.
struct GraphicsWay {
  Address address = Address::hash;
  Storage storage = Storage::stack;
  Probe probe = Probe::output;
};
/// "address=direct,storage=runs,probe=output".
std::string to_string(GraphicsWay const& way);

/// How a device cuts the work of a join or a group-by.
struct DeviceCut {
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slices = 1;
  double pixels = 0;  ///< of all hash images together, one layer each
  vk::UploadMode upload = vk::UploadMode::stage;
};

/// The way to upload that takes least for slices of `bytes` bytes, of those that the device has.
vk::UploadMode cheapest_upload(DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes);

/// On the CPU path with 2^radix_bits partitions.
PhaseCosts cpu_join_costs(JoinShape const& shape, std::uint32_t radix_bits, HostRates const& host);

PhaseCosts graphics_join_costs(JoinShape const& shape, GraphicsWay const& way, DeviceCut const& cut,
                               DeviceRates const& rates, HostRates const& host);
PhaseCosts compute_join_costs(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                              HostRates const& host);

PhaseCosts cpu_group_by_costs(GroupByShape const& shape, HostRates const& host);
PhaseCosts graphics_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                   HostRates const& host);
PhaseCosts compute_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                  HostRates const& host);

}  // namespace garuda::operators
