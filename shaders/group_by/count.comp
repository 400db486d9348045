#version 450
#extension GL_GOOGLE_include_directive : require
// Rows, or values, of each group without blending.
//
// Bindings: group ids, validity; group rows, zeroed before. Invocation: one per row. Writes: group_rows[group] by atomic
// additions. Overflow: none, a slice has at most 2^24 rows.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindGroupRows, std430) buffer GroupRows { uint group_rows[]; };

void main() {
  uint row = linear_invocation();
  if (row < push.num_rows && is_valid(row)) atomicAdd(group_rows[ids[row]], 1u);
}
