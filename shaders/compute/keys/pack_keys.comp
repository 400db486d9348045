#version 450
#extension GL_GOOGLE_include_directive : require
// All key columns of a row in one word of 32 or 64 bits, in the order of the columns.
//
// Buffers: PackKeysPush, by address. Invocation: a row each. Writes: keys.

#include "column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(push_constant) uniform Push { PackKeysPush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { PackedColumn at[]; };

uvec2 code_of(PackedColumn column, uint row) {
  bool has_nulls = column.nulls != uvec2(0u);
  if (has_nulls && (InputWords(column.nulls).at[row] & column.null_mask) != 0u) return uvec2(0u);
  uvec2 value = column.wide != 0u ? Pairs(column.values).at[row] : uvec2(InputWords(column.values).at[row], 0u);
  uvec2 image = ordered_image(column.kind, value);
  uint borrow;
  uvec2 code;
  code.x = usubBorrow(image.x, column.min_low, borrow);
  code.y = image.y - column.min_high - borrow;
  if (has_nulls) {
    uint carry;
    code.x = uaddCarry(code.x, 1u, carry);
    code.y += carry;
  }
  return code;
}

uvec2 shifted_left(uvec2 code, uint bits) {
  if (bits >= 32u) return uvec2(0u, code.x << (bits - 32u));
  return bits == 0u ? code : uvec2(code.x << bits, code.y << bits | code.x >> (32u - bits));
}

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uvec2 key = uvec2(0u);
  for (uint c = 0u; c < push.num_columns; ++c) {
    PackedColumn column = Columns(push.columns).at[c];
    key |= shifted_left(code_of(column, row), column.shift);
  }
  if (kWords == 2u) {
    Pairs(push.keys).at[row] = key;
  } else {
    Words(push.keys).at[row] = key.x;
  }
}
