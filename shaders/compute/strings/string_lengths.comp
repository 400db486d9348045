#version 450
#extension GL_GOOGLE_include_directive : require
// Bytes of the strings of rows; those of null rows have none.
//
// Buffers: StringLengthsPush, by address. Invocation: a row each. Writes: lengths.

#include "strings_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "strings.glsl"

layout(push_constant) uniform Push { StringLengthsPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  bool is_null = push.nulls != uvec2(0u) && (InputWords(push.nulls).at[row] & push.null_mask) != 0u;
  uint size = 0u;
  if (!is_null) size = text_of(push.strings, InputWords(push.numbers).at[row]).size;
  Words(push.lengths).at[row] = size;
}
