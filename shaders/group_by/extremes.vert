#version 450
#extension GL_GOOGLE_include_directive : require
// Minima and maxima by MAX blending, a piece of 24 bits a draw.
//
// Bindings: group ids, list of rows, values, validity, pieces of the draws before. Invocation: vertex = row, or its
// place in the list. Writes: (piece of the value, piece of its complement) at the pixel of group and lane into
// R32G32_SFLOAT, cleared to -1; -1 for a side that is not asked for or where the pieces above have lost. Overflow:
// none; rows that lost on both sides, and groups outside of the draw, are clipped.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"
#include "group_pixels.glsl"
#include "listed_rows.glsl"
#include "validity.glsl"
#include "values.glsl"
#define PIECES_ACCESS readonly
#include "extreme_pieces.glsl"

layout(push_constant) uniform Push { ExtremesPush push; };
layout(location = 0) flat out vec4 out_color;

// Whether the pieces above `number` are those of the group's extreme so far.
bool is_candidate(uvec4 value, uint number, uint first) {
  for (uint i = 0u; i < number; ++i) {
    if (pieces[first + i] != piece_of(value, i) + 1u) return false;
  }
  return true;
}

void main() {
  uint row = listed_row(uint(gl_VertexIndex));
  uint group;
  out_color = vec4(-1.0);
  clip_point();
  if (!is_valid(row) || !group_of(row, push.groups, group)) return;
  uvec4 value = load_ordered(row);
  bool maximum = (push.sides & kSideMax) != 0u && is_candidate(value, push.piece, first_piece(group, true));
  bool minimum = (push.sides & kSideMin) != 0u && is_candidate(~value, push.piece, first_piece(group, false));
  if (maximum) out_color.r = float(piece_of(value, push.piece));
  if (minimum) out_color.g = float(piece_of(~value, push.piece));
  if (maximum || minimum) draw_point(group_pixel(group, row, push.groups), push.groups.image);
}
