#version 450
#extension GL_GOOGLE_include_directive : require
// Brings equal keys of each build chunk together, once, so that every later pass over it finds the same order.
//
// Buffers: GroupPush, by address. Invocation: a chunk a workgroup. Writes: keys and rows of the chunk, in place.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "chunk_table.glsl"

layout(push_constant) uniform Push { GroupPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Chunks { PartitionChunk at[]; };

void main() {
  if (group_index() >= push.num_chunks) return;
  PartitionChunk chunk = Chunks(push.chunks).at[group_index()];
  uint rows = chunk.end - chunk.begin;
  if (rows == 0u) return;
  load_chunk(push.keys, chunk.begin, rows);
  barrier();
  uint places[kItems];
  if (!build_table(rows, places)) return;
  uint thread = thread_index();
  uint numbers[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint place = i * kGroup + thread;
    if (place < rows) numbers[i] = Words(push.rows).at[chunk.begin + scratch[place]];
  }
  // Row numbers, all read before any is overwritten.
  memoryBarrierBuffer();
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint place = i * kGroup + thread;
    if (place >= rows) continue;
    uvec2 key = chunk_key(scratch[place]);
    Words(push.rows).at[chunk.begin + place] = numbers[i];
    if (kWords == 1u) {
      Words(push.keys).at[chunk.begin + place] = key.x;
    } else {
      Pairs(push.keys).at[chunk.begin + place] = key;
    }
  }
}
