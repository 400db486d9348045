#version 450
#extension GL_GOOGLE_include_directive : require
// Gives every row the dense number of its group (GARUDA §4.1.2): groups in the order of their first rows.
//
// Bindings: map, heads and their prefix sum; group ids, head rows. Invocation: one per row. Writes: ids[row] = prefix sum
// of the row's head, kClippedRow of rows without one; head_rows[id] = row for heads. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "prefix.glsl"

layout(push_constant) uniform Push { RowsPush push; };
layout(set = 0, binding = kBindMap, std430) readonly buffer Map { uint map[]; };
layout(set = 0, binding = kBindIds, std430) writeonly buffer Ids { uint ids[]; };
layout(set = 0, binding = kBindHeadRows, std430) writeonly buffer HeadRows { uint head_rows[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  uint first = map[row];
  uint id = first == kClippedRow ? kClippedRow : prefix(first);
  ids[row] = id;
  if (first == row) head_rows[id] = row;
}
