#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Adds up the lanes of the counts of one draw.
//
// Bindings: accumulators; group rows. Invocation: one per group of the draw. Writes: group_rows. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindAccumulators) uniform texture2DArray accumulators;
layout(set = 0, binding = kBindGroupRows, std430) writeonly buffer GroupRows { uint group_rows[]; };

void main() {
  uint group = linear_invocation();
  if (group >= push.num_groups) return;
  uint sum = 0u;
  for (uint lane = 0u; lane < push.lanes; ++lane) {
    ivec2 texel = texel_of(group * push.lanes + lane, push.image.log2_width);
    sum += uint(texelFetch(accumulators, ivec3(texel, 0), 0).r);
  }
  group_rows[push.first_group + group] = sum;
}
