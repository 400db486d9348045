#version 450
#extension GL_GOOGLE_include_directive : require
// Statistics: how many rows clash in each pixel (GARUDA §3.4.3).
//
// Bindings: keys. Invocation: vertex = row. Writes: a point of weight 1 at the key's pixel, added into R32_SFLOAT.
// Overflow: a slice has at most 2^24 rows, so the sums stay exact.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { StatisticsPush push; };
layout(location = 0) flat out float out_weight;

void main() {
  uint pixel;
  out_weight = 1.0;
  if (pixel_of(load_key(uint(gl_VertexIndex)), push.address, pixel)) draw_point(pixel, push.image);
  else clip_point();
}
