// Passes over device arrays: exclusive prefix sums of u32 arrays with 64-bit totals; reductions, sums of segments,
// gathers, compaction, copies; segments cut into chunks that workgroups take one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct ChunkTablePush;
}

namespace garuda::compute {

/// Most elements of one sum: totals stay below 2^60.
inline constexpr std::uint64_t kMaxScanElements = std::uint64_t{1} << 28;
/// Elements of an invocation: a multiple of 4.
inline constexpr std::uint32_t kScanItems = 16;

/// Words that a prefix sum reads and writes.
struct ScannedWords {
  VkDeviceAddress source = 0;
  VkDeviceAddress target = 0;
  std::uint64_t elements = 0;
  VkDeviceAddress copy = 0;
  bool lists = false;    ///< elements are 0 or 1, and target takes the numbers of those that are 1, in order
  bool cleared = false;  ///< states() have been
};

/// Scratch memory of prefix sums over up to so many elements; used by one sum after another.
class DeviceScan {
 public:
  /// `elements` ≤ kMaxScanElements. Errors: limit_exceeded, out_of_memory.
  static Result<DeviceScan> create(ComputeContext& context, std::uint64_t elements);

  /// Records target[i] = source[0] + … + source[i - 1] for `elements` u32, modulo 2^32. `copy`:
  /// where the same words go once more, the total behind them; 0: nowhere. Addresses are 16-byte aligned, the ranges do
  /// not overlap. 1 ≤ elements ≤ as created for. `independent`: of all passes since the last barrier; heeded where the
  /// sum is one dispatch: is_one_pass, or with `cleared` states.
  /// Source: Merrill and Garland 2016; Smith, Levien and Owens 2025.
  Result<void> record(ComputeContext& context, char const* phase, ScannedWords const& words, bool independent = false);
  /// Words that have to be zero before such a sum: num_state_words() × u32. record() clears it unless `words.cleared`.
  vk::Buffer const& states() const noexcept { return states_; }
  static std::uint32_t num_state_words(ComputeTuning const& tuning, std::uint64_t elements) noexcept;
  /// Whether one workgroup sums so many elements.
  static bool is_one_pass(ComputeTuning const& tuning, std::uint64_t elements) noexcept;

  /// Where the last sum's total is: u64.
  vk::Buffer const& total() const noexcept { return total_; }
  /// Submits, waits and returns it.
  Result<std::uint64_t> read_total(ComputeContext& context, char const* phase);

 private:
  std::uint64_t elements_ = 0;
  vk::Buffer states_;
  vk::Buffer total_;
};

enum class Reduction : std::uint8_t { add, min, max };

/// Records the reduction of `elements` elements of `words` u32 words. Sums take one word an element; the result is a
/// u64 either way (extremes of one word: in its first word), written to `result`, at least 8 bytes. Cost: one pass, two
/// for extremes of two words.
Result<void> record_reduce(ComputeContext& context, char const* phase, Reduction reduction, VkDeviceAddress source,
                           std::uint64_t elements, std::uint32_t words, vk::Buffer const& result);

/// Records results[s] = the u64 sum of values[starts[s]] … values[starts[s + 1] - 1], u32 each. starts: segments + 1
/// values, from 0 to `elements`, not decreasing. `results`: segments × 8 bytes.
Result<void> record_segment_sums(ComputeContext& context, char const* phase, VkDeviceAddress values,
                                 VkDeviceAddress starts, std::uint64_t elements, std::uint32_t segments,
                                 vk::Buffer const& results);

/// Records target[i] = source[rows[i]] for elements of `words` words, at least one.
Result<void> record_gather(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress rows,
                           VkDeviceAddress target, std::uint64_t elements, std::uint32_t words);

/// Records the list of elements whose flag is 1, in order, to `target`; flags are 0 or 1. scan.total() has their
/// number.
Result<void> record_compact(ComputeContext& context, char const* phase, DeviceScan& scan, VkDeviceAddress flags,
                            VkDeviceAddress target, std::uint64_t elements);

/// Records a copy of `bytes` bytes, a multiple of 16, by a compute pass: what other passes' rates are held against.
Result<void> record_copy(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress target,
                         std::uint64_t bytes);

/// How many invocations count, each `items` values.
struct CountBinsShape {
  std::uint32_t group_size = 256;
  std::uint32_t items = 4;
};
/// Records counts[values[i] & (bins - 1)] += 1 for u32 values; bins a power of two, counts 0 before.
Result<void> record_count_bins(ComputeContext& context, char const* phase, VkDeviceAddress values,
                               std::uint64_t elements, VkDeviceAddress counts, std::uint64_t bins,
                               CountBinsShape const& shape = {});

/// The chunks, found on the device: how many a segment has need not be known to the host.
class ChunkTable {
 public:
  /// For `rows` rows in `segments` segments of any lengths; `bins`: counters that a chunk has in a matrix of counts by
  /// (segment, bin, chunk); with `shared_counts` one by (segment, bin), the same for all chunks of a segment.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<ChunkTable> create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                   std::uint32_t chunk_rows, std::uint32_t bins = 1, bool shared_counts = false);

  /// The two passes that record the table of the segments that begin at `starts`, (segments + 1) × u32, not decreasing:
  /// how many chunks the segments have, then the chunks. `independent`: of all passes since the last barrier.
  Result<void> record_firsts(ComputeContext& context, char const* phase, VkDeviceAddress starts, bool independent);
  Result<void> record_chunks(ComputeContext& context, char const* phase, VkDeviceAddress starts, bool independent);

  /// max_chunks() × PartitionChunk; those past the last are empty.
  vk::Buffer const& chunks() const noexcept { return chunks_; }
  /// Number of the first chunk of each segment, their number last.
  vk::Buffer const& first_chunk() const noexcept { return first_chunk_; }
  /// Most chunks there can be: each segment may end within one.
  std::uint64_t max_chunks() const noexcept { return max_chunks_; }

 private:
  shaders::ChunkTablePush push_for(VkDeviceAddress starts) const;

  std::uint32_t segments_ = 0;
  std::uint32_t chunk_rows_ = 0;
  std::uint32_t bins_ = 1;
  bool shared_counts_ = false;
  std::uint64_t max_chunks_ = 0;
  vk::Buffer first_chunk_;
  vk::Buffer chunks_;
};

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> primitive_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
