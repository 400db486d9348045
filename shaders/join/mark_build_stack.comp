#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Marks the build rows of a stack slice that have a match.
//
// Bindings: keys of the probe side, hash images, matches, marks. Invocation: one per probe row. Writes: the bit of the
// row in each matching layer's texel. Overflow: none. Cost: as many texel fetches as the slice has matches, at most one
// per layer and probe row.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "layers.glsl"

layout(push_constant) uniform Push { MarkPush push; };
layout(set = 0, binding = kBindMatches, std430) readonly buffer Matches { uint matches[]; };
layout(set = 0, binding = kBindMarks, std430) buffer Marks { uint marks[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  uint matching = matches[row];
  if (matching == 0u) return;
  uint pixel;
  pixel_of(load_key(row), push.address, pixel);
  while (matching != 0u) {
    uint build_row = load_texel(pixel, uint(findLSB(matching)), push.log2_width).r & kRowMask;
    atomicOr(marks[build_row / 32u], 1u << (build_row % 32u));
    matching &= matching - 1u;
  }
}
