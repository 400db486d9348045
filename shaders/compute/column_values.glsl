// Values of columns as words whose unsigned order is theirs, floats in one form: -0.0 as +0.0, every NaN as one.
#include "column_values_layout.h"

bool is_negative(uint high) { return (high >> 31u) != 0u; }

uint canonical32(uint bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
  return bits == 0x80000000u ? 0u : bits;
}

uvec2 canonical64(uvec2 bits) {
  uint high = bits.y & 0x7fffffffu;
  if (high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u)) return uvec2(0u, 0x7ff80000u);
  return bits == uvec2(0u, 0x80000000u) ? uvec2(0u) : bits;
}

// Of a value of one or two words; the high word of a narrow one is 0.
uvec2 ordered_image(uint kind, uvec2 value) {
  if (kind == kColumnI32) return uvec2(value.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(value.x, value.y ^ 0x80000000u);
  if (kind == kColumnF32) {
    uint bits = canonical32(value.x);
    return uvec2(is_negative(bits) ? ~bits : bits | 0x80000000u, 0u);
  }
  if (kind == kColumnF64) {
    uvec2 bits = canonical64(value);
    return is_negative(bits.y) ? ~bits : uvec2(bits.x, bits.y | 0x80000000u);
  }
  return value;
}

uvec2 value_of_image(uint kind, uvec2 image) {
  if (kind == kColumnI32) return uvec2(image.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(image.x, image.y ^ 0x80000000u);
  if (kind == kColumnF32) return uvec2(is_negative(image.x) ? image.x & 0x7fffffffu : ~image.x, 0u);
  if (kind == kColumnF64) return is_negative(image.y) ? uvec2(image.x, image.y & 0x7fffffffu) : ~image;
  return image;
}

bool is_below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
bool is_below(uvec4 a, uvec4 b) {
  return a.zw == b.zw ? is_below(a.xy, b.xy) : is_below(a.zw, b.zw);
}
