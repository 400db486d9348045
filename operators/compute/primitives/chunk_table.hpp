// Segments of a device array, cut into chunks that workgroups take one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct ChunkTablePush;
}

namespace garuda::compute {

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

/// Every pipeline of chunk tables with this tuning.
std::vector<vk::ComputePipelineSpec> chunk_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
