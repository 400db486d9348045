#version 450
#extension GL_GOOGLE_include_directive : require
// Rows, or values, of each group without blending.
//
// Bindings: group ids, validity; group rows, zeroed before. Invocation: rows, all invocations apart. Writes:
// group_rows[group] by atomic additions. Overflow: none, a slice has at most 2^24 rows.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "local_words.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindGroupRows, std430) buffer GroupRows { uint group_rows[]; };

void main() {
  if (kIsLocal) clear_local_words();
  if (kIsLocal) barrier();
  for (uint row = linear_invocation(); row < push.num_rows; row += all_invocations()) {
    if (!is_valid(row)) continue;
    if (kIsLocal) {
      atomicAdd(local_words[ids[row]], 1u);
    } else {
      atomicAdd(group_rows[ids[row]], 1u);
    }
  }
  if (!kIsLocal) return;
  barrier();
  for (uint group = gl_LocalInvocationID.x; group < push.num_groups; group += kGroupSize) {
    if (local_words[group] != 0u) atomicAdd(group_rows[group], local_words[group]);
  }
}
