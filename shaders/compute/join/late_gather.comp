#version 450
#extension GL_GOOGLE_include_directive : require
// Columns of one side of a join for the rows of its result: target[i] = source[rows[i]], all columns of the side by one
// reading of the row numbers.
//
// Buffers: LateGatherPush, by address. Invocation: kItems rows of the result, kGroup apart. Writes: the columns' targets.
// Overflow: the rows of a result that did not fit were not all written, so nothing is fetched for it.

#include "partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "gather_columns.glsl"

layout(push_constant) uniform Push { LateGatherPush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer State { JoinRowsState it; };

void main() {
  JoinRowsState state = State(push.state).it;
  uint num_rows = state.incomplete == 0u ? state.cursor : 0u;
  uint first = group_index() * kGroup * kItems + thread_index();
  if (first >= num_rows) return;
  uint rows[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    rows[i] = InputWords(push.rows).at[min(first + i * kGroup, num_rows - 1u)];
  }
  for (uint c = 0u; c < push.num_columns; ++c) gather(Columns(push.columns).at[c], rows, first, num_rows);
}
