// The loops of the partition, compiled for each set of instructions (GARUDA_KERNELS).
#include <cstdint>
#include <utility>

#include "core/look_ahead.hpp"
#include "partition/scatter_kernels.hpp"
#include "partition/scatter_streams.hpp"

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
    // keys::mix, spelt out for internal linkage.
    std::uint64_t hash = keys[i] + 0x9E37'79B9'7F4A'7C15;
    hash = (hash ^ (hash >> 30)) * 0xBF58'476D'1CE4'E5B9;
    hash = (hash ^ (hash >> 27)) * 0x94D0'49BB'1331'11EB;
    hash ^= hash >> 31;
    digits[i] = static_cast<std::uint16_t>((hash << digit.shift) >> down);
  }
}

/// Elements moved, and keys counted, between two looks ahead: not more than a line has.
constexpr std::size_t kAtOnce = 4;
constexpr std::size_t kCountedAtOnce = 8;

/// garuda::look_ahead, spelt out for internal linkage. kBytesAhead reaches beyond a block of staged elements, whose
/// digits are found before it is moved.
inline void look_ahead(void const* element) {
  __builtin_prefetch(reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(element) + kBytesAhead));
}

// One table: on two cores of an AMD EPYC (Zen 5), 2026-11-22, two threads count 2^26 keys with 2^10 digits in 8.5 ms,
// in 9.1 with two tables in turn and in 12.5 with four; equal digits, which wait for one another, in 11.0, 13.8
// and 14.7.
template <class Word>
void count_raw(Word const* keys, std::size_t count, DigitBits digit, std::uint32_t* counts) {
  auto const mask = (std::uint32_t{1} << digit.bits) - 1;
  auto const shift = digit.shift;
  std::size_t i = 0;
  for (; i + kCountedAtOnce <= count; i += kCountedAtOnce) {
    look_ahead(keys + i);
    for (std::size_t j = 0; j < kCountedAtOnce; ++j) ++counts[static_cast<std::uint32_t>(keys[i + j] >> shift) & mask];
  }
  for (; i < count; ++i) ++counts[static_cast<std::uint32_t>(keys[i] >> shift) & mask];
}

template <class Word>
void count_digits(Word const* keys, std::size_t count, DigitBits digit, std::uint32_t* counts) {
  if (!digit.mixed) return count_raw(keys, count, digit, counts);
  constexpr std::size_t kBlock = 256;
  std::uint16_t digits[kBlock];
  for (std::size_t first = 0; first < count; first += kBlock) {
    auto const rows = count - first < kBlock ? count - first : kBlock;
    for (std::size_t i = 0; i < rows; i += 64 / sizeof(Word)) look_ahead(keys + first + i);
    write_digits(keys + first, rows, digit, digits);
    for (std::size_t i = 0; i < rows; ++i) ++counts[digits[i]];
  }
}

/// A value of kWidth bytes: a number for 4 and 8 bytes, nothing for none.
template <std::size_t kWidth>
struct ElementOf {
  struct Type {
    std::byte bytes[kWidth];
  };
};
template <>
struct ElementOf<0> {
  struct Type {};
};
template <>
struct ElementOf<4> {
  using Type = std::uint32_t;
};
template <>
struct ElementOf<8> {
  using Type = std::uint64_t;
};
template <std::size_t kWidth>
using Element = typename ElementOf<kWidth>::Type;

template <std::size_t kWidth>
Element<kWidth> load_element([[maybe_unused]] std::byte const* from) {
  Element<kWidth> element;
  if constexpr (kWidth != 0) __builtin_memcpy(&element, from, kWidth);
  return element;
}

/// Copies `count` elements of one stream.
template <std::size_t kWidth>
void copy_elements(std::byte const* from, std::byte* to, std::size_t count) {
  __builtin_memcpy(to, from, count * kWidth);
}

/// Writes whole lines of one stream.
template <std::size_t kWidth>
void write_lines(std::byte const* from, std::byte* to, std::size_t count) {
  for (std::size_t byte = 0; byte < count * kWidth; byte += 64) stream_line(to + byte, from + byte);
}

/// Slots of the streams side by side, each stream's in lines of its own. kSecond: 0 without a second stream.
template <std::size_t kFirst, std::size_t kSecond>
struct SeparateSlots {
  /// Slots that fill whole lines of every stream.
  static constexpr std::size_t kLine = 64 / (kSecond != 0 && kSecond < kFirst ? kSecond : kFirst);

  std::byte* first;
  std::byte* second;

  SeparateSlots(std::size_t partitions, WriteBuffers const& to)
      : first(to.buffers), second(to.buffers + partitions * to.entries * kFirst) {}

  void put(std::uint32_t slot, Element<kFirst> a, [[maybe_unused]] Element<kSecond> b) const {
    __builtin_memcpy(first + std::size_t{slot} * kFirst, &a, kFirst);
    if constexpr (kSecond != 0) __builtin_memcpy(second + std::size_t{slot} * kSecond, &b, kSecond);
  }
  /// Requires: slot, position and count are multiples of kLine.
  void write_whole(std::size_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    write_lines<kFirst>(first + slot * kFirst, to.out_a + position * kFirst, count);
    if constexpr (kSecond != 0) write_lines<kSecond>(second + slot * kSecond, to.out_b + position * kSecond, count);
  }
  void write_some(std::size_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    copy_elements<kFirst>(first + slot * kFirst, to.out_a + position * kFirst, count);
    if constexpr (kSecond != 0) copy_elements<kSecond>(second + slot * kSecond, to.out_b + position * kSecond, count);
  }
};

/// Writes a pair of elements, by one store where the machine has one so wide.
inline void store_pair(std::byte* to, std::uint32_t a, std::uint32_t b) {
#ifdef __SSE2__
  auto const pair = std::uint64_t{b} << 32 | a;
#else
  std::uint32_t const pair[2] = {a, b};
#endif
  __builtin_memcpy(to, &pair, 8);
}
inline void store_pair(std::byte* to, std::uint64_t a, std::uint64_t b) {
#ifdef __SSE2__
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_set_epi64x(static_cast<long long>(b), static_cast<long long>(a)));
#else
  std::uint64_t const pair[2] = {a, b};
  __builtin_memcpy(to, pair, 16);
#endif
}

/// Slots of pairs of elements of one width: one line of a buffer is touched, by one store.
template <std::size_t kWidth>
struct PairSlots {
  static constexpr std::size_t kLine = 64 / kWidth;

  std::byte* pairs;

  PairSlots(std::size_t, WriteBuffers const& to) : pairs(to.buffers) {}

  void put(std::uint32_t slot, Element<kWidth> a, Element<kWidth> b) const {
    store_pair(pairs + std::size_t{slot} * 2 * kWidth, a, b);
  }
  /// Puts a pair that is one number.
  void put(std::uint32_t slot, std::uint64_t pair) const requires(kWidth == 4) {
    __builtin_memcpy(pairs + std::size_t{slot} * 8, &pair, 8);
  }
  void write_whole(std::size_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    auto const* from = pairs + slot * 2 * kWidth;
    auto* const a = to.out_a + position * kWidth;
    auto* const b = to.out_b + position * kWidth;
    for (std::size_t byte = 0; byte < count * kWidth; byte += 64, from += 128)
      stream_split<kWidth>(from, a + byte, b + byte);
  }
  void write_some(std::size_t slot, std::uint64_t position, std::size_t count, WriteBuffers const& to) const {
    auto const* from = pairs + slot * 2 * kWidth;
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

/// As many words as a register has, and pairs of them: compilers make poor code of wider vectors. `first_pairs` are of
/// the first two of every four words, `last_pairs` of the others: such shuffles stay within parts of a register.
#ifdef __AVX2__
constexpr std::size_t kWordsAtOnce = 8;
using WordVector = std::uint32_t __attribute__((vector_size(4 * kWordsAtOnce)));
constexpr WordVector kWordNumbers{0, 1, 2, 3, 4, 5, 6, 7};
inline WordVector first_pairs(WordVector a, WordVector b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}
inline WordVector last_pairs(WordVector a, WordVector b) {
  return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
#else
constexpr std::size_t kWordsAtOnce = 4;
using WordVector = std::uint32_t __attribute__((vector_size(4 * kWordsAtOnce)));
constexpr WordVector kWordNumbers{0, 1, 2, 3};
inline WordVector first_pairs(WordVector a, WordVector b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline WordVector last_pairs(WordVector a, WordVector b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#endif

/// Words side by side in memory.
inline WordVector load_words(std::byte const* from) {
  WordVector words;
  __builtin_memcpy(&words, from, sizeof words);
  return words;
}

/// The second stream's elements, side by side in memory.
template <std::size_t kWidth>
struct StoredElements {
  std::byte const* elements;

  Element<kWidth> operator()(std::size_t i) const { return load_element<kWidth>(elements + i * kWidth); }
  void look_ahead([[maybe_unused]] std::size_t i) const {
    if constexpr (kWidth != 0) partition::look_ahead(elements + i * kWidth);
  }
  WordVector words(std::size_t i) const { return load_words(elements + i * sizeof(std::uint32_t)); }
};

/// The second stream's elements when they are numbers.
template <std::size_t kWidth>
struct NumberedElements {
  std::uint64_t first;

  Element<kWidth> operator()(std::size_t i) const { return static_cast<Element<kWidth>>(first + i); }
  void look_ahead(std::size_t) const {}
  WordVector words(std::size_t i) const { return kWordNumbers + static_cast<std::uint32_t>(first + i); }
};

/// kWordsAtOnce pairs of words, made in vector registers: that takes fewer instructions than a pair by itself does.
struct WordPairs {
  using Pairs = std::uint64_t __attribute__((vector_size(4 * kWordsAtOnce)));

  Pairs first;
  Pairs last;

  WordPairs(WordVector a, WordVector b)
      : first(reinterpret_cast<Pairs>(first_pairs(a, b))), last(reinterpret_cast<Pairs>(last_pairs(a, b))) {}

  template <std::size_t kIndex>
  std::uint64_t get() const {
    constexpr auto kAt = kIndex / 4 * 2 + kIndex % 2;
    return kIndex % 4 < 2 ? first[kAt] : last[kAt];
  }
};

/// kSecond: bytes of an element of the second stream, 0 without one.
template <std::size_t kFirst, std::size_t kSecond>
struct StreamKernels {
  using Slots = typename SlotsOf<kFirst, kSecond>::Type;

  /// Writes out `count` slots from `slot` on: whole lines past the caches.
  static void write_out(std::size_t slot, std::uint64_t position, std::size_t count, Slots slots,
                        WriteBuffers const& to) {
    auto const to_line = (Slots::kLine - position % Slots::kLine) % Slots::kLine;
    auto const before = to_line < count ? to_line : count;
    auto const whole = (count - before) / Slots::kLine * Slots::kLine;
    if (before != 0) slots.write_some(slot, position, before, to);
    slots.write_whole(slot + before, position + before, whole, to);
    auto const behind = count - before - whole;
    if (behind != 0) slots.write_some(slot + before + whole, position + before + whole, behind, to);
  }

  /// Writes a full buffer out. `slot`: the partition's first one.
  static void flush(std::uint32_t partition, std::uint32_t slot, Slots slots, WriteBuffers const& to) {
    auto const position = to.positions[partition];
    auto const head = static_cast<std::uint32_t>(position) & (to.entries - 1);
    auto const end = position + to.entries - head;
    to.positions[partition] = end;
    if (__builtin_expect(end > to.ends[partition], 0)) return;
    if (head == 0)
      slots.write_whole(slot, position, to.entries, to);
    else
      write_out(slot + head, position, to.entries - head, slots, to);
  }

  /// How far `fill` got, and the partition whose buffer is full unless that is all elements.
  struct Filled {
    std::size_t end;
    std::uint32_t partition;
    bool full;
  };

  /// Appends elements from `i` on until a buffer is full. A loop that calls nothing: all its values stay in registers.
  template <class DigitOf, class SecondOf>
  [[gnu::noinline]] static Filled fill(DigitOf digit_of, SecondOf second_of, std::byte const* first, std::size_t i,
                                       std::size_t count, Slots slots, std::uint32_t last_slot,
                                       std::uint32_t* cursors) {
    std::uint32_t partition = 0;
    auto const take_slot = [&] {
      partition = digit_of(i, load_element<kFirst>(first + i * kFirst));
      return cursors[partition]++;
    };
    auto const is_last = [&](std::uint32_t slot) { return __builtin_expect(((slot + 1) & last_slot) == 0, 0) != 0; };
    auto const append_one = [&] {
      auto const slot = take_slot();
      slots.put(slot, load_element<kFirst>(first + i * kFirst), second_of(i));
      ++i;
      return is_last(slot);
    };
    if constexpr (kFirst == 4 && kSecond == 4) {
      auto const append_pair = [&](std::uint64_t pair) {
        auto const slot = take_slot();
        slots.put(slot, pair);
        ++i;
        return is_last(slot);
      };
      while (i + kWordsAtOnce <= count) {
        look_ahead(first + i * kFirst);
        second_of.look_ahead(i);
        WordPairs const pairs(load_words(first + i * kFirst), second_of.words(i));
        auto const append_pairs = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
          return (append_pair(pairs.template get<kIndex>()) || ...);
        };
        if (append_pairs(std::make_index_sequence<kWordsAtOnce>())) return {i, partition, true};
      }
    } else {
      while (i + kAtOnce <= count) {
        look_ahead(first + i * kFirst);
        second_of.look_ahead(i);
        for (std::size_t j = 0; j < kAtOnce; ++j)
          if (append_one()) return {i, partition, true};
      }
    }
    while (i < count)
      if (append_one()) return {i, partition, true};
    return {count, 0, false};
  }

  /// Appends `count` elements: digit_of(i, value) is the digit of element i of the first stream, second_of(i) the
  /// second stream's element.
  template <class DigitOf, class SecondOf>
  static void append(DigitOf digit_of, SecondOf second_of, void const* a, std::size_t count, std::size_t partitions,
                     WriteBuffers const& to) {
    Slots const slots(partitions, to);
    for (std::size_t i = 0; i < count;) {
      auto const filled =
          fill(digit_of, second_of, static_cast<std::byte const*>(a), i, count, slots, to.entries - 1, to.cursors);
      i = filled.end;
      if (!filled.full) continue;
      auto& cursor = to.cursors[filled.partition];
      cursor -= to.entries;
      flush(filled.partition, cursor, slots, to);
    }
  }

  static StoredElements<kSecond> read_second(void const* b) { return {static_cast<std::byte const*>(b)}; }
  static auto raw_digit(DigitBits digit) {
    return [mask = (std::uint32_t{1} << digit.bits) - 1, shift = digit.shift](std::size_t, Element<kFirst> key) {
      return static_cast<std::uint32_t>(key >> shift) & mask;
    };
  }

  static void scatter(std::uint16_t const* digits, void const* a, void const* b, std::size_t count,
                      std::size_t partitions, WriteBuffers const& to) {
    append([digits](std::size_t i, Element<kFirst>) { return digits[i]; }, read_second(b), a, count, partitions, to);
  }

  static void scatter_keys(DigitBits digit, void const* a, void const* b, std::size_t count, std::size_t partitions,
                           WriteBuffers const& to) {
    append(raw_digit(digit), read_second(b), a, count, partitions, to);
  }

  static void number_keys(DigitBits digit, void const* a, std::uint64_t number, std::size_t count,
                          std::size_t partitions, WriteBuffers const& to) {
    append(raw_digit(digit), NumberedElements<kSecond>{number}, a, count, partitions, to);
  }

  static void drain(std::size_t partitions, WriteBuffers const& to) {
    Slots const slots(partitions, to);
    for (std::size_t p = 0; p < partitions; ++p) {
      auto const position = to.positions[p];
      auto const fill = to.cursors[p] & (to.entries - 1);
      auto const head = static_cast<std::uint32_t>(position) & (to.entries - 1);
      to.positions[p] = position + (fill > head ? fill - head : 0);
      if (fill > head && to.positions[p] <= to.ends[p])
        write_out(to.cursors[p] - fill + head, position, fill - head, slots, to);
    }
    finish_streams();
  }

  static constexpr ScatterKernels::Streams streams() {
    ScatterKernels::Streams kernels{scatter, nullptr, nullptr, drain};
    if constexpr (kFirst == 4 || kFirst == 8) kernels.scatter_keys = scatter_keys;
    if constexpr ((kFirst == 4 || kFirst == 8) && kSecond != 0) kernels.number_keys = number_keys;
    return kernels;
  }
};

constexpr ScatterKernels kScatterKernels{
    write_digits<std::uint32_t>,
    write_digits<std::uint64_t>,
    count_digits<std::uint32_t>,
    count_digits<std::uint64_t>,
    {{StreamKernels<4, 4>::streams(), StreamKernels<4, 8>::streams()},
     {StreamKernels<8, 4>::streams(), StreamKernels<8, 8>::streams()}},
    {StreamKernels<1, 0>::streams(), StreamKernels<2, 0>::streams(), StreamKernels<4, 0>::streams(),
     StreamKernels<8, 0>::streams(), StreamKernels<16, 0>::streams()}};

}  // namespace

GARUDA_KERNELS(ScatterKernels, scatter_kernels, kScatterKernels)

}  // namespace garuda::partition
