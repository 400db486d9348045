// The workloads of `garuda bench gpu`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads/workload.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

struct GpuCell {
  std::string name;
  WorkloadSpec workload;
};

/// How much is measured.
enum class GpuGrid : std::uint8_t {
  quick,   ///< up to 2^22 rows a side and 2^24 rows of group-bys
  full,    ///< up to 2^28 rows a side and 2^27 rows of group-bys
  rivals,  ///< what public CUDA joins and group-bys were measured with: 2^24 and 2^27 rows
};
/// Parses `quick`, `full` or `rivals`. Errors: usage.
Result<GpuGrid> parse_gpu_grid(std::string_view text);

/// Cells of resident queries: sizes first, then one axis after the other at a middle size; the most important first,
/// since time may run out.
std::vector<GpuCell> resident_cells(GpuGrid grid);
/// Cells of whole calls, host memory to host memory, in that order.
std::vector<GpuCell> end_to_end_cells(GpuGrid grid);

}  // namespace garuda::bench
