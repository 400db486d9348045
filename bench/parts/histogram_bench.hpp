// `garuda bench histogram`: integers counted by their low bits, as GARUDA's §6.2 does, by blending and by atomics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

struct HistogramRequest : Sampling {
  std::uint64_t rows = std::uint64_t{1} << 25;
  std::uint64_t bins = std::uint64_t{1} << 24;
  std::vector<Path> paths{Path::graphics, Path::compute, Path::cuda};
  std::optional<std::string> device;
};

/// Counts random words on every path: graphics draws a point a value and adds by blending, compute and cuda add by
/// atomics in every setting of their grids, the setting the first of an outcome's notes. Every count is compared with
/// the host's before anything is timed; settings are timed one after the other, without the clearing of the bins: op
/// "histogram", mode "resident". Outcomes in the order of paths, then settings. Blocks. Errors: usage for bins that are
/// no power of two, or no image; those of the paths; device_failure for a wrong count; cancelled.
Result<std::vector<Outcome>> run_histogram_bench(HistogramRequest const& request);

}  // namespace garuda::bench
