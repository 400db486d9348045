// Values of columns as words whose unsigned order is theirs, floats in one form: -0.0 as +0.0, every NaN as one.
#include "../shared/ordered_value.glsl"
#include "column_values_layout.h"

// Of a value of one or two words; the high word of a narrow one is 0.
uvec2 ordered_image(uint kind, uvec2 value) {
  if (kind == kColumnI32) return uvec2(value.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(value.x, value.y ^ 0x80000000u);
  if (kind == kColumnF32) return uvec2(ordered_float(value.x), 0u);
  if (kind == kColumnF64) return ordered_double(value);
  return value;
}

uvec2 value_of_image(uint kind, uvec2 image) {
  if (kind == kColumnI32) return uvec2(image.x ^ 0x80000000u, 0u);
  if (kind == kColumnI64) return uvec2(image.x, image.y ^ 0x80000000u);
  if (kind == kColumnF32) return uvec2(float_of_ordered(image.x), 0u);
  if (kind == kColumnF64) return double_of_ordered(image);
  return image;
}

bool is_below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
bool is_below(uvec4 a, uvec4 b) {
  return a.zw == b.zw ? is_below(a.xy, b.xy) : is_below(a.zw, b.zw);
}
