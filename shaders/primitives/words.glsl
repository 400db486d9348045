// Memory by device address: u32 words, pairs and quads.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly restrict buffer InputWords { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer InputQuads { uvec4 at[]; };

// The address `words` words on.
uvec2 advanced(uvec2 address, uint words) {
  uint carry;
  uint low = uaddCarry(address.x, words << 2, carry);
  return uvec2(low, address.y + (words >> 30) + carry);
}

// The address of an element of `words` words, where indices of words leave 32 bits.
uvec2 element_at(uvec2 address, uint words, uint index) {
  uint high;
  uint low;
  umulExtended(index, words << 2, high, low);
  uint carry;
  low = uaddCarry(address.x, low, carry);
  return uvec2(low, address.y + high + carry);
}

// The last of [low, high] whose word is at or before `value`. Words do not decrease; that of `low` is at or before it.
uint last_at_or_before(uvec2 words, uint low, uint high, uint value) {
  while (low < high) {
    uint middle = low + (high - low + 1u) / 2u;
    if (InputWords(words).at[middle] <= value) {
      low = middle;
    } else {
      high = middle - 1u;
    }
  }
  return low;
}

// Whether a row is null: by a word a row, any bit of `mask` of it set; of mask 0 by a bitmap of the rows that are not.
bool is_null_row(uvec2 nulls, uint mask, uint row) {
  if (mask != 0u) return (InputWords(nulls).at[row] & mask) != 0u;
  return (InputWords(nulls).at[row / 32u] >> row % 32u & 1u) == 0u;
}
