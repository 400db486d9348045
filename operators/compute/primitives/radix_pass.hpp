// One pass of a radix partition on the device: rows dealt out by a digit of their keys, payload with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/primitives/chunk_table.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_scan.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::shaders {
struct PartitionPush;
}

namespace garuda::compute {

/// A column of u32 words on the device, and where its partitioned copy goes.
struct MovedColumn {
  VkDeviceAddress source = 0;
  VkDeviceAddress target = 0;
  std::uint32_t words = 1;  ///< u32 words of an element; keys: 1 or 2
};

/// Which digit a pass looks at, and how it deals rows out.
struct RadixDigit {
  std::uint32_t bits = 8;   ///< 1 to the tuning's partition_bits, or stable_bits
  std::uint32_t shift = 0;  ///< lowest bit of the digit
  bool hashed = false;      ///< of the key's 32-bit hash (shaders/shared/hash.h), else of the key itself
  bool stable = true;       ///< rows of a bin keep their order
  bool wide = false;        ///< keys or payload columns have elements of two words or more: tiles suit these
};

/// What a pass moves. With `number_rows` the first payload column is written with the rows' numbers instead of read.
struct RadixRows {
  std::uint64_t rows = 0;  ///< at most 2^31
  MovedColumn keys;
  std::vector<MovedColumn> payload;
  bool number_rows = false;
};

/// Names of a pass's phases; they outlive the submissions.
struct RadixPhases {
  char const* count = "histogram";
  char const* scan = "scan";
  char const* scatter = "scatter";
};

/// Segments of an array that a pass deals out one by one, each into bins of its own.
struct Segments {
  vk::Buffer const* starts = nullptr;  ///< (count + 1) × u32, not decreasing
  std::uint32_t count = 1;
};

class RadixPass;

/// A pass over rows of its own, beside others.
struct RadixJob {
  RadixPass* pass = nullptr;
  RadixRows rows;
  Segments segments;
};

/// Scratch memory of one pass; not reused before the device is done with it.
class RadixPass {
 public:
  /// For up to `rows` rows in `segments` segments. Errors: limit_exceeded, out_of_memory.
  static Result<RadixPass> create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                  RadixDigit const& digit, std::uint32_t payload_columns);

  /// Device bytes that a pass takes, about.
  static std::uint64_t scratch_bytes(std::uint64_t rows, std::uint32_t segments, std::uint32_t bits,
                                     ComputeTuning const& tuning) noexcept;

  /// Records the pass. Without `segments.starts` the whole array is one segment. Rows ≥ 1.
  Result<void> record(ComputeContext& context, RadixPhases const& phases, RadixRows const& rows,
                      Segments const& segments = {});

  /// The same of several passes that have nothing to do with each other, step by step for all of them, so that one
  /// works where another leaves the device idle. Their record_clears() have been recorded.
  static Result<void> record_side_by_side(ComputeContext& context, RadixPhases const& phases,
                                          std::span<RadixJob const> jobs);
  /// Records what can be written before the rows of the pass are there. `independent`: of everything since the last
  /// barrier.
  Result<void> record_clears(ComputeContext& context, char const* phase, RadixRows const& rows, bool independent);

  /// Records the first part of a pass over one segment alone: how many keys of each chunk have each digit.
  Result<void> record_counts(ComputeContext& context, char const* phase, RadixRows const& rows);

  /// First row of each bin, (segments × bins + 1) × u32, bins of a segment together, the number of rows last.
  vk::Buffer const& starts() const noexcept { return starts_; }
  std::uint32_t num_starts() const noexcept { return segments_ << digit_.bits; }

 private:
  shaders::PartitionPush push_for(RadixRows const& rows, Segments const& segments) const;
  Result<void> record_chunk_counts(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);
  Result<void> record_sums(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);
  /// Cells of the matrix.
  std::uint64_t num_sums(shaders::PartitionPush const& push) const;
  Result<void> record_starts(ComputeContext& context, char const* phase, shaders::PartitionPush const& push,
                             Segments const& segments, bool independent);
  Result<void> record_scatter(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);

  RadixDigit digit_;
  std::uint32_t segments_ = 1;
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t max_chunks_ = 0;
  std::uint32_t chunks_each_ = 1;  ///< that a workgroup counts
  vk::Buffer columns_;
  vk::Buffer matrix_;
  vk::Buffer sums_;
  ChunkTable chunks_;  // where there are several segments
  vk::Buffer starts_;
  DeviceScan scan_;
};

/// Every pipeline of radix passes with this tuning.
std::vector<vk::ComputePipelineSpec> radix_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
