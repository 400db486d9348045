// The kernels' code, compiled once an instruction set: each includes it after declaring
//   stream_line(to, from)        writes one aligned cache line past the caches
//   stream_split<w>(from, a, b)  the same of two lines, of the first and the second elements of the pairs in two lines
//   finish_streams()
// for w of 4 and 8. Everything here has internal linkage and calls nothing that has not:
// a shared inline function would be compiled with one set's flags and linked into another's.
#include "partition/scatter_kernels.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/// Copies `count` elements of one stream.
template <std::size_t kWidth>
void copy_elements(std::byte const* from, std::byte* to, std::size_t count) {
  __builtin_memcpy(to, from, count * kWidth);
}

/// Writes whole lines of one stream.
template <std::size_t kWidth>
void write_lines(std::byte const* from, std::byte* to, std::uint32_t count) {
  for (std::size_t byte = 0; byte < count * kWidth; byte += 64) stream_line(to + byte, from + byte);
}

/// Slots of the streams side by side, each stream's in lines of its own. kSecond: 0 without a second stream.
template <std::size_t kFirst, std::size_t kSecond>
struct SeparateSlots {
  std::byte* first;
  std::byte* second;

  SeparateSlots(std::size_t partitions, WriteBuffers const& to)
      : first(to.buffers), second(to.buffers + partitions * to.entries * kFirst) {}

  void put(std::uint32_t slot, std::byte const* a, std::byte const* b) const {
    __builtin_memcpy(first + std::size_t{slot} * kFirst, a, kFirst);
    if constexpr (kSecond != 0) __builtin_memcpy(second + std::size_t{slot} * kSecond, b, kSecond);
  }
  void write_full(std::uint32_t slot, std::uint64_t position, WriteBuffers const& to) const {
    write_lines<kFirst>(first + std::size_t{slot} * kFirst, to.out_a + position * kFirst, to.entries);
    if constexpr (kSecond != 0)
      write_lines<kSecond>(second + std::size_t{slot} * kSecond, to.out_b + position * kSecond, to.entries);
  }
  void write_part(std::uint32_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    copy_elements<kFirst>(first + std::size_t{slot} * kFirst, to.out_a + position * kFirst, count);
    if constexpr (kSecond != 0)
      copy_elements<kSecond>(second + std::size_t{slot} * kSecond, to.out_b + position * kSecond, count);
  }
};

/// Writes a pair of elements of kWidth bytes, by one store where the machine has one so wide.
#ifdef __SSE2__
template <std::size_t kWidth>
void store_pair(std::byte* to, std::byte const* a, std::byte const* b) {
  if constexpr (kWidth == 4) {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    __builtin_memcpy(&first, a, 4);
    __builtin_memcpy(&second, b, 4);
    auto const pair = std::uint64_t{second} << 32 | first;
    __builtin_memcpy(to, &pair, 8);
  } else {
    auto const first = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(a));
    auto const second = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(b));
    _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi64(first, second));
  }
}
#else
template <std::size_t kWidth>
void store_pair(std::byte* to, std::byte const* a, std::byte const* b) {
  __builtin_memcpy(to, a, kWidth);
  __builtin_memcpy(to + kWidth, b, kWidth);
}
#endif

/// Slots of pairs of elements of one width: one line of a buffer is touched, by one store.
template <std::size_t kWidth>
struct PairSlots {
  std::byte* pairs;

  PairSlots(std::size_t, WriteBuffers const& to) : pairs(to.buffers) {}

  void put(std::uint32_t slot, std::byte const* a, std::byte const* b) const {
    store_pair<kWidth>(pairs + std::size_t{slot} * 2 * kWidth, a, b);
  }
  void write_full(std::uint32_t slot, std::uint64_t position, WriteBuffers const& to) const {
    auto const* from = pairs + std::size_t{slot} * 2 * kWidth;
    auto* const a = to.out_a + position * kWidth;
    auto* const b = to.out_b + position * kWidth;
    for (std::size_t byte = 0; byte < to.entries * kWidth; byte += 64, from += 128)
      stream_split<kWidth>(from, a + byte, b + byte);
  }
  void write_part(std::uint32_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    auto const* from = pairs + std::size_t{slot} * 2 * kWidth;
    for (std::size_t i = 0; i < count; ++i, from += 2 * kWidth) {
      __builtin_memcpy(to.out_a + (position + i) * kWidth, from, kWidth);
      __builtin_memcpy(to.out_b + (position + i) * kWidth, from + kWidth, kWidth);
    }
  }
};

template <std::size_t kFirst, std::size_t kSecond>
struct SlotsOf {
  using Type = SeparateSlots<kFirst, kSecond>;
};
template <std::size_t kWidth>
struct SlotsOf<kWidth, kWidth> {
  using Type = PairSlots<kWidth>;
};

/// kSecond: bytes of an element of the second stream, 0 without one.
template <std::size_t kFirst, std::size_t kSecond>
struct StreamKernels {
  using Slots = typename SlotsOf<kFirst, kSecond>::Type;

  /// Kept out of the loop: it runs once every `entries` elements. `slot`: the partition's first one.
  [[gnu::noinline]] static void flush(std::uint32_t partition, std::uint32_t slot, Slots slots,
                                      WriteBuffers const& to) {
    auto const position = to.positions[partition];
    auto const head = to.head[partition];
    if (head == 0) {
      slots.write_full(slot, position, to);
    } else {
      slots.write_part(slot + head, position + head, to.entries - head, to);
      to.head[partition] = 0;
    }
    to.positions[partition] = position + to.entries;
  }

  static void scatter(std::uint16_t const* digits, void const* a, void const* b, std::size_t count,
                      std::size_t partitions, WriteBuffers const& to) {
    auto const* first = static_cast<std::byte const*>(a);
    auto const* second = static_cast<std::byte const*>(b);
    Slots const slots(partitions, to);
    auto const entries = to.entries;
    auto* const cursors = to.cursors;
    for (std::size_t i = 0; i < count; ++i, first += kFirst, second += kSecond) {
      std::uint32_t const partition = digits[i];
      auto slot = cursors[partition];
      slots.put(slot, first, second);
      ++slot;
      if (__builtin_expect((slot & (entries - 1)) == 0, 0)) {
        slot -= entries;
        flush(partition, slot, slots, to);
      }
      cursors[partition] = slot;
    }
  }

  static void drain(std::size_t partitions, WriteBuffers const& to) {
    Slots const slots(partitions, to);
    for (std::size_t p = 0; p < partitions; ++p) {
      auto const fill = to.cursors[p] & (to.entries - 1);
      auto const head = to.head[p];
      if (fill <= head) continue;
      slots.write_part(to.cursors[p] - fill + head, to.positions[p] + head, fill - head, to);
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
