#version 450
#extension GL_GOOGLE_include_directive : require
// The first row of each row's group, from the table.
//
// Buffers: NumberRowsPush, by address. Invocation: a row each. Writes: slots, in place; heads.

#include "grouping_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { NumberRowsPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uint first = InputWords(push.table).at[Words(push.slots).at[row]];
  Words(push.slots).at[row] = first;
  Words(push.heads).at[row] = first == row ? 1u : 0u;
}
