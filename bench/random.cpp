#include "bench/random.hpp"

#include <bit>

namespace garuda::bench {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) noexcept : size_(size) {
  auto const bits = size > 1 ? static_cast<std::uint32_t>(std::bit_width(size - 1)) : 0U;
  low_bits_ = bits - bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits / 2)) - 1;
  for (std::uint32_t round = 0; round < kRounds; ++round) round_keys_[round] = derive_seed(seed, round);
}

}  // namespace garuda::bench
