// How and where an operator runs, and the stream of batches it gives: shared by all operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "garuda/control.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"

namespace garuda {

class DeviceTable;

/// How keys and values reach a device.
enum class Upload : std::uint8_t { automatic, map, stage, import };
/// Where the compute path partitions and keeps the tables.
enum class Placement : std::uint8_t {
  automatic,  ///< on the device where it has memory of its own and the tables fit, else in slices
  device,  ///< whole in device memory: columns stream up, result columns stream down. In group-bys of fixed width; in
           ///< joins row numbers come down for what has none
  slices,  ///< keys partitioned on the host, slices of them on the device, the result made on the host
};
/// Where a row is drawn.
enum class Address : std::uint8_t {
  automatic,
  hash,    ///< pixel = leading bits of a mixed key
  direct,  ///< pixel = key - smallest key of the partition
};

/// Knobs that joins and group-bys have in common: they change speed, never results. Zero, -1 or `automatic` leaves the
/// choice to the planner; calls refuse what is out of range. Each operator adds its own.
struct RunTuning {
  Address address = Address::automatic;
  Upload upload = Upload::automatic;
  Placement placement = Placement::automatic;  ///< of the compute path
  std::int32_t radix_bits = -1;                ///< partitions = 2^radix_bits, 0…16
  std::uint32_t slice_rows = 0;                ///< most rows of a table in one pass, at most 2^24
  std::uint32_t lanes = 0;                     ///< partitions in flight, at most 256
  std::uint32_t chunk_rows = 0;                ///< rows of a result batch, at most 2^30

  friend bool operator==(RunTuning const&, RunTuning const&) = default;
};

/// No call takes more threads. Above the cores of any host, and below what a process can start.
inline constexpr std::uint32_t kMostThreads = 4'096;

/// How and where to run; changes speed and resources, never results. Each operator adds its tuning.
struct RunOptions {
  Path path = Path::automatic;
  bool allow_cuda = false;                      ///< whether `automatic` may take the CUDA path where Vulkan has a GPU
  std::optional<std::string> device;            ///< index or part of a name; nullopt: the engine's choice
  std::uint64_t memory_limit_bytes = 0;         ///< host memory beside the inputs; 0: three quarters of free
  std::uint64_t device_memory_limit_bytes = 0;  ///< 0: the device's budget
  std::uint32_t threads = 0;                    ///< 0: all; at most kMostThreads
  /// Rows of the result, about, for tables on a device; 0: estimated from a sample. A wrong number costs time only.
  std::uint64_t expected_rows = 0;
  Control control;

  /// Whether no path is asked for, so that the planner picks one.
  bool picks_path() const noexcept { return path == Path::automatic; }
};

/// The rows of a result in batches, produced while they are read; work goes on in the background between calls.
/// Destroying it early cancels what still runs and frees everything.
class QueryResult : public BatchStream {
 public:
  /// The plan that is being executed.
  virtual Plan const& plan() const noexcept = 0;
  /// Statistics of the run so far; complete after the last batch.
  virtual RunStats stats() const = 0;
  /// Leaves the rows where they were made, on a device, instead of reading them: call it once, before next(), which
  /// then has none. Errors: usage for a result that is made on the host or in parts, as that of host tables may be.
  virtual Result<DeviceTable> take_device_table();
};

}  // namespace garuda
