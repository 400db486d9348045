#version 450
#extension GL_GOOGLE_include_directive : require
// Which of its key columns are null in a row, and whether one is.
//
// Buffers: KeyNullsPush, by address. Invocation: a row each. Writes: words.

#include "column_values_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { KeyNullsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { KeyNulls at[]; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uint bits = 0u;
  for (uint c = 0u; c < push.num_columns; ++c) {
    KeyNulls column = Columns(push.columns).at[c];
    if ((InputWords(column.nulls).at[row] & column.null_mask) != 0u) bits |= 1u << column.bit | 1u << kAnyNullBit;
  }
  Words(push.words).at[row] = bits;
}
