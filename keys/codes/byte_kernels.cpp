#include "keys/codes/byte_kernels.hpp"

#include <algorithm>
#include <limits>

namespace garuda::keys {
std::optional<ByteSums> byte_weights(std::span<std::uint32_t const> radices) {
  std::array<std::uint64_t, kSummedBytes> radix;
  radix.fill(1);
  std::ranges::copy(radices, radix.begin());
  ByteSums sums;
  for (std::size_t p = 0; p < kSummedBytes; p += 2) {
    auto const second = radix[p + 1];
    // Two bytes' sum has to fit 16 bits with a sign, whatever the bytes are.
    if (second > std::numeric_limits<std::int8_t>::max()) return std::nullopt;
    sums.of_bytes[p] = static_cast<std::int8_t>(radix[p] > 1 ? second : 0);
    sums.of_bytes[p + 1] = second > 1 ? 1 : 0;
  }
  for (std::size_t pair = 0; pair < sums.of_pairs.size(); pair += 2) {
    auto const second = radix[2 * pair + 2] * radix[2 * pair + 3];
    if (second > std::numeric_limits<std::int16_t>::max()) return std::nullopt;
    sums.of_pairs[pair] = static_cast<std::int16_t>(second);
    sums.of_pairs[pair + 1] = 1;
  }
  std::uint64_t behind = 1;  // digits behind a four, multiplied
  for (auto four = sums.of_fours.size(); four-- > 0;) {
    sums.of_fours[four] = behind;
    for (std::size_t p = 4 * four; p < 4 * four + 4; ++p) behind *= radix[p];
  }
  return sums;
}

ByteKernels const& byte_kernels_baseline() noexcept {
  static constexpr ByteKernels kNone;
  return kNone;
}

ByteKernels const& byte_kernels(InstructionSet set) noexcept {
  return of_set<ByteKernels>(set, {
                                      byte_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                      byte_kernels_avx2,
                                      byte_kernels_avx512,
#endif
                                  });
}

}  // namespace garuda::keys
