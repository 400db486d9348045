#version 450
#extension GL_GOOGLE_include_directive : require
// How the segments of an array are cut into chunks: number of the first chunk of each segment.
//
// Buffers: ChunkTablePush, by address. Invocation: one workgroup, which takes kGroup segments at a time. Writes:
// first_chunk, the number of chunks last.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { ChunkTablePush push; };

void main() {
  uint before = 0u;
  for (uint first = 0u; first < push.num_segments; first += kGroup) {
    uint segment = first + thread_index();
    uint chunks = 0u;
    if (segment < push.num_segments) {
      uint rows = InputWords(push.starts).at[segment + 1u] - InputWords(push.starts).at[segment];
      chunks = rows / push.chunk_rows + (rows % push.chunk_rows != 0u ? 1u : 0u);
    }
    uint total;
    uint sum = before + block_exclusive_add(chunks, total);
    if (segment < push.num_segments) Words(push.first_chunk).at[segment] = sum;
    before += total;
  }
  if (thread_index() == 0u) Words(push.first_chunk).at[push.num_segments] = before;
}
