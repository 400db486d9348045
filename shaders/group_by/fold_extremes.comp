#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Takes the greatest piece of the lanes of each group.
//
// Bindings: accumulators; pieces. Invocation: one per group of the draw. Writes: piece + 1 of both sides, or 0 where no
// row was drawn. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"
#include "values_of_kind.glsl"
#define PIECES_ACCESS writeonly
#include "extreme_pieces.glsl"

layout(push_constant) uniform Push { ExtremesPush push; };
layout(set = 0, binding = kBindAccumulators) uniform texture2DArray accumulators;

void main() {
  uint group = linear_invocation();
  if (group >= push.groups.num_groups) return;
  vec2 greatest = vec2(-1.0);
  for (uint lane = 0u; lane < push.groups.lanes; ++lane) {
    ivec2 texel = texel_of(group * push.groups.lanes + lane, push.groups.image.log2_width);
    greatest = max(greatest, texelFetch(accumulators, ivec3(texel, 0), 0).rg);
  }
  pieces[first_piece(group, true) + push.piece] = uint(greatest.r + 1.0);
  pieces[first_piece(group, false) + push.piece] = uint(greatest.g + 1.0);
}
