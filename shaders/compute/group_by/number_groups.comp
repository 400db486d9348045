#version 450
#extension GL_GOOGLE_include_directive : require
// Dense group ids, in the order of the groups' first rows.
//
// Buffers: NumberRowsPush, by address. Invocation: a row each. Writes: ids; head_rows of first rows.

#include "grouping_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { NumberRowsPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uint first = InputWords(push.slots).at[row];
  uint id = InputWords(push.offsets).at[first];
  Words(push.ids).at[row] = id;
  if (first == row) Words(push.head_rows).at[id] = row;
}
