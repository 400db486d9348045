// `garuda bench histogram`: integers counted by their low bits, as GARUDA's §6.2 does, by blending and by atomics.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/record.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

struct HistogramRequest {
  std::uint64_t rows = std::uint64_t{1} << 25;
  std::uint64_t bins = std::uint64_t{1} << 24;
  std::vector<Path> paths{Path::graphics, Path::compute, Path::cuda};
  std::optional<std::string> device;
  std::uint32_t repeat = 7;
  std::uint64_t seed = 1;
  std::atomic<bool> const* cancelled = nullptr;  ///< looked at between settings
};

/// One path with one setting.
struct HistogramOutcome {
  Record record;  ///< op "histogram", mode "resident"; without the clearing of the bins
  std::string setting;
};

/// Counts random words on every path: graphics draws a point a value and adds by blending, compute and cuda add by
/// atomics in every setting of their grids. Every count is compared with the host's before anything is timed.
/// Outcomes in the order of paths, then settings. Blocks. Errors: usage for bins that are no power of two, or no image;
/// those of the paths; device_failure for a wrong count; cancelled.
Result<std::vector<HistogramOutcome>> run_histogram_bench(HistogramRequest const& request);

}  // namespace garuda::bench
