#version 450
#extension GL_GOOGLE_include_directive : require
// The chunks of all segments: rows, and where their counts go.
//
// Buffers: ChunkTablePush, by address. Invocation: a chunk each. Writes: chunks; those past the last are empty.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { ChunkTablePush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Chunks { PartitionChunk at[]; };

void main() {
  uint chunk = group_index() * kGroup + thread_index();
  if (chunk >= push.max_chunks) return;
  if (chunk >= InputWords(push.first_chunk).at[push.num_segments]) {
    Chunks(push.chunks).at[chunk] = PartitionChunk(0u, 0u, push.shared_counts != 0u ? 0u : chunk * push.bins, 1u);
    return;
  }
  // The last segment whose first chunk is at or before this one.
  uint low = last_at_or_before(push.first_chunk, 0u, push.num_segments - 1u, chunk);
  uint first = InputWords(push.first_chunk).at[low];
  uint stride = InputWords(push.first_chunk).at[low + 1u] - first;
  uint begin = InputWords(push.starts).at[low] + (chunk - first) * push.chunk_rows;
  uint end = InputWords(push.starts).at[low + 1u];
  PartitionChunk own =
      PartitionChunk(begin, min(end - begin, push.chunk_rows) + begin, first * push.bins + chunk - first, stride);
  if (push.shared_counts != 0u) {
    own.first = low * push.bins;
    own.stride = 1u;
  }
  Chunks(push.chunks).at[chunk] = own;
}
