#version 450
#extension GL_GOOGLE_include_directive : require
// The words of a key column, one after the other: keys that do not fit one word of 64 bits are compared by them.
//
// Buffers: KeyWordsPush, by address. Invocation: a row each. Writes: the column's words, and its bit in a word of nulls,
// which is zeroed before.

#include "column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 20) const uint kKind = 0u;
layout(push_constant) uniform Push { KeyWordsPush push; };

bool is_float() { return kKind == kColumnF16 || kKind == kColumnF32 || kKind == kColumnF64; }

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  bool is_null = push.nulls != uvec2(0u) && (InputWords(push.nulls).at[row] & push.null_mask) != 0u;
  uint first = row * push.source_words;
  uint top = InputWords(push.values).at[first + push.source_words - 1u];
  uint rest = push.is_signed != 0u && top >> 31 != 0u ? 0xffffffffu : 0u;
  for (uint w = 0u; w < push.num_words; ++w) {
    uint word = w < push.source_words ? InputWords(push.values).at[first + w] : rest;
    if (is_float()) {
      uvec2 value = kKind == kColumnF64 ? Pairs(push.values).at[row] : uvec2(word, 0u);
      word = canonical_word(kKind, value, w);
    }
    Words(push.words).at[(push.first_word + w) * push.stride + row] = is_null ? 0u : word;
  }
  if (is_null) Words(push.words).at[push.null_word * push.stride + row] |= 1u << push.null_bit;
}
