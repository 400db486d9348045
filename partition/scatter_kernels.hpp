// The inner loops of partitioning: digits of keys, and the scatter through write-combining buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"

namespace garuda::partition {

/// Which bits of a key choose its partition; RadixDigit without its guarantees.
struct DigitBits {
  std::uint32_t bits = 0;
  std::uint32_t shift = 0;
  bool mixed = false;
};

/// Where one task writes: a buffer a partition, which goes to memory whole when it is full, so that writes reach memory
/// as full cache lines and touch few pages. Positions count elements; slot p % entries of a buffer holds position p.
/// `entries` is a power of two and a multiple of 64 bytes, so every buffer begins on a cache line whatever the widths.
/// Two streams of one width lie in the buffers in pairs, others each for itself.
/// Source: software write-combining with non-temporal stores, Balkesen et al., ICDE 2013; Schuh et al., SIGMOD 2016.
struct WriteBuffers {
  std::uint32_t entries = 64;
  std::byte* buffers = nullptr;         ///< partitions × entries × (bytes of all streams), aligned to cache lines
  std::uint32_t* cursors = nullptr;     ///< a partition: next slot, counted over the buffers of all partitions
  std::uint64_t* positions = nullptr;   ///< a partition: position of the first element that is not written out yet
  std::uint64_t const* ends = nullptr;  ///< a partition: behind its last element; what follows is not written
  std::byte* out_a = nullptr;           ///< first stream's output, aligned to cache lines
  std::byte* out_b = nullptr;           ///< second stream's, when there are two
};

/// Kernels of one instruction set. They differ in speed only.
struct ScatterKernels {
  /// Writes the digit of each of `count` keys.
  void (*digits_32)(std::uint32_t const* keys, std::size_t count, DigitBits digit, std::uint16_t* digits);
  void (*digits_64)(std::uint64_t const* keys, std::size_t count, DigitBits digit, std::uint16_t* digits);

  /// Adds one to counts[digit] for each of `count` keys.
  void (*count_32)(std::uint32_t const* keys, std::size_t count, DigitBits digit, std::uint32_t* counts);
  void (*count_64)(std::uint64_t const* keys, std::size_t count, DigitBits digit, std::uint32_t* counts);

  /// Appends element i of stream `a` (and of `b`) to partition digits[i], for i below `count`.
  using Scatter = void (*)(std::uint16_t const* digits, void const* a, void const* b, std::size_t count,
                           std::size_t partitions, WriteBuffers const& to);
  /// Scatters where stream `a` is the keys themselves and `digit` is raw: no pass over them for the digits.
  using ScatterKeys = void (*)(DigitBits digit, void const* a, void const* b, std::size_t count, std::size_t partitions,
                               WriteBuffers const& to);
  /// Scatters keys with the numbers from `number` on as stream `b`.
  using NumberKeys = void (*)(DigitBits digit, void const* a, std::uint64_t number, std::size_t count,
                              std::size_t partitions, WriteBuffers const& to);
  /// Writes out what the buffers of `partitions` partitions still hold.
  using Drain = void (*)(std::size_t partitions, WriteBuffers const& to);
  struct Streams {
    Scatter scatter;
    ScatterKeys scatter_keys;  ///< null unless elements of `a` are as wide as keys can be
    NumberKeys number_keys;    ///< null, too, without a second stream
    Drain drain;
  };

  Streams pairs[2][2];  ///< two streams of 4 or 8 bytes an element: [a is 8][b is 8]
  Streams singles[5];   ///< one stream of 2^i bytes an element
};

/// Requires: `set` is one of instruction_sets().
ScatterKernels const& scatter_kernels(InstructionSet set) noexcept;

}  // namespace garuda::partition
