// The two passes over a range of keys that partition it: count the digits, then move streams of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "partition/radix_partition.hpp"
#include "partition/scatter_kernels.hpp"

namespace garuda::partition {

/// Keys as the passes read them: one of the two, by key width.
struct KeyWords {
  std::uint32_t const* words32 = nullptr;
  std::uint64_t const* words64 = nullptr;
};

/// Where a stream's elements come from; element i belongs to key i.
class StreamSource {
 public:
  /// Elements side by side in memory.
  static StreamSource array(void const* elements);
  /// The numbers i themselves.
  static StreamSource numbers();
  /// Values of table rows: of row i, or of row rows[i] when there are row ids.
  static StreamSource column(PayloadColumn const& column, void const* rows, bool wide_rows);

  /// True of numbers().
  bool is_numbers() const noexcept { return array_ == nullptr && column_ == nullptr; }
  /// True of array(elements).
  bool is_array(void const* elements) const noexcept { return array_ != nullptr && array_ == elements; }

  /// Returns elements [first, first + count) of `width` bytes side by side: in place, or copied to `staging`.
  /// Requires count <= kStagedElements.
  void const* read(std::uint64_t first, std::size_t count, std::uint32_t width, std::byte* staging) const;

 private:
  void const* read_column(std::uint64_t first, std::size_t count, std::uint32_t width, std::byte* staging) const;
  void make_values(std::uint64_t first, std::size_t count, std::uint32_t width, std::byte* staging) const;

  std::byte const* array_ = nullptr;
  PayloadColumn const* column_ = nullptr;
  void const* rows_ = nullptr;
  bool wide_rows_ = false;
};

inline constexpr std::size_t kStagedElements = 1'024;

/// Elements of one width that follow their keys.
struct Stream {
  std::uint32_t width = 4;  ///< bytes: 1, 2, 4, 8 or 16
  StreamSource source;
  std::byte* out = nullptr;  ///< aligned to cache lines
};

/// Buffers of the tasks that move elements, used again by later tasks. Thread-safe.
class ScatterScratch {
 public:
  struct Space {
    AlignedBuffer buffers;
    AlignedBuffer cursors;
    AlignedBuffer staging;
  };
  Result<Space> take();
  void put_back(Space space);

 private:
  std::mutex mutex_;
  std::vector<Space> spaces_;
};

/// Partitions ranges of the same keys by one digit.
class Scatter {
 public:
  Scatter(KeyWords keys, RadixDigit digit, InstructionSet instructions) noexcept
      : keys_(keys), digit_(digit), kernels_(&scatter_kernels(instructions)) {}

  std::uint64_t partitions() const noexcept { return std::uint64_t{1} << digit_.bits; }

  /// Counts the keys [begin, end) of each partition into counts[0, partitions), until `control` is cancelled.
  void count(std::uint64_t begin, std::uint64_t end, std::uint64_t* counts, Control const& control) const;

  /// Moves the elements of keys [begin, end) of one or two streams: those of partition p to positions starts[p] to
  /// ends[p], in order. Two streams are of 4 or 8 bytes each. Stops early when `control` is cancelled. Keys are read
  /// once more than when they were counted: where another thread changed the caller's memory meanwhile, nothing is
  /// written beyond a partition's end. Errors: out_of_memory; invalid_input for such keys, if their digits differ.
  Result<void> move(std::uint64_t begin, std::uint64_t end, std::uint64_t const* starts, std::uint64_t const* ends,
                    std::span<Stream const> streams, ScatterScratch& scratch, Control const& control) const;

 private:
  void digits(std::uint64_t first, std::size_t count, std::uint16_t* out) const;

  KeyWords keys_;
  RadixDigit digit_;
  ScatterKernels const* kernels_;
};

/// Groups streams for Scatter::move: two of 4 or 8 bytes at a time, so that the keys are read less often.
std::vector<std::array<std::size_t, 2>> pair_streams(std::span<Stream const> streams);
inline constexpr std::size_t kNoStream = ~std::size_t{0};

}  // namespace garuda::partition
