#version 450
#extension GL_GOOGLE_include_directive : require
// Which rows have a key.
//
// Buffers: NonNullPush, by address. Invocation: a row each. Writes: flags.

#include "../join/partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { NonNullPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  Words(push.flags).at[row] = ~(InputWords(push.nulls).at[row] >> push.bit) & 1u;
}
