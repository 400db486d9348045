// Statistics of a handful of timings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace garuda::bench {

/// Location and spread of timings. All zero without samples.
struct Summary {
  std::uint64_t median_ns = 0;
  std::uint64_t mad_ns = 0;  ///< median absolute deviation from the median
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  std::size_t samples = 0;

  friend bool operator==(Summary const&, Summary const&) = default;
};

/// Summarises timings in any order. The median of an even number is the mean of the middle two, rounded down.
Summary summarise(std::span<std::uint64_t const> samples_ns);

/// The position of the sample that is, or is next below, the median. Requires samples.
std::size_t median_position(std::span<std::uint64_t const> samples_ns);

/// `units` in `ns` nanoseconds as units a second; 0 when no time passed.
double per_second(std::uint64_t units, std::uint64_t ns) noexcept;

/// Median, least and greatest ratio of paired samples.
struct RatioSummary {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Summarises numerators[i] / denominators[i]. Requires equally many of both, denominators > 0.
RatioSummary summarise_ratios(std::span<std::uint64_t const> numerators, std::span<std::uint64_t const> denominators);

}  // namespace garuda::bench
