#version 450
#extension GL_GOOGLE_include_directive : require
// First accumulator pixel of each group, from the prefix sum of the pixels allotted.
//
// Bindings: prefix sum; first pixels. Invocation: one per group and one more. Writes: first_pixels, the total last.
// Overflow: none, see allot_pixels.comp.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "prefix.glsl"

layout(push_constant) uniform Push { AllotPush push; };
layout(set = 0, binding = kBindFirstPixels, std430) writeonly buffer FirstPixels { uint first_pixels[]; };

void main() {
  uint group = linear_invocation();
  if (group > push.num_groups) return;
  uint tiles = (push.num_groups + kTileRows - 1u) / kTileRows;
  first_pixels[group] = group < push.num_groups ? prefix(group) : tile_bases[tiles].x;
}
