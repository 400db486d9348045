#version 450
#extension GL_GOOGLE_include_directive : require
// Hash image over keys of several words (GARUDA §4.2.1).
//
// Bindings: words; list of rows. Invocation: vertex v = row number count - 1 - v of the pass, so that the lowest row of a
// pixel stays. Writes: kOccupied | row in the red channel; the fragment shader adds the words where they are in the
// image. Overflow: rows that meet a different key are drawn into the next image.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"

layout(push_constant) uniform Push { HashPush push; };
#include "listed_rows.glsl"
#include "word_keys.glsl"
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = listed_row(push.count - 1u - uint(gl_VertexIndex));
  out_color = uvec4(kOccupied | row, 0u, 0u, 0u);
  draw_point(hashed_pixel_of(row), push.image);
}
