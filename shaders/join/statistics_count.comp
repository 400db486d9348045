#version 450
#extension GL_GOOGLE_include_directive : require
// Statistics without blending: the counts of statistics.vert by atomic additions.
//
// Bindings: keys; counts, zeroed before. Invocation: one per row. Writes: counts[pixel]. Overflow: none, a slice has at
// most 2^24 rows.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"

layout(push_constant) uniform Push { StatisticsPush push; };
layout(set = 0, binding = kBindCounts, std430) buffer Counts { uint counts[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  uint pixel;
  if (pixel_of(load_key(row), push.address, pixel)) atomicAdd(counts[pixel], 1u);
}
