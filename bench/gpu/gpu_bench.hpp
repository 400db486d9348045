// `garuda bench gpu`: the paths side by side on one GPU, in one process, over a grid of workloads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/operator_bench.hpp"
#include "bench/record.hpp"
#include "bench/workloads/workload.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

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

/// The paths that a mode measures, in the order of the table's columns.
std::vector<Path> paths_of(Mode mode);
/// The path that ratios are to: cuda on resident tables, cpu end to end.
Path base_of(Mode mode) noexcept;

/// Every cell is measured with this request, but its workload, mode and paths are the grid's. `choices` say how paths
/// go about resident tables; paths that they leave out choose for themselves.
struct GpuBenchRequest : OperatorRequest {
  GpuGrid grid = GpuGrid::full;
  std::vector<Mode> modes{Mode::resident, Mode::end_to_end};
  std::string only;           ///< cells with this in their name; empty: all
  std::uint64_t seconds = 0;  ///< cells that begin later are left out; 0: none
};

struct GpuCellOutcome {
  Mode mode = Mode::resident;
  std::string name;
  std::vector<Record> records;        ///< of the paths that ran
  std::vector<std::string> failures;  ///< of the others, and why
};

/// The record of a path, or null.
Record const* record_of(GpuCellOutcome const& outcome, Path path) noexcept;
/// Times of `path` over times of the base, pairwise; nothing when one of them did not run.
std::optional<RatioSummary> ratio_to_base(GpuCellOutcome const& outcome, Path path);

/// Measures cell after cell, each result verified first, paths taking turns, and calls `report` after each. A path that
/// fails or does not know a workload leaves its reason in the outcome. Blocks. Errors: usage; cancelled;
/// device_failure at the end when a result was wrong.
Result<void> run_gpu_bench(GpuBenchRequest const& request, std::function<void(GpuCellOutcome const&)> const& report);

}  // namespace garuda::bench
