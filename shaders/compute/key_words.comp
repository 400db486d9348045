#version 450
#extension GL_GOOGLE_include_directive : require
// The words of a key column, one after the other: keys that do not fit one word of 64 bits are compared by them.
//
// Buffers: KeyWordsPush, by address. Invocation: a row each. Writes: the column's words, and its bit in a word of nulls,
// which is zeroed before.

#include "column_values.glsl"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(constant_id = 20) const uint kKind = 0u;
layout(push_constant) uniform Push { KeyWordsPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  bool is_null = push.nulls != uvec2(0u) && (InputWords(push.nulls).at[row] & push.null_mask) != 0u;
  for (uint w = 0u; w < push.num_words; ++w) {
    uint word = InputWords(push.values).at[row * push.num_words + w];
    if (kKind == kColumnF32) word = canonical32(word);
    if (kKind == kColumnF64) {
      uvec2 value = Pairs(push.values).at[row];
      word = w == 0u ? canonical64(value).x : canonical64(value).y;
    }
    Words(push.words).at[(push.first_word + w) * push.num_rows + row] = is_null ? 0u : word;
  }
  if (is_null) Words(push.words).at[push.null_word * push.num_rows + row] |= 1u << push.null_bit;
}
