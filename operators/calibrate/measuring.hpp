// How a rate is measured: enough work to be longer than the noise, then the fastest of a few runs, while there is time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stopwatch.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"

namespace garuda::calibrate {

/// Nanoseconds from which on a run is long enough to be trusted.
inline constexpr double kTrustedNs = 20e6;
/// The longest that measuring the host, or a device, is to take: late rates are measured in one run each.
inline constexpr std::chrono::seconds kMostMeasuring{10};
/// Other work on the machine only ever slows a run down: the fastest is the one that was disturbed least.
inline constexpr int kRepetitions = 5;

/// The least one; not less than 1 ns. Requires samples.
inline double fastest(std::vector<double> const& samples_ns) {
  GARUDA_EXPECTS(!samples_ns.empty());
  return std::max(std::ranges::min(samples_ns), 1.0);
}

/// The time of one subject, that is the host or a device: how much of it there is, and how much was taken.
/// Refers to `control`. Used by one thread.
class MeasuringTime {
 public:
  /// `gives_up`: what is not measured within `most` is an error; else it is merely measured in one run a rate.
  MeasuringTime(Control const& control, std::chrono::nanoseconds most, bool gives_up) noexcept
      : control_(control), most_(most), gives_up_(gives_up) {}

  Control const& control() const noexcept { return control_; }

  /// Reports what is measured next; the time that this takes does not count.
  void report(std::string_view what);

  /// Whether more than `share` of the time is over.
  bool is_late(double share) const;
  /// Runs of a rate: fewer where it is late.
  int repetitions(double share) const { return is_late(share) ? 1 : kRepetitions; }

  /// Checks before every run whether to go on. Errors: cancelled; limit_exceeded once the time is over.
  Result<void> check() const;

 private:
  Control const& control_;
  std::chrono::nanoseconds most_;
  bool gives_up_;
  Stopwatch watch_;              // since the last report
  std::uint64_t before_ns_ = 0;  // until it
};

/// Items a second of `run(items)`, a Result of the nanoseconds that it took: called with ever more items, from `least`
/// up to `most`, fourfold each time, until it takes kTrustedNs; the fastest of kRepetitions runs at that size, of one
/// where more than `share` of the time is over. Errors: those of MeasuringTime::check and `run`.
template <class Run>
Result<double> measure_rate(std::uint64_t least, std::uint64_t most, MeasuringTime const& time, double share,
                            Run const& run) {
  auto const repetitions = time.repetitions(share);
  for (auto items = least;; items = std::min(items * 4, most)) {
    std::vector<double> samples_ns;
    bool is_short = false;
    for (int i = 0; i < repetitions && !is_short; ++i) {
      GARUDA_TRY(time.check());
      GARUDA_TRY_ASSIGN(auto const ns, run(items));
      samples_ns.push_back(static_cast<double>(ns));
      is_short = items < most && samples_ns.back() < kTrustedNs;
    }
    if (!is_short) return static_cast<double>(items) / fastest(samples_ns) * 1e9;
  }
}

}  // namespace garuda::calibrate
