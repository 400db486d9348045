#include "bench/workloads/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

// log1p(x) / x and expm1(x) / x, continued to x = 0: exponents at and near 1 need no case of their own.
double log1p_over(double x) noexcept {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x));
}
double expm1_over(double x) noexcept {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x * 0.5 * (1 + x * (1.0 / 3.0) * (1 + 0.25 * x));
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) noexcept : size_(size) {
  auto const bits = size > 1 ? static_cast<std::uint32_t>(std::bit_width(size - 1)) : 0U;
  low_bits_ = bits - bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits / 2)) - 1;
  for (std::uint32_t round = 0; round < kRounds; ++round) round_keys_[round] = derive_seed(seed, round);
}

ZipfSampler::ZipfSampler(std::uint64_t num_ranks, double exponent) : num_ranks_(num_ranks), exponent_(exponent) {
  GARUDA_EXPECTS(num_ranks > 0);
  GARUDA_EXPECTS(std::isfinite(exponent) && exponent >= 0);
  integral_first_ = integral(1.5) - 1;
  integral_last_ = integral(static_cast<double>(num_ranks) + 0.5);
  acceptance_ = 2 - integral_inverse(integral(2.5) - density(2));
}

double ZipfSampler::integral(double x) const noexcept {
  auto const log_x = std::log(x);
  return expm1_over((1 - exponent_) * log_x) * log_x;
}

double ZipfSampler::integral_inverse(double y) const noexcept {
  // Rounding may carry y beyond the end of the range, where the logarithm would not exist.
  auto const t = std::max(y * (1 - exponent_), -1.0);
  return std::exp(log1p_over(t) * y);
}

double ZipfSampler::density(double x) const noexcept { return std::exp(-exponent_ * std::log(x)); }

std::uint64_t ZipfSampler::operator()(RowRandom& random) const noexcept {
  while (true) {
    auto const u = integral_last_ + random.next_unit() * (integral_first_ - integral_last_);
    auto const x = integral_inverse(u);
    auto const last = static_cast<double>(num_ranks_);
    auto const k = std::clamp(std::floor(x + 0.5), 1.0, last);
    if (k - x <= acceptance_ || u >= integral(k + 0.5) - density(k)) return static_cast<std::uint64_t>(k) - 1;
  }
}

}  // namespace garuda::bench
