// The kernels' code, compiled once an instruction set: each includes it after declaring stream_line(to, from), which
// writes one aligned cache line past the caches. Everything here has internal linkage and calls nothing that has not:
// a shared inline function would be compiled with one set's flags and linked into another's.
#include "partition/scatter_kernels.hpp"

namespace garuda::partition {
namespace {

template <class Word>
void write_digits(Word const* keys, std::size_t count, DigitBits digit, std::uint16_t* digits) {
  auto const mask = static_cast<std::uint16_t>((std::uint32_t{1} << digit.bits) - 1);
  if (!digit.mixed) {
    for (std::size_t i = 0; i < count; ++i) digits[i] = static_cast<std::uint16_t>(keys[i] >> digit.shift) & mask;
    return;
  }
  if (digit.bits == 0) {
    for (std::size_t i = 0; i < count; ++i) digits[i] = 0;
    return;
  }
  auto const down = 64 - digit.bits;
  for (std::size_t i = 0; i < count; ++i) {
    // partition::mix, spelt out for internal linkage.
    std::uint64_t hash = keys[i] + 0x9E37'79B9'7F4A'7C15;
    hash = (hash ^ (hash >> 30)) * 0xBF58'476D'1CE4'E5B9;
    hash = (hash ^ (hash >> 27)) * 0x94D0'49BB'1331'11EB;
    hash ^= hash >> 31;
    digits[i] = static_cast<std::uint16_t>((hash << digit.shift) >> down);
  }
}

/// Copies slots [first, last) of one stream's buffer to its positions.
template <std::size_t kWidth>
void copy_slots(std::byte const* buffer, std::byte* out, std::uint64_t position, std::size_t first, std::size_t last) {
  __builtin_memcpy(out + (position + first) * kWidth, buffer + first * kWidth, (last - first) * kWidth);
}

/// Writes a full buffer of one stream.
template <std::size_t kWidth>
void write_full(std::byte const* buffer, std::byte* out, std::uint64_t position, std::uint32_t entries) {
  auto* const to = out + position * kWidth;
  for (std::size_t byte = 0; byte < entries * kWidth; byte += 64) stream_line(to + byte, buffer + byte);
}

/// One element, whatever it holds.
template <std::size_t kWidth>
struct Element {
  std::byte bytes[kWidth];
};

/// kSecond: bytes of an element of the second stream, 0 without one.
template <std::size_t kFirst, std::size_t kSecond>
struct StreamKernels {
  /// Kept out of the loop: it runs once every `entries` elements.
  [[gnu::noinline]] static void flush(std::uint32_t partition, std::byte const* buffer, WriteBuffers const& to) {
    auto const position = to.positions[partition];
    auto const head = to.head[partition];
    if (head == 0) {
      write_full<kFirst>(buffer, to.out_a, position, to.entries);
      if constexpr (kSecond != 0) write_full<kSecond>(buffer + to.entries * kFirst, to.out_b, position, to.entries);
    } else {
      copy_slots<kFirst>(buffer, to.out_a, position, head, to.entries);
      if constexpr (kSecond != 0)
        copy_slots<kSecond>(buffer + to.entries * kFirst, to.out_b, position, head, to.entries);
      to.head[partition] = 0;
    }
    to.positions[partition] = position + to.entries;
  }

  static void scatter(std::uint16_t const* digits, void const* a, void const* b, std::size_t count,
                      WriteBuffers const& to) {
    auto const* const first = static_cast<Element<kFirst> const*>(a);
    auto const* const second = static_cast<Element<kSecond == 0 ? 1 : kSecond> const*>(b);
    auto const entries = to.entries;
    auto const unit = entries * (kFirst + kSecond);
    auto* const buffers = to.buffers;
    auto* const fill = to.fill;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t const partition = digits[i];
      std::uint32_t slot = fill[partition];
      auto* const buffer = buffers + partition * unit;
      __builtin_memcpy(buffer + slot * kFirst, first + i, kFirst);
      if constexpr (kSecond != 0) __builtin_memcpy(buffer + entries * kFirst + slot * kSecond, second + i, kSecond);
      ++slot;
      if (__builtin_expect(slot == entries, 0)) {
        flush(partition, buffer, to);
        slot = 0;
      }
      fill[partition] = static_cast<std::uint16_t>(slot);
    }
  }

  static void drain(std::size_t partitions, WriteBuffers const& to) {
    auto const unit = to.entries * (kFirst + kSecond);
    for (std::size_t p = 0; p < partitions; ++p) {
      auto const* const buffer = to.buffers + p * unit;
      auto const head = to.head[p];
      auto const fill = to.fill[p];
      if (fill <= head) continue;
      copy_slots<kFirst>(buffer, to.out_a, to.positions[p], head, fill);
      if constexpr (kSecond != 0)
        copy_slots<kSecond>(buffer + to.entries * kFirst, to.out_b, to.positions[p], head, fill);
    }
    finish_streams();
  }

  static constexpr ScatterKernels::Streams kStreams{scatter, drain};
};

constexpr ScatterKernels kScatterKernels{
    write_digits<std::uint32_t>,
    write_digits<std::uint64_t>,
    {{StreamKernels<4, 4>::kStreams, StreamKernels<4, 8>::kStreams},
     {StreamKernels<8, 4>::kStreams, StreamKernels<8, 8>::kStreams}},
    {StreamKernels<1, 0>::kStreams, StreamKernels<2, 0>::kStreams, StreamKernels<4, 0>::kStreams,
     StreamKernels<8, 0>::kStreams, StreamKernels<16, 0>::kStreams}};

}  // namespace
}  // namespace garuda::partition
