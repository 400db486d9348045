#version 450
#extension GL_GOOGLE_include_directive : require
// Minima and maxima without blending: the pieces of extremes.vert by atomic maxima.
//
// Bindings: group ids, values, validity; pieces, zeroed before the first pass. Invocation: one per row. Writes: piece + 1
// of the rows whose pieces above have not lost. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"
#include "values.glsl"
#define PIECES_ACCESS
#include "extreme_pieces.glsl"

layout(push_constant) uniform Push { ExtremesPush push; };

void main() {
  uint row = linear_invocation();
  uint group;
  if (row >= push.groups.num_rows || !is_valid(row) || !group_of(row, push.groups, group)) return;
  uvec4 value = load_ordered(row);
  uint first = first_piece(group, true);
  if ((push.sides & kSideMax) != 0u && is_candidate(value, push.piece, first)) {
    atomicMax(pieces[first + push.piece], piece_of(value, push.piece) + 1u);
  }
  first = first_piece(group, false);
  if ((push.sides & kSideMin) != 0u && is_candidate(~value, push.piece, first)) {
    atomicMax(pieces[first + push.piece], piece_of(~value, push.piece) + 1u);
  }
}
