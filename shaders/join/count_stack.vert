#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Count over a stack (GARUDA §3.2.1), as the set of matching layers.
//
// Bindings: keys of the probe side, hash images. Invocation: vertex = probe row, instance = layer. Writes: a point of
// weight 2^layer at the row's own pixel of the CountFBO when the layer's texel has its key; clipped otherwise. Each power
// is added at most once, so the sum is the set, its bit count the number of matches. Overflow: more than kMaxLayers
// layers are never drawn at once.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "layers.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { CountPush push; };
layout(location = 0) flat out float out_weight;

void main() {
  uint row = uint(gl_VertexIndex);
  uint layer = uint(gl_InstanceIndex);
  Key key = load_key(row);
  uint pixel;
  out_weight = float(1u << layer);
  if (pixel_of(key, push.address, pixel) && texel_matches(load_texel(pixel, layer, push.image.log2_width), key)) {
    draw_point(row, push.target);
  } else {
    clip_point();
  }
}
