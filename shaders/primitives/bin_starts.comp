#version 450
#extension GL_GOOGLE_include_directive : require
// First row of every bin of every segment after a partition, from the scanned matrix.
//
// Buffers: BinStartsPush, by address. Invocation: a bin each. Writes: starts, the number of rows last.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(constant_id = 8) const uint kSegmented = 0u;
layout(push_constant) uniform Push { BinStartsPush push; };

void main() {
  uint index = group_index() * kGroup + thread_index();
  uint bins = push.num_segments * push.bins;
  if (index > bins) return;
  uint start = push.num_rows;
  if (index < bins) {
    uint segment = index / push.bins;
    uint bin = index % push.bins;
    uint first = 0u;
    uint stride = push.num_chunks;
    if (kSegmented != 0u) {
      first = InputWords(push.first_chunk).at[segment];
      stride = InputWords(push.first_chunk).at[segment + 1u] - first;
    }
    if (stride > 0u) {
      start = InputWords(push.matrix).at[first * push.bins + bin * stride];
    } else if (kSegmented != 0u) {
      start = InputWords(push.segments).at[segment];
    }
  }
  Words(push.starts).at[index] = start;
}
