#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Count over a stack without blending: the sets of count_stack.vert.
//
// Bindings: keys of the probe side, hash images, matches. Invocation: one per probe row. Writes: matches[row], the set of
// matching layers. Overflow: none, a stack slice has at most kMaxLayers layers.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "layers.glsl"

layout(push_constant) uniform Push { CountPush push; };
layout(set = 0, binding = kBindMatches, std430) writeonly buffer Matches { uint matches[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  Key key = load_key(row);
  uint pixel;
  uint matching = 0u;
  if (pixel_of(key, push.address, pixel)) {
    for (uint layer = 0u; layer < push.num_layers; ++layer) {
      uvec4 texel = load_texel(pixel, layer, push.image.log2_width);
      if (texel_matches(texel, key)) matching |= 1u << layer;
      // A layer only has what lost in the one before, so the first empty texel ends the stack of this pixel.
      if ((texel.r & kOccupied) == 0u) break;
    }
  }
  matches[row] = matching;
}
