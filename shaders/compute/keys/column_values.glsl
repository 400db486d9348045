// Values of columns as words whose unsigned order is theirs, floats in one form: -0.0 as +0.0, every NaN as one.
#include "../../shared/ordered_value.glsl"
#include "column_values_layout.h"

// Halves in a word.
uint canonical16(uint bits) {
  if ((bits & 0x7fffu) > 0x7c00u) return 0x7e00u;
  return bits == 0x8000u ? 0u : bits;
}
uint ordered_half(uint value) {
  uint bits = canonical16(value & 0xffffu);
  return (bits & 0x8000u) != 0u ? ~bits & 0xffffu : bits | 0x8000u;
}
uint half_of_ordered(uint image) { return (image & 0x8000u) != 0u ? image & 0x7fffu : ~image & 0xffffu; }

// Word `w` of a value whose words these are: floats in one form.
uint canonical_word(uint kind, uvec2 value, uint w) {
  if (kind == kColumnF16) return canonical16(value.x & 0xffffu);
  if (kind == kColumnF32) return canonical32(value.x);
  if (kind == kColumnF64) value = canonical64(value);
  return w == 0u ? value.x : value.y;
}

// The words in whose order values of one or two words are; the high word of a narrow one is 0.
uvec2 ordered_image(uint kind, uvec2 value) {
  if (kind == kColumnI32) return uvec2(value.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(value.x, value.y ^ 0x80000000u);
  if (kind == kColumnF32) return uvec2(ordered_float(value.x), 0u);
  if (kind == kColumnF64) return ordered_double(value);
  if (kind == kColumnF16) return uvec2(ordered_half(value.x), 0u);
  return value;
}

uvec2 value_of_image(uint kind, uvec2 image) {
  if (kind == kColumnI32) return uvec2(image.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(image.x, image.y ^ 0x80000000u);
  if (kind == kColumnF32) return uvec2(float_of_ordered(image.x), 0u);
  if (kind == kColumnF64) return double_of_ordered(image);
  if (kind == kColumnF16) return uvec2(half_of_ordered(image.x), 0u);
  return image;
}

bool is_below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
bool is_below(uvec4 a, uvec4 b) {
  return a.zw == b.zw ? is_below(a.xy, b.xy) : is_below(a.zw, b.zw);
}
