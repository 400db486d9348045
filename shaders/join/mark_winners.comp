#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Enters the rows that won a pixel of H_i into the FlagArray (GARUDA §3.1.1).
//
// Bindings: H_i alone (layers above it are not drawn yet), FlagArray. Invocation: one per pixel. Writes: flags[row] = push.flag for the row of every
// occupied pixel; rows are distinct. Overflow: none.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { MarkWinnersPush push; };
layout(set = 0, binding = kBindLayers) uniform utexture2D image;
layout(set = 0, binding = kBindFlags, std430) writeonly buffer Flags { uint flags[]; };

void main() {
  uint pixel = linear_invocation();
  if (pixel >= push.num_pixels) return;
  uint winner = texelFetch(image, texel_of(pixel, push.log2_width), 0).r;
  if ((winner & kOccupied) != 0u) flags[winner & kRowMask] = push.flag;
}
