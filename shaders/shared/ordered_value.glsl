// Floats as words whose unsigned order is theirs, in one form: -0.0 as +0.0, every NaN as one, the largest. The same as
// core/numbers/ordered_value.hpp, in words of 32 bits.
#ifndef GARUDA_SHADERS_SHARED_ORDERED_VALUE_GLSL
#define GARUDA_SHADERS_SHARED_ORDERED_VALUE_GLSL

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

uint ordered_float(uint value) {
  uint bits = canonical32(value);
  return is_negative(bits) ? ~bits : bits | 0x80000000u;
}

uvec2 ordered_double(uvec2 value) {
  uvec2 bits = canonical64(value);
  return is_negative(bits.y) ? ~bits : uvec2(bits.x, bits.y | 0x80000000u);
}

uint float_of_ordered(uint image) { return is_negative(image) ? image & 0x7fffffffu : ~image; }
uvec2 double_of_ordered(uvec2 image) {
  return is_negative(image.y) ? uvec2(image.x, image.y & 0x7fffffffu) : ~image;
}

#endif
