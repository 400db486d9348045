#version 450
#extension GL_GOOGLE_include_directive : require
// Keys with a value in place of those that are null, and whether another key has it.
//
// Buffers: NullKeysPush, by address. Invocation: a row each. Writes: target, taken.

#include "column_values_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(push_constant) uniform Push { NullKeysPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uvec2 value = uvec2(push.value_low, kWords == 1u ? 0u : push.value_high);
  uvec2 key = kWords == 1u ? uvec2(InputWords(push.source).at[row], 0u) : Pairs(push.source).at[row];
  bool is_null = push.nulls != uvec2(0u) && (InputWords(push.nulls).at[row] & push.null_mask) != 0u;
  if (!is_null && key == value) atomicOr(Words(push.taken).at[0], 1u);
  if (push.target == uvec2(0u)) return;
  if (is_null) key = value;
  if (kWords == 1u) {
    Words(push.target).at[row] = key.x;
  } else {
    Pairs(push.target).at[row] = key;
  }
}
