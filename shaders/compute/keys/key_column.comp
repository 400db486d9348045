#version 450
#extension GL_GOOGLE_include_directive : require
// A key column of the groups, from their packed keys or from their first rows.
//
// Buffers: KeyColumnPush, by address. Invocation: a group each. Writes: target, nulls.

#include "column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(push_constant) uniform Push { KeyColumnPush push; };

uvec2 shifted_right(uvec2 key, uint bits) {
  if (bits >= 32u) return uvec2(key.y >> (bits - 32u), 0u);
  return bits == 0u ? key : uvec2(key.x >> bits | key.y << (32u - bits), key.y >> bits);
}

void write_packed(uint group) {
  PackedColumn column = push.column;
  uvec2 key = kWords == 2u ? Pairs(push.keys).at[group] : uvec2(InputWords(push.keys).at[group], 0u);
  uvec2 code = shifted_right(key, column.shift) & uvec2(column.mask_low, column.mask_high);
  bool has_nulls = column.nulls != uvec2(0u);
  bool is_null = has_nulls && code == uvec2(0u);
  if (has_nulls && !is_null) {
    code.y -= code.x == 0u ? 1u : 0u;
    code.x -= 1u;
  }
  uint carry;
  uvec2 image;
  image.x = uaddCarry(code.x, column.min_low, carry);
  image.y = code.y + column.min_high + carry;
  uvec2 value = is_null ? uvec2(0u) : value_of_image(column.kind, image);
  if (column.wide != 0u) {
    Pairs(push.target).at[group] = value;
  } else {
    Words(push.target).at[group] = value.x;
  }
  if (has_nulls) Words(push.nulls).at[group] = is_null ? 1u : 0u;
}

void write_gathered(uint group) {
  PackedColumn column = push.column;
  uint row = InputWords(push.rows).at[InputWords(push.keys).at[group]];
  bool has_nulls = column.nulls != uvec2(0u);
  bool is_null = has_nulls && (InputWords(column.nulls).at[row] & column.null_mask) != 0u;
  for (uint w = 0u; w < push.num_words; ++w) {
    uint word = InputWords(column.values).at[row * push.num_words + w];
    if (column.kind == kColumnF32) word = canonical32(word);
    if (column.kind == kColumnF16) word = canonical16(word);
    if (column.kind == kColumnF64) {
      uvec2 value = canonical64(Pairs(column.values).at[row]);
      word = w == 0u ? value.x : value.y;
    }
    Words(push.target).at[group * push.num_words + w] = is_null ? 0u : word;
  }
  if (has_nulls) Words(push.nulls).at[group] = is_null ? 1u : 0u;
}

void main() {
  uint group = group_index() * kGroup + thread_index();
  if (group >= push.num_groups) return;
  if (push.rows == uvec2(0u)) {
    write_packed(group);
  } else {
    write_gathered(group);
  }
}
