// Values as a sign and a magnitude at a bit position, and as unsigned words of the same order. Declares binding
// kBindValues.
#ifndef GARUDA_GROUP_BY_VALUES_GLSL
#define GARUDA_GROUP_BY_VALUES_GLSL

#include "../shared/group_by_layout.h"
#include "values_of_kind.glsl"
#include "wide_words.glsl"

layout(set = 0, binding = kBindValues, std430) readonly buffer Values { uint values[]; };

uvec4 load_value(uint row) {
  uvec4 value = uvec4(values[kValueWords * row], 0u, 0u, 0u);
  if (kValueWords > 1u) value.y = values[kValueWords * row + 1u];
  if (kValueWords > 2u) value.zw = uvec2(values[4u * row + 2u], values[4u * row + 3u]);
  return value;
}

// A value is ± the words · 2^(64 · window): integers have window 0, floats up to max_windows - 2.
struct Parts {
  uvec4 words;
  uint window;
  bool negative;
  uint special;  // kSpan… flag of a float that is not finite; its words are 0
};

Parts float_parts(uvec4 value) {
  bool wide = kValueKind == kKindFloat64;
  uint top = wide ? value.y : value.x;
  uint fraction_bits = wide ? 20u : 23u;
  uint exponent = (top >> fraction_bits) & (wide ? 0x7ffu : 0xffu);
  uint fraction = top & ((1u << fraction_bits) - 1u);
  uvec2 magnitude = wide ? uvec2(value.x, fraction) : uvec2(fraction, 0u);
  Parts parts = Parts(uvec4(0u), 0u, (top >> 31u) != 0u, 0u);
  if (exponent == (wide ? 0x7ffu : 0xffu)) {
    parts.special = (magnitude.x | magnitude.y) != 0u ? kSpanNan
                    : parts.negative ? kSpanNegativeInfinity
                                     : kSpanPositiveInfinity;
    return parts;
  }
  if (exponent != 0u && wide) magnitude.y |= 1u << 20u;
  if (exponent != 0u && !wide) magnitude.x |= 1u << 23u;
  uint position = max(exponent, 1u) - 1u;
  parts.window = position / 64u;
  parts.words = wide_shift(magnitude, position % 64u);
  return parts;
}

Parts integer_parts(uvec4 value) {
  bool is_signed = kValueKind == kKindInt32 || kValueKind == kKindInt64 || kValueKind == kKindInt128;
  Parts parts = Parts(value, 0u, is_signed && (value[kValueWords - 1u] >> 31u) != 0u, 0u);
  if (!parts.negative) return parts;
  parts.words = wide_negative(value);
  if (kValueWords < 4u) parts.words.zw = uvec2(0u);
  if (kValueWords < 2u) parts.words.y = 0u;
  return parts;
}

Parts load_parts(uint row) {
  uvec4 value = load_value(row);
  if (kFloats) return float_parts(value);
  return integer_parts(value);
}

// Unsigned words in the order of the values; -0.0 is +0.0, all NaNs are one and largest (core/ordered_value.hpp).
uvec4 load_ordered(uint row) {
  uvec4 value = load_value(row);
  uint last = kValueWords - 1u;
  if (!kFloats) {
    if (kValueKind != kKindUint32 && kValueKind != kKindUint64) value[last] ^= 0x80000000u;
    return value;
  }
  bool wide = kValueKind == kKindFloat64;
  uint magnitude = value[last] & 0x7fffffffu;
  uint infinity = wide ? 0x7ff00000u : 0x7f800000u;
  uint rest = wide ? value.x : 0u;
  if (magnitude > infinity || (magnitude == infinity && rest != 0u)) {
    value = wide ? uvec4(0u, 0x7ff80000u, 0u, 0u) : uvec4(0x7fc00000u, 0u, 0u, 0u);
  } else if ((magnitude | rest) == 0u) {
    value = uvec4(0u);
  }
  if ((value[last] >> 31u) != 0u) {
    value.x = ~value.x;
    if (wide) value.y = ~value.y;
  } else {
    value[last] |= 0x80000000u;
  }
  return value;
}

#endif
