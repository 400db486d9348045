// The cost model: nanoseconds a phase of every way to run, from shape, statistics and rates. Pure functions; the
// formulas stand in one table of docs/design.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/calibration/rates.hpp"
#include "operators/group_by_planner.hpp"
#include "operators/join_planner.hpp"
#include "operators/sizing.hpp"
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
  Matching matching = Matching::draw;
  Counting counting = Counting::blend;  ///< of statistics and, where matches are drawn, of stack counts
};
/// "address=direct,storage=runs,probe=output", "…,matching=compute,counting=compute".
std::string to_string(GraphicsWay const& way);

/// One way of a join on the CPU path.
struct CpuJoinWay {
  std::uint32_t radix_bits = 0;
  std::vector<std::size_t> carried;              ///< positions in JoinShape::output; none when radix_bits is 0
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  BuildSide build = BuildSide::automatic;        ///< the smaller side of each partition, or always one

  bool carries(std::size_t column) const { return std::ranges::find(carried, column) != carried.end(); }
};

/// How a device cuts the work of a join or a group-by.
struct DeviceCut {
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slices = 1;
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  double pixels = 0;                             ///< of all hash images together, one layer each
  vk::UploadMode upload = vk::UploadMode::stage;
};

/// The way to upload that takes least for slices of `bytes` bytes, of those that the device has.
vk::UploadMode cheapest_upload(DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes);

/// Rows of the batches that take least time to make, of a few sizes; on the CPU path a task makes no more of them than
/// it has. What memory allows is another matter.
std::uint64_t cpu_chunk_rows(JoinShape const& shape, HostRates const& host);
std::uint64_t device_chunk_rows(JoinShape const& shape, HostRates const& host);

PhaseCosts cpu_join_costs(JoinShape const& shape, CpuJoinWay const& way, HostRates const& host);
PhaseCosts graphics_join_costs(JoinShape const& shape, GraphicsWay const& way, DeviceCut const& cut,
                               DeviceRates const& rates, HostRates const& host);
/// `method`: not automatic; of the phases that others than partitioned have differently see sorted_join_costs.
PhaseCosts compute_join_costs(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                              HostRates const& host, JoinMethod method = JoinMethod::partitioned);

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
PhaseCosts streamed_join_costs(StreamedShape const& shape, DeviceRates const& rates, HostRates const& host);

/// A group-by whose table goes to the device whole.
struct StreamedGroupShape {
  double rows = 0;
  double groups = 0;
  double row_bytes = 0;  ///< of the columns that go up
  double result_row_bytes = 0;
  std::uint32_t converted = 0;  ///< values of a row that one host thread converts
  std::uint32_t copy_threads = 1;
  bool encodes_first = false;  ///< keys are encoded on the host before the way is chosen
};
PhaseCosts streamed_group_by_costs(StreamedGroupShape const& shape, DeviceRates const& rates, HostRates const& host);

/// How the CPU path cuts a table that it groups slice by slice.
struct SliceCut {
  std::uint32_t radix_bits = 0;
  std::uint64_t slice_rows = kMaxPassRows;
};
/// `grouping`: not automatic. `slices`: of that grouping alone.
PhaseCosts cpu_group_by_costs(GroupByShape const& shape, Grouping grouping, SliceCut const& slices,
                              HostRates const& host);
PhaseCosts graphics_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                   HostRates const& host);
PhaseCosts compute_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                  HostRates const& host);

}  // namespace garuda::operators
