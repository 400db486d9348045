// How and where an operator runs, and the stream of batches it gives: shared by all operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "garuda/control.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"

namespace garuda {

/// What runs a pass that a device may be unable to blend.
enum class Counting : std::uint8_t { automatic, blend, compute };
/// How keys and values reach a device.
enum class Upload : std::uint8_t { automatic, map, stage, import };
/// Where the compute path partitions and keeps the tables.
enum class Placement : std::uint8_t {
  automatic,  ///< on the device where it has memory of its own and the tables fit, else in slices
  device,     ///< whole in device memory: columns stream up, result columns stream down. In group-bys of fixed width; in
              ///< joins row numbers come down for what has none
  slices,     ///< keys partitioned on the host, slices of them on the device, the result made on the host
};
/// Where a row is drawn.
enum class Address : std::uint8_t {
  automatic,
  hash,    ///< pixel = leading bits of a mixed key
  direct,  ///< pixel = key - smallest key of the partition
};

/// How and where to run; changes speed and resources, never results. Each operator adds its tuning.
struct RunOptions {
  Path path = Path::automatic;
  bool allow_cuda = false;                      ///< whether `automatic` may take the CUDA path where Vulkan has a GPU
  std::optional<std::string> device;            ///< index or part of a name; nullopt: the engine's choice
  std::uint64_t memory_limit_bytes = 0;         ///< host memory beside the inputs; 0: three quarters of free
  std::uint64_t device_memory_limit_bytes = 0;  ///< 0: the device's budget
  std::uint32_t threads = 0;                    ///< 0: all
  Control control;
};

/// The rows of a result in batches, produced while they are read; work goes on in the background between calls.
/// Destroying it early cancels what still runs and frees everything.
class QueryResult : public BatchStream {
 public:
  /// The plan that is being executed.
  virtual Plan const& plan() const noexcept = 0;
  /// What has been done so far; complete after the last batch.
  virtual RunStats stats() const = 0;
};

}  // namespace garuda
