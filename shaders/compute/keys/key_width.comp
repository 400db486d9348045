#version 450
#extension GL_GOOGLE_include_directive : require
// Keys in another number of words.
//
// Buffers: KeyWidthPush, by address. Invocation: a row each. Writes: target, and the least row with a key that does not
// fit it.

#include "column_values_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { KeyWidthPush push; };

// The words behind `top` of a value that does not have them.
uint continued(uint top) { return push.is_signed != 0u && top >> 31 != 0u ? 0xffffffffu : 0u; }

uvec4 key_at(uint row) {
  if (push.source_words == 4u) return InputQuads(push.source).at[row];
  if (push.source_words == 2u) {
    uvec2 key = Pairs(push.source).at[row];
    return uvec4(key, uvec2(continued(key.y)));
  }
  uint key = InputWords(push.source).at[row];
  return uvec4(key, uvec3(continued(key)));
}

// Writes a key that is continued to more than four words.
void write_long(uint row) {
  uvec2 source = element_at(push.source, push.source_words, row);
  uvec2 target = element_at(push.target, push.target_words, row);
  uint rest = continued(InputWords(source).at[push.source_words - 1u]);
  for (uint w = 0u; w < push.target_words; ++w)
    Words(target).at[w] = w < push.source_words ? InputWords(source).at[w] : rest;
}

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  if (push.target_words > 4u) {
    write_long(row);
    return;
  }
  uvec4 key = key_at(row);
  uvec4 kept = key;
  if (push.target_words == 4u) {
    Quads(push.target).at[row] = key;
  } else if (push.target_words == 2u) {
    Pairs(push.target).at[row] = key.xy;
    kept.zw = uvec2(continued(key.y));
  } else {
    Words(push.target).at[row] = key.x;
    kept.yzw = uvec3(continued(key.x));
  }
  if (push.wide_row == uvec2(0u) || kept == key) return;
  bool is_null = push.nulls != uvec2(0u) && (InputWords(push.nulls).at[row] & push.null_mask) != 0u;
  if (!is_null) atomicMin(Words(push.wide_row).at[0], row);
}
