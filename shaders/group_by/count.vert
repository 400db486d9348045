#version 450
#extension GL_GOOGLE_include_directive : require
// Rows, or values, of each group by additive blending (GARUDA §4.1.2).
//
// Bindings: group ids, list of rows, validity. Invocation: vertex = row, or its place in the list. Writes: weight 1 at
// the pixel of the row's group and lane, added into R32_SFLOAT. Overflow: a slice has at most 2^24 rows, so the sums
// stay exact; groups outside of the draw are clipped and drawn by another one.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"
#include "group_pixels.glsl"
#include "listed_rows.glsl"
#include "validity.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(location = 0) flat out float out_weight;

void main() {
  uint row = listed_row(uint(gl_VertexIndex));
  uint group;
  out_weight = 1.0;
  if (is_valid(row) && group_of(row, push, group)) draw_point(group_pixel(group, row, push), push.image);
  else clip_point();
}
