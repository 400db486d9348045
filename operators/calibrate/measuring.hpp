// How a rate is measured: enough work to be longer than the noise, then the fastest of a few runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"

namespace garuda::calibrate {

/// Nanoseconds from which on a run is long enough to be trusted.
inline constexpr double kTrustedNs = 20e6;
/// Other work on the machine only ever slows a run down: the fastest is the one that was disturbed least.
inline constexpr int kRepetitions = 5;

/// The middle one, or the mean of the middle two; not less than 1 ns. Requires samples.
inline double median(std::vector<double> samples_ns) {
  GARUDA_EXPECTS(!samples_ns.empty());
  std::ranges::sort(samples_ns);
  auto const n = samples_ns.size();
  return std::max((samples_ns[(n - 1) / 2] + samples_ns[n / 2]) / 2, 1.0);
}

/// The least one; not less than 1 ns. Requires samples.
inline double fastest(std::vector<double> const& samples_ns) {
  GARUDA_EXPECTS(!samples_ns.empty());
  return std::max(std::ranges::min(samples_ns), 1.0);
}

/// Items a second of `run(items)`, a Result of the nanoseconds that it took: called with ever more items, from `least`
/// up to `most`, fourfold each time, until it takes kTrustedNs; the fastest of `repetitions` runs at that size.
/// Errors: cancelled, those of `run`.
template <class Run>
Result<double> measure_rate(std::uint64_t least, std::uint64_t most, Control const& control, Run const& run,
                            int repetitions = kRepetitions) {
  for (auto items = least;; items = std::min(items * 4, most)) {
    std::vector<double> samples_ns;
    for (int i = 0; i < repetitions; ++i) {
      if (control.is_cancelled()) return fail(ErrorCode::cancelled, "the calibration was cancelled");
      GARUDA_TRY_ASSIGN(auto const ns, run(items));
      samples_ns.push_back(static_cast<double>(ns));
      if (items < most && samples_ns.back() < kTrustedNs) break;
    }
    if (items >= most || std::ssize(samples_ns) == repetitions)
      return static_cast<double>(items) / fastest(samples_ns) * 1e9;
  }
}

}  // namespace garuda::calibrate
