#version 450
#extension GL_GOOGLE_include_directive : require
// Lists the rows that lost, in ascending order, for the next image.
//
// Bindings: list of rows, lost and its prefix sum; the new list. Invocation: one per row of the pass. Writes: the row at
// the prefix sum of its position. Overflow: none, the new list is no longer than the old one.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "listed_rows.glsl"
#include "prefix.glsl"

layout(push_constant) uniform Push { RowsPush push; };
layout(set = 0, binding = kBindLost, std430) readonly buffer Lost { uint lost[]; };
layout(set = 0, binding = kBindRowsOut, std430) writeonly buffer RowsOut { uint rows_out[]; };

void main() {
  uint position = linear_invocation();
  if (position >= push.num_rows || lost[position] == 0u) return;
  rows_out[prefix(position)] = listed_row(position);
}
