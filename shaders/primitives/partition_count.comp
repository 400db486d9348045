#version 450
#extension GL_GOOGLE_include_directive : require
// First pass of a radix partition: how many keys of each chunk have each digit.
//
// Buffers: PartitionPush, by address. Invocation: a chunk a workgroup, a tile of kGroup × kItems keys at a time, kGroup
// apart. Writes: matrix, by (segment, bin, chunk), so that its exclusive sums are where rows go.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { PartitionPush push; };

#include "radix.glsl"

shared uint counts[kBins];

void main() {
  if (group_index() >= push.num_chunks) return;
  uint thread = thread_index();
  PartitionChunk chunk = own_chunk();
  for (uint bin = thread; bin < kBins; bin += kGroup) counts[bin] = 0u;
  barrier();
  for (uint tile = chunk.begin; tile < chunk.end; tile += kTile) {
    uint first = tile + thread;
    if (tile + kTile <= chunk.end) {
      uvec2 keys[kItems];
      [[unroll]] for (uint i = 0u; i < kItems; ++i) keys[i] = load_key(first + i * kGroup);
      [[unroll]] for (uint i = 0u; i < kItems; ++i) atomicAdd(counts[digit_of(keys[i])], 1u);
    } else {
      for (uint row = first; row < chunk.end; row += kGroup) atomicAdd(counts[digit_of(load_key(row))], 1u);
    }
  }
  barrier();
  for (uint bin = thread; bin < kBins; bin += kGroup) Words(push.matrix).at[chunk.first + bin * chunk.stride] = counts[bin];
}
