// Random numbers and permutations as functions of (seed, position): the same data whatever the number of threads.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstdint>
#include <vector>

namespace garuda::bench {

/// A bijection of 64-bit words that spreads every bit (the finaliser of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A bijection of 32-bit words that spreads every bit (the finaliser of MurmurHash3).
constexpr std::uint32_t mix32(std::uint32_t x) noexcept {
  x = (x ^ (x >> 16)) * 0x85ebca6b;
  x = (x ^ (x >> 13)) * 0xc2b2ae35;
  return x ^ (x >> 16);
}

/// A seed for one purpose of many, so that no two columns share a sequence.
constexpr std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t purpose) noexcept {
  return mix64(mix64(seed + 0x9e3779b97f4a7c15) + purpose * 0x9e3779b97f4a7c15);
}

/// The sequence of random words of one row.
class RowRandom {
 public:
  constexpr RowRandom(std::uint64_t seed, std::uint64_t row) noexcept : state_(mix64(seed ^ mix64(row))) {}

  constexpr std::uint64_t next() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15); }
  /// Uniform in [0, 1), in steps of 2^-53.
  constexpr double next_unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [0, bound), up to a bias of bound / 2^64. Requires bound > 0.
  constexpr std::uint64_t next_below(std::uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

/// `count` words, each made from its row alone.
template <class Make>
std::vector<std::uint32_t> make_words(std::uint64_t count, Make const& make) {
  std::vector<std::uint32_t> words(count);
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 1U << 14), [&](auto const& rows) {
    for (auto row = rows.begin(); row != rows.end(); ++row) words[row] = static_cast<std::uint32_t>(make(row));
  });
  return words;
}

inline std::vector<std::uint32_t> random_words(std::uint64_t count, std::uint64_t seed) {
  return make_words(count, [&](auto row) { return RowRandom(seed, row).next(); });
}

/// A pseudo-random permutation of [0, size), evaluated at any position in constant time: a Feistel network over the
/// smallest power of two, walked until it falls inside (Black and Rogaway 2002).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed) noexcept;

  /// Requires position < size.
  std::uint64_t operator()(std::uint64_t position) const noexcept {
    do {
      position = encrypt(position);
    } while (position >= size_);
    return position;
  }

 private:
  static constexpr std::uint32_t kRounds = 6;

  std::uint64_t encrypt(std::uint64_t word) const noexcept {
    auto high = word >> low_bits_;
    auto low = word & low_mask_;
    for (std::uint32_t round = 0; round < kRounds; round += 2) {
      high ^= mix64(low ^ round_keys_[round]) & high_mask_;
      low ^= mix64(high ^ round_keys_[round + 1]) & low_mask_;
    }
    return (high << low_bits_) | low;
  }

  std::uint64_t size_;
  std::uint32_t low_bits_ = 0;
  std::uint64_t low_mask_ = 0;
  std::uint64_t high_mask_ = 0;
  std::uint64_t round_keys_[kRounds] = {};
};

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
