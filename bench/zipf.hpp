// Zipf-distributed ranks.
#pragma once

#include <cstdint>

#include "bench/random.hpp"

namespace garuda::bench {

/// Draws ranks 0…num_ranks-1 with probability proportional to 1 / (rank + 1)^exponent, in expected constant time and
/// without a table, by rejection-inversion (Hörmann and Derflinger 1996).
class ZipfSampler {
 public:
  /// Requires num_ranks > 0 and a finite exponent >= 0; exponent 0 is the uniform distribution.
  ZipfSampler(std::uint64_t num_ranks, double exponent);

  std::uint64_t operator()(RowRandom& random) const noexcept;

 private:
  double integral(double x) const noexcept;  // of the density, from 1
  double integral_inverse(double y) const noexcept;
  double density(double x) const noexcept;

  std::uint64_t num_ranks_;
  double exponent_;
  double integral_first_ = 0;
  double integral_last_ = 0;
  double acceptance_ = 0;
};

}  // namespace garuda::bench
