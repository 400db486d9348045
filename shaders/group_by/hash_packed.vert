#version 450
#extension GL_GOOGLE_include_directive : require
// Hash image over keys of one or two words (GARUDA §4.1.1).
//
// Bindings: keys; list of rows. Invocation: vertex v = row number count - 1 - v of the pass: Vulkan writes colours in
// primitive order, so of the rows that meet in a pixel the lowest is written last and stays; it is the first of its key.
// Writes: (kOccupied | row, key) at the key's pixel. Overflow: rows that meet a different key are drawn into the next
// image.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"
#include "listed_rows.glsl"
#include "packed_keys.glsl"

layout(push_constant) uniform Push { HashPush push; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = listed_row(push.count - 1u - uint(gl_VertexIndex));
  Key key = load_key(row);
  out_color = uvec4(kOccupied | row, key.low, key.high, 0u);
  uint pixel;
  if (seeded_pixel_of(key, push.address, push.seed, pixel)) draw_point(pixel, push.image);
  else clip_point();
}
