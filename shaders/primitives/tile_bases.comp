#version 450
#extension GL_GOOGLE_include_directive : require
// Between the passes of reduce-then-scan: the tiles' sums become their bases, the total goes behind them.
//
// Buffers: PrefixPush, by address. Invocation: one workgroup; a subgroup at a time takes the sums in order. Writes: states
// (60 bits in two words) in place, total (low, high).

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"
#include "sum60.glsl"

layout(push_constant) uniform Push { PrefixPush push; };

shared uvec2 thread_sums[kGroup];

void main() {
  uint thread = thread_index();
  uvec2 base = uvec2(0u);
  for (uint first = 0u; first < push.num_tiles; first += kGroup * kItems) {
    uvec2 sums[kItems];
    uvec2 own = uvec2(0u);
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint tile = first + thread * kItems + i;
      sums[i] = tile < push.num_tiles ? Pairs(push.states).at[tile] : uvec2(0u);
      own = sum60_add(own, sums[i]);
    }
    thread_sums[thread] = own;
    barrier();
    for (uint distance = 1u; distance < kGroup; distance *= 2u) {
      uvec2 before = thread >= distance ? thread_sums[thread - distance] : uvec2(0u);
      barrier();
      thread_sums[thread] = sum60_add(thread_sums[thread], before);
      barrier();
    }
    uvec2 sum = base;
    if (thread > 0u) sum = sum60_add(sum, thread_sums[thread - 1u]);
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint tile = first + thread * kItems + i;
      if (tile < push.num_tiles) Pairs(push.states).at[tile] = sum;
      sum = sum60_add(sum, sums[i]);
    }
    base = sum60_add(base, thread_sums[kGroup - 1u]);
    barrier();
  }
  if (thread == 0u) Pairs(push.total).at[0] = sum60_words(base);
}
