#version 450
#extension GL_GOOGLE_include_directive : require
// Columns of one side of a join for the rows of its result: target[i] = source[rows[i]], all columns of the side by one
// reading of the row numbers.
//
// Buffers: LateGatherPush, by address. Invocation: kItems rows of the result, kGroup apart. Writes: the columns' targets.
// Overflow: the rows of a result that did not fit were not all written, so nothing is fetched for it.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(push_constant) uniform Push { LateGatherPush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { JoinedColumn at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer State { JoinRowsState it; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer InputPairs { uvec2 at[]; };

void gather_word(JoinedColumn column, uint word, uint rows[kItems], uint first, uint num_rows) {
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    values[i] = InputWords(advanced(column.source, word)).at[rows[i] * column.words];
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < num_rows) Words(advanced(column.target, word)).at[row * column.words] = values[i];
  }
}

void gather_pair(JoinedColumn column, uint rows[kItems], uint first, uint num_rows) {
  uvec2 values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = InputPairs(column.source).at[rows[i]];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < num_rows) Pairs(column.target).at[row] = values[i];
  }
}

void main() {
  JoinRowsState state = State(push.state).it;
  uint num_rows = state.incomplete == 0u ? state.cursor : 0u;
  uint first = group_index() * kGroup * kItems + thread_index();
  if (first >= num_rows) return;
  uint rows[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    rows[i] = InputWords(push.rows).at[min(first + i * kGroup, num_rows - 1u)];
  }
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    if (column.words == 2u) {
      gather_pair(column, rows, first, num_rows);
    } else {
      for (uint word = 0u; word < column.words; ++word) gather_word(column, word, rows, first, num_rows);
    }
  }
}
