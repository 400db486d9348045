// A float as a magnitude at a bit position: the form in which floats are summed exactly. A value is ± magnitude × 2^position
// over the least subnormal; see core/numbers/float_parts.hpp.
#ifndef GARUDA_SHADERS_SHARED_FLOAT_PARTS_GLSL
#define GARUDA_SHADERS_SHARED_FLOAT_PARTS_GLSL

#include "float_flags.h"

struct FloatParts {
  uvec2 magnitude;  // 0 of what is no number
  uint position;    // max(exponent field, 1) - 1
  bool negative;
  uint flags;
};

FloatParts parts_of(bool wide, uvec2 bits) {
  FloatParts parts;
  uint top = wide ? bits.y : bits.x;
  uint exponent = wide ? top >> 20u & 0x7ffu : top >> 23u & 0xffu;
  uint high = wide ? top & 0xfffffu : top & 0x7fffffu;
  bool is_special = exponent == (wide ? 0x7ffu : 0xffu);
  bool has_fraction = high != 0u || (wide && bits.x != 0u);
  parts.negative = (top >> 31u) != 0u;
  parts.position = max(exponent, 1u) - 1u;
  if (exponent != 0u) high |= wide ? 0x100000u : 0x800000u;
  parts.magnitude = is_special ? uvec2(0u) : wide ? uvec2(bits.x, high) : uvec2(high, 0u);
  parts.flags = 0u;
  if (is_special) parts.flags = has_fraction ? kFloatNan : parts.negative ? kFloatNegativeInfinite : kFloatInfinite;
  return parts;
}

#endif
