// Integers of 128 bits as four words, low word first.
#ifndef GARUDA_GROUP_BY_WIDE_WORDS_GLSL
#define GARUDA_GROUP_BY_WIDE_WORDS_GLSL

uvec4 wide_sum(uvec4 a, uvec4 b) {
  uvec4 sum;
  uint carry = 0u;
  for (int i = 0; i < 4; ++i) {
    uint carried = a[i] + carry;
    uint over = carried < carry ? 1u : 0u;
    sum[i] = carried + b[i];
    carry = over + (sum[i] < carried ? 1u : 0u);
  }
  return sum;
}

uvec4 wide_negative(uvec4 a) { return wide_sum(~a, uvec4(1u, 0u, 0u, 0u)); }

// `value` · 2^shift, shift < 64, of a value of 64 bits.
uvec4 wide_shift(uvec2 value, uint shift) {
  uint bits = shift % 32u;
  uvec3 moved = bits == 0u ? uvec3(value, 0u)
                           : uvec3(value.x << bits, (value.y << bits) | (value.x >> (32u - bits)), value.y >> (32u - bits));
  return shift < 32u ? uvec4(moved, 0u) : uvec4(0u, moved);
}

#endif
