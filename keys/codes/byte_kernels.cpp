// Codes of bytes, compiled for each set of instructions (GARUDA_KERNELS); the baseline does not multiply bytes.
#include "keys/codes/byte_kernels.hpp"

#ifdef GARUDA_KERNEL_SET
#include <immintrin.h>

#include <cstring>
#else
#include <algorithm>
#include <limits>
#endif

namespace garuda::keys {

#ifndef GARUDA_KERNEL_SET
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
#endif

namespace {

#ifdef GARUDA_KERNEL_SET

/// 255 for bytes that a value has, when it is loaded from 16 less their number on.
alignas(16) constexpr std::uint8_t kPresentBytes[2 * kSummedBytes] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                                      255, 255, 255, 255, 255, 255, 255, 255};

inline __m128i load_bytes(void const* from) noexcept { return _mm_loadu_si128(static_cast<__m128i const*>(from)); }

inline __m128i present_mask(std::size_t known) noexcept { return load_bytes(kPresentBytes + kSummedBytes - known); }

inline std::size_t known_bytes(std::size_t size) noexcept { return size < kSummedBytes ? size : kSummedBytes; }

/// A value's length, and its first 16 bytes, zeros behind it.
struct LoadedValue {
  std::size_t size;
  __m128i bytes;
};

/// `next()`: the next LoadedValue.
template <class Next>
void write_codes(std::size_t count, ByteSums const& sums, Next next, std::uint64_t* codes) {
  auto const least = load_bytes(&sums.least);
  auto const greatest = load_bytes(&sums.greatest);
  auto const of_bytes = load_bytes(&sums.of_bytes);
  auto const of_pairs = load_bytes(&sums.of_pairs);
  std::uint64_t of_fours[kSummedBytes / 4];
  std::memcpy(of_fours, &sums.of_fours, sizeof(of_fours));
  std::uint64_t of_length[kSummedBytes + 1];
  std::memcpy(of_length, &sums.of_length, sizeof(of_length));
  auto const shortest = sums.shortest;
  auto const lengths = sums.longest - sums.shortest;
  auto const of_others = sums.of_others;
  bool const has_eight = sums.longest <= 8;
  for (std::size_t i = 0; i < count; ++i) {
    auto const [size, bytes] = next();
    auto const known = known_bytes(size);
    // Saturated differences: zero where a byte is in the range of its place, or is behind the value.
    auto const below = _mm_and_si128(_mm_subs_epu8(least, bytes), present_mask(known));
    auto const differs = _mm_or_si128(below, _mm_subs_epu8(bytes, greatest));
    bool const is_other = _mm_testz_si128(differs, differs) == 0 || size - shortest > lengths;
    auto const fours = _mm_madd_epi16(_mm_maddubs_epi16(bytes, of_bytes), of_pairs);
    auto const first = static_cast<std::uint64_t>(_mm_cvtsi128_si64(fours));
    auto code = of_length[known] + (first & 0xFFFF'FFFF) * of_fours[0] + (first >> 32) * of_fours[1];
    if (!has_eight) {
      auto const second = static_cast<std::uint64_t>(_mm_extract_epi64(fours, 1));
      code += (second & 0xFFFF'FFFF) * of_fours[2] + (second >> 32) * of_fours[3];
    }
    codes[i] = is_other ? of_others : code;
  }
}

template <class Offset>
void write_byte_codes(BytesBehindOffsets const& values, ByteSums const& sums, std::uint64_t* codes) {
  auto const* offsets = static_cast<char const*>(values.offsets);
  Offset begin;
  std::memcpy(&begin, offsets, sizeof(begin));
  auto const next = [=, all = values.values, end_of_all = values.end]() mutable -> LoadedValue {
    offsets += sizeof(Offset);
    Offset end;
    std::memcpy(&end, offsets, sizeof(end));
    auto const* const value = all + begin;
    auto const size = static_cast<std::size_t>(end - begin);
    begin = end;
    auto const known = known_bytes(size);
    if (end_of_all - value >= static_cast<std::ptrdiff_t>(kSummedBytes))
      return {size, _mm_and_si128(load_bytes(value), present_mask(known))};
    alignas(16) std::uint8_t last[kSummedBytes] = {};
    if (known > 0) std::memcpy(last, value, known);
    return {size, load_bytes(last)};
  };
  write_codes(values.count, sums, next, codes);
}

/// Views: a length, then the bytes, or four of them, a buffer and an offset.
void write_view_codes(BytesInViews const& values, ByteSums const& sums, std::uint64_t* codes) {
  constexpr std::size_t kInline = 12;
  auto const next = [view = static_cast<char const*>(values.views), buffers = values.buffers]() mutable -> LoadedValue {
    auto const words = load_bytes(view);
    auto const* const here = view;
    view += sizeof(words);
    auto const size = static_cast<std::size_t>(static_cast<std::uint32_t>(_mm_cvtsi128_si32(words)));
    if (size <= kInline) return {size, _mm_and_si128(_mm_srli_si128(words, 4), present_mask(size))};
    std::uint32_t place[2];
    std::memcpy(place, here + 8, sizeof(place));
    auto const* const value = static_cast<char const*>(buffers[place[0]]) + place[1];
    // Two words that overlap reach no further than the value.
    auto const known = known_bytes(size);
    std::uint64_t low;
    std::uint64_t high;
    std::memcpy(&low, value, sizeof(low));
    std::memcpy(&high, value + known - sizeof(high), sizeof(high));
    high >>= 8 * (kSummedBytes - known);
    return {size, _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low))};
  };
  write_codes(values.count, sums, next, codes);
}

constexpr ByteKernels kByteKernels{write_byte_codes<std::int32_t>, write_byte_codes<std::int64_t>, write_view_codes};
#else
constexpr ByteKernels kByteKernels;
#endif

}  // namespace

GARUDA_KERNELS(ByteKernels, byte_kernels, kByteKernels)

}  // namespace garuda::keys
