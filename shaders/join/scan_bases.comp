#version 450
#extension GL_GOOGLE_include_directive : require
// Second half of the exclusive prefix sum: totals of tiles become their bases, in 64-bit arithmetic by halves.
//
// Bindings: tile bases. Invocation: one workgroup in all; each invocation owns ceil(tiles / 256) consecutive tiles, at
// most 256 of a slice's 65 536 tiles of rows. Writes: bases in place of the totals, the grand total behind the last one.
// Overflow: sums are at most 2^48 and carry into the high half.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/wide.glsl"

layout(push_constant) uniform Push { ScanPush push; };
layout(set = 0, binding = kBindTileBases, std430) buffer TileBases { uvec2 tile_bases[]; };

shared uvec2 sums[kGroupSize];

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint tiles_each = (push.num_tiles + kGroupSize - 1u) / kGroupSize;
  uint begin = min(thread * tiles_each, push.num_tiles);
  uint end = min(begin + tiles_each, push.num_tiles);

  uvec2 own = uvec2(0u);
  for (uint tile = begin; tile < end; ++tile) own = wide_add(own, tile_bases[tile]);
  sums[thread] = own;
  barrier();
  for (uint distance = 1u; distance < kGroupSize; distance *= 2u) {
    uvec2 before = thread >= distance ? sums[thread - distance] : uvec2(0u);
    barrier();
    sums[thread] = wide_add(sums[thread], before);
    barrier();
  }

  uvec2 base = wide_subtract(sums[thread], own);
  for (uint tile = begin; tile < end; ++tile) {
    uvec2 total = tile_bases[tile];
    tile_bases[tile] = base;
    base = wide_add(base, total);
  }
  if (thread == kGroupSize - 1u) tile_bases[push.num_tiles] = sums[thread];
}
