#include "bench/sampling.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

template <class T>
T median_of_sorted(std::vector<T> const& sorted) {
  auto const middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

}  // namespace

Summary summarise(std::span<std::uint64_t const> samples_ns) {
  if (samples_ns.empty()) return {};
  std::vector<std::uint64_t> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.samples = sorted.size();
  summary.min_ns = sorted.front();
  summary.max_ns = sorted.back();
  summary.median_ns = median_of_sorted(sorted);
  for (auto& sample : sorted)
    sample = sample > summary.median_ns ? sample - summary.median_ns : summary.median_ns - sample;
  std::sort(sorted.begin(), sorted.end());
  summary.mad_ns = median_of_sorted(sorted);
  return summary;
}

std::size_t median_position(std::span<std::uint64_t const> samples_ns) {
  GARUDA_EXPECTS(!samples_ns.empty());
  std::vector<std::size_t> order(samples_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](std::size_t a, std::size_t b) { return samples_ns[a] < samples_ns[b]; });
  return *middle;
}

double per_second(std::uint64_t units, std::uint64_t ns) noexcept {
  return ns == 0 ? 0 : static_cast<double>(units) * 1e9 / static_cast<double>(ns);
}

RatioSummary summarise_ratios(std::span<std::uint64_t const> numerators, std::span<std::uint64_t const> denominators) {
  GARUDA_EXPECTS(numerators.size() == denominators.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    GARUDA_EXPECTS(denominators[i] > 0);
    ratios.push_back(static_cast<double>(numerators[i]) / static_cast<double>(denominators[i]));
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  return {median_of_sorted(ratios), ratios.front(), ratios.back()};
}

}  // namespace garuda::bench
