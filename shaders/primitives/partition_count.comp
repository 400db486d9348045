#version 450
#extension GL_GOOGLE_include_directive : require
// First pass of a radix partition: how many keys of each chunk have each digit.
//
// Buffers: PartitionPush, by address. Invocation: chunks_each chunks a workgroup (stable: one), a tile of kGroup × kItems
// keys at a time, kGroup apart. Writes: matrix, by (segment, bin, chunk) when stable, else by (segment, bin), so that its
// exclusive sums are where rows go; zeros, at most one an invocation.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { PartitionPush push; };

#include "radix.glsl"

shared uint counts[kBins];

void clear_counts() {
  for (uint bin = thread_index(); bin < kBins; bin += kGroup) counts[bin] = 0u;
}

void count_rows(PartitionChunk chunk) {
  for (uint tile = chunk.begin; tile < chunk.end; tile += kTile) {
    uint first = tile + thread_index();
    if (tile + kTile <= chunk.end) {
      uvec2 keys[kItems];
      uvec2 own = advanced(push.keys, first * kWords);
      [[unroll]] for (uint i = 0u; i < kItems; ++i) {
        keys[i] = kWords == 1u ? uvec2(InputWords(own).at[i * kGroup], 0u) : Pairs(own).at[i * kGroup];
      }
      [[unroll]] for (uint i = 0u; i < kItems; ++i) atomicAdd(counts[digit_of(keys[i])], 1u);
    } else {
      for (uint row = first; row < chunk.end; row += kGroup) atomicAdd(counts[digit_of(load_key(row))], 1u);
    }
  }
}

// Called by all, between barriers.
void write_counts(PartitionChunk chunk) {
  for (uint bin = thread_index(); bin < kBins; bin += kGroup) {
    uint cell = chunk.first + bin * chunk.stride;
    if (kStable != 0u) {
      Words(push.matrix).at[cell] = counts[bin];
    } else if (counts[bin] > 0u) {
      atomicAdd(Words(push.matrix).at[cell], counts[bin]);
    }
  }
}

void main() {
  uint index = group_index() * kGroup + thread_index();
  if (index < push.num_cleared) Words(push.cleared).at[index] = 0u;
  uint number = group_index() * push.chunks_each;
  if (number >= push.num_chunks) return;
  uint end = min(number + push.chunks_each, push.num_chunks);
  clear_counts();
  barrier();
  PartitionChunk chunk = chunk_at(number);
  count_rows(chunk);
  for (++number; number < end; ++number) {
    PartitionChunk next = chunk_at(number);
    if (next.begin == next.end) continue;
    if (next.first != chunk.first) {
      barrier();
      write_counts(chunk);
      barrier();
      clear_counts();
      barrier();
    }
    chunk = next;
    count_rows(chunk);
  }
  barrier();
  write_counts(chunk);
}
