#version 450
#extension GL_GOOGLE_include_directive : require
// Counts values by their low bits, each by an atomic in device memory.
//
// Buffers: CountBinsPush, by address. Invocation: kItems values each, kGroup apart. Writes: counts, 0 before.
// Overflow: none, bins are masked and a count is at most the number of values.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { CountBinsPush push; };

void main() {
  uint first = group_index() * kGroup * kItems + thread_index();
  uint bins[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint element = first + i * kGroup;
    bins[i] = element < push.num_elements ? InputWords(push.values).at[element] & push.mask : 0u;
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (first + i * kGroup < push.num_elements) atomicAdd(Words(push.counts).at[bins[i]], 1u);
  }
}
