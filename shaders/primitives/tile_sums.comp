#version 450
#extension GL_GOOGLE_include_directive : require
// First pass of reduce-then-scan: the sum of each tile.
//
// Buffers: PrefixPush, by address. Invocation: see scan_tile.glsl. Writes: states[tile], 60 bits in two words.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"
#include "sum60.glsl"

layout(push_constant) uniform Push { PrefixPush push; };

#include "scan_tile.glsl"

void main() {
  uint tile = group_index();
  if (tile >= push.num_tiles) return;
  uvec2 sum = sum_of_tile(tile);
  if (thread_index() == 0u) Pairs(push.states).at[tile] = sum;
}
