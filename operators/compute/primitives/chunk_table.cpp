#include "operators/compute/primitives/chunk_table.hpp"

#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

PassShape chunk_shape(std::string_view entry) { return {entry, 0, 1, sizeof(shaders::ChunkTablePush), {}}; }

constexpr std::string_view kFirstChunks = "primitives/first_chunks.comp";
constexpr std::string_view kChunkTable = "primitives/chunk_table.comp";

}  // namespace

Result<ChunkTable> ChunkTable::create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                      std::uint32_t chunk_rows, std::uint32_t bins, bool shared_counts) {
  GARUDA_EXPECTS(segments > 0 && chunk_rows > 0);
  ChunkTable table;
  table.segments_ = segments;
  table.chunk_rows_ = chunk_rows;
  table.bins_ = bins;
  table.shared_counts_ = shared_counts;
  table.max_chunks_ = rows / chunk_rows + segments;
  GARUDA_TRY_ASSIGN(table.first_chunk_, context.device_buffer((std::uint64_t{segments} + 1) * 4, "first chunks"));
  GARUDA_TRY_ASSIGN(table.chunks_,
                    context.device_buffer(table.max_chunks_ * sizeof(shaders::PartitionChunk), "chunks"));
  return table;
}

shaders::ChunkTablePush ChunkTable::push_for(VkDeviceAddress starts) const {
  shaders::ChunkTablePush push{};
  push.starts = starts;
  push.first_chunk = first_chunk_.address();
  push.chunks = chunks_.address();
  push.num_segments = segments_;
  push.max_chunks = static_cast<std::uint32_t>(max_chunks_);
  push.chunk_rows = chunk_rows_;
  push.bins = bins_;
  push.shared_counts = shared_counts_ ? 1 : 0;
  return push;
}

Result<void> ChunkTable::record_firsts(ComputeContext& context, char const* phase, VkDeviceAddress starts,
                                       bool independent) {
  return context.dispatch(phase, chunk_shape(kFirstChunks), push_for(starts), 1, segments_, independent);
}

Result<void> ChunkTable::record_chunks(ComputeContext& context, char const* phase, VkDeviceAddress starts,
                                       bool independent) {
  return context.dispatch_each(phase, chunk_shape(kChunkTable), push_for(starts), max_chunks_, independent);
}

std::vector<vk::ComputePipelineSpec> chunk_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(chunk_shape(kFirstChunks), tuning), compute_pipeline(chunk_shape(kChunkTable), tuning)};
}

}  // namespace garuda::compute
