#version 450
#extension GL_GOOGLE_include_directive : require
// Allots accumulator pixels: `lanes` a window, and more for groups of more than kPixelRows rows.
//
// Bindings: group rows, spans; counts. Invocation: one per group. Writes: counts[group], at most 33 × 2^18. Overflow:
// sums are at most 2^24 × 33 + 2^8 × 33 × 2^18, below 2^32: where there are several lanes, groups × lanes is below 2^24.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "spans.glsl"

layout(push_constant) uniform Push { AllotPush push; };
layout(set = 0, binding = kBindGroupRows, std430) readonly buffer GroupRows { uint group_rows[]; };
layout(set = 0, binding = kBindCounts, std430) writeonly buffer Counts { uint counts[]; };

void main() {
  uint group = linear_invocation();
  if (group >= push.num_groups) return;
  uint windows = push.windows;
  if (windows == 0u) windows = num_windows(spans[group]);
  bool many = push.many_lanes > push.lanes && group_rows[group] > kPixelRows;
  counts[group] = windows * (many ? push.many_lanes : push.lanes);
}
