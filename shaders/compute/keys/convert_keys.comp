#version 450
#extension GL_GOOGLE_include_directive : require
// Key values in the kind in which they are compared: integers times a factor, or as floats, floats as wider ones. All of
// them are exact.
//
// Buffers: ConvertKeysPush, by address. Invocation: a row each. Writes: target, in two words but for kColumnF32.

#include "column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { ConvertKeysPush push; };

uvec2 integer_at(uint row) {
  if (push.kind == kColumnI64 || push.kind == kColumnU64) return Pairs(push.source).at[row];
  uint value = InputWords(push.source).at[row];
  return uvec2(value, push.kind == kColumnI32 && value >> 31 != 0u ? 0xffffffffu : 0u);
}

uvec2 product(uvec2 value) {
  uint high;
  uint low;
  umulExtended(value.x, push.factor_low, high, low);
  return uvec2(low, high + value.x * push.factor_high + value.y * push.factor_low);
}

// A float's parts; the mantissa has `bits` bits, its top one set, before the point but for zeros, whose mantissa is 0.
struct Parts {
  uint sign;  // of a word
  int exponent;
  uint mantissa;
  uint bits;
  bool is_special;  // infinite, or no number: the mantissa says which
};

Parts parts_of_bits(uint value, uint exponent_bits, uint mantissa_bits) {
  uint special = (1u << exponent_bits) - 1u;
  uint exponent = value >> mantissa_bits & special;
  Parts parts;
  parts.sign = value >> (exponent_bits + mantissa_bits) & 1u;
  parts.mantissa = value & ((1u << mantissa_bits) - 1u);
  parts.bits = mantissa_bits + 1u;
  parts.is_special = exponent == special;
  parts.exponent = int(max(exponent, 1u)) - int(special >> 1u);
  if (exponent != 0u || parts.mantissa == 0u) {
    if (exponent != 0u) parts.mantissa |= 1u << mantissa_bits;
    return parts;
  }
  uint missing = mantissa_bits - uint(findMSB(parts.mantissa));
  parts.mantissa <<= missing;
  parts.exponent -= int(missing);
  return parts;
}

// The parts of an integer whose magnitude has at most 32 bits.
Parts parts_of_integer(uvec2 value) {
  Parts parts;
  parts.sign = value.y >> 31;
  parts.mantissa = parts.sign != 0u ? 0u - value.x : value.x;
  parts.bits = parts.mantissa == 0u ? 1u : uint(findMSB(parts.mantissa)) + 1u;
  parts.exponent = int(parts.bits) - 1;
  parts.is_special = false;
  return parts;
}

Parts parts_at(uint row) {
  if (push.kind == kColumnF16) return parts_of_bits(InputWords(push.source).at[row] & 0xffffu, 5u, 10u);
  if (push.kind == kColumnF32) return parts_of_bits(InputWords(push.source).at[row], 8u, 23u);
  return parts_of_integer(integer_at(row));
}

// Mantissas of at most 24 bits.
uint as_float(Parts parts) {
  uint sign = parts.sign << 31;
  uint mantissa = (parts.mantissa << (24u - parts.bits)) & 0x7fffffu;
  if (parts.is_special) return sign | 0x7f800000u | mantissa;
  if (parts.mantissa == 0u) return sign;
  return sign | uint(parts.exponent + 127) << 23 | mantissa;
}

uvec2 as_double(Parts parts) {
  uint sign = parts.sign << 31;
  // Behind the point 52 bits, of which the top one of 53 is left out.
  uint left = 53u - parts.bits;
  uint high = left >= 32u ? parts.mantissa << (left - 32u) : parts.mantissa >> (32u - left);
  uvec2 mantissa = uvec2(left >= 32u ? 0u : parts.mantissa << left, high & 0xfffffu);
  if (parts.is_special) return uvec2(mantissa.x, sign | 0x7ff00000u | mantissa.y);
  if (parts.mantissa == 0u) return uvec2(0u, sign);
  return uvec2(mantissa.x, sign | uint(parts.exponent + 1023) << 20 | mantissa.y);
}

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  if (push.as_kind == kColumnF32) {
    Words(push.target).at[row] = as_float(parts_at(row));
  } else if (push.as_kind == kColumnF64) {
    Pairs(push.target).at[row] = as_double(parts_at(row));
  } else {
    Pairs(push.target).at[row] = product(integer_at(row));
  }
}
