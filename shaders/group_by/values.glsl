// Values as a sign and a magnitude at a bit position, and as unsigned words of the same order. Declares binding
// kBindValues.
#ifndef GARUDA_GROUP_BY_VALUES_GLSL
#define GARUDA_GROUP_BY_VALUES_GLSL

#include "../shared/float_parts.glsl"
#include "../shared/group_by_layout.h"
#include "../shared/ordered_value.glsl"
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
  uint special;  // flag of a float that is not finite (float_flags.h); its words are 0
};

Parts float_parts(uvec4 value) {
  FloatParts own = parts_of(kValueKind == kKindFloat64, value.xy);
  return Parts(wide_shift(own.magnitude, own.position % 64u), own.position / 64u, own.negative, own.flags);
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

// Unsigned words in the order of the values; -0.0 is +0.0, all NaNs are one and largest (core/numbers/ordered_value.hpp).
uvec4 load_ordered(uint row) {
  uvec4 value = load_value(row);
  if (kValueKind == kKindFloat64) {
    value.xy = ordered_double(value.xy);
  } else if (kFloats) {
    value.x = ordered_float(value.x);
  } else if (kValueKind != kKindUint32 && kValueKind != kKindUint64) {
    value[kValueWords - 1u] ^= 0x80000000u;
  }
  return value;
}

#endif
