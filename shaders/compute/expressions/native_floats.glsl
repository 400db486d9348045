// Floats of IEEE 754 by the device's float64, with the bits that floats.glsl gives by integers. Included behind
// integers.glsl and floats.glsl, in modules for devices that round float64 to nearest even (NATIVE_FLOATS).
//
// The device computes where operands are normal and the result is so, too, a binade away from the others: there Vulkan
// has sums and products correctly rounded, whatever a device makes of denormals. Zeros are signs alone. Infinities, NaNs,
// denormals and results beyond the normal numbers are left to integers. Of quotients Vulkan promises 2.5 units in the
// last place, so the device's is a guess, which an exact remainder confirms or corrects. Floats of 32 bits are computed
// in 64 and rounded once more: 53 digits are more than twice 24 and two, so the result is as if it was rounded once.
#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(capabilities = [4467], 4462, 64);  // RoundingModeRTE
spirv_execution_mode(capabilities = [4466], 4461, 64);  // SignedZeroInfNanPreserve

const uint kSign = 0x80000000u;
const uint kTopField = 0x7ffu;
const uint kFieldOfOne = 0x3ffu;
const uint kLeadingDigit = 0x100000u;
const uint kDigitsBelow = kLeadingDigit - 1u;

// Fields of binary64 for the normal numbers of binary32.
const uint kFirstNarrowField = kFieldOfOne - 126u;
const uint kLastNarrowField = kFieldOfOne + 127u;
const uint kNarrowOffset = (kFirstNarrowField - 1u) << 20;

uint exponent_field(uvec2 bits) { return bits.y >> 20 & kTopField; }

bool is_zero(uvec2 bits) { return (bits.x | bits.y << 1) == 0u; }

// A number is zero or normal.
bool is_ordinary(uvec2 bits, bool wide) {
  uint field = wide ? exponent_field(bits) : bits.x >> 23 & 0xffu;
  bool is_zero = (wide ? bits.x | bits.y << 1 : bits.x << 1) == 0u;
  return is_zero || field - 1u < top_field(wide) - 1u;
}

// A number is normal, and a binade above the least one.
bool is_well_normal(uvec2 bits) { return exponent_field(bits) - 2u < kTopField - 2u; }

// A number of binary32 that is zero or normal, in binary64.
uvec2 widened(uint bits) {
  if (bits << 1 == 0u) return uvec2(0u, bits);
  return uvec2(bits << 29, (bits & kSign) | (((bits & ~kSign) >> 3) + kNarrowOffset));
}

// Rounds a number that is zero or normal to binary32. Returns false where it is below the normal numbers there.
bool is_narrowed(inout uvec2 bits) {
  uint sign = bits.y & kSign;
  uint field = exponent_field(bits);
  uint size = 0u;
  if (field > kLastNarrowField) {
    size = 0x7f800000u;
  } else if (!is_zero(bits)) {
    if (field < kFirstNarrowField) return false;
    size = ((bits.y & ~kSign) - kNarrowOffset) << 3 | bits.x >> 29;
    uint below = bits.x & 0x1fffffffu;
    // Infinity follows the largest number.
    if (below > 0x10000000u || (below == 0x10000000u && (size & 1u) != 0u)) ++size;
  }
  bits = uvec2(sign | size, 0u);
  return true;
}

// The sum of ordinary numbers. Returns whether the device has it, as the functions below do.
bool has_native_sum(uvec2 a, uvec2 b, out uvec2 result) {
  precise double total = packDouble2x32(a) + packDouble2x32(b);
  result = unpackDouble2x32(total);
  bool is_opposite = a.x == b.x && (a.y ^ b.y) == kSign;
  if (is_zero(a)) {
    result = is_zero(b) ? a & b : b;  // zeros of both signs make a positive one
  } else if (is_zero(b)) {
    result = a;
  } else if (is_opposite) {
    result = uvec2(0u);
  } else {
    return is_well_normal(result);
  }
  return true;
}

bool has_native_product(uvec2 a, uvec2 b, out uvec2 result) {
  precise double total = packDouble2x32(a) * packDouble2x32(b);
  result = unpackDouble2x32(total);
  if (!is_zero(a) && !is_zero(b)) return is_well_normal(result);
  result = uvec2(0u, (a.y ^ b.y) & kSign);
  return true;
}

// Corrections of a guess by a unit in the last place, at most: as many as Vulkan's promise can ask for.
const int kMostCorrections = 3;

bool has_native_quotient(uvec2 a, uvec2 b, out uvec2 result) {
  result = uvec2(0u, (a.y ^ b.y) & kSign);
  if (is_zero(b)) return false;
  if (is_zero(a)) return true;
  // The device divides numbers from 1 to 2 with the digits of both, so that the guess is normal whatever the exponents.
  uvec2 one = uvec2(0u, kFieldOfOne << 20);
  uvec2 first = uvec2(a.x, a.y & kDigitsBelow);
  uvec2 second = uvec2(b.x, b.y & kDigitsBelow);
  precise double guess = packDouble2x32(first | one) / packDouble2x32(second | one);
  uvec2 guessed = unpackDouble2x32(guess);
  bool is_below_one = first.y < second.y || (first.y == second.y && first.x < second.x);
  uint wanted = kFieldOfOne - (is_below_one ? 1u : 0u);
  uint field = exponent_field(a) + wanted - exponent_field(b);
  if (exponent_field(guessed) != wanted || field - 1u >= kTopField - 1u) return false;

  uvec4 leading = uvec4(0u, kLeadingDigit, 0u, 0u);
  uvec4 dividend = shifted_up(uvec4(first, 0u, 0u) | leading, is_below_one ? 53 : 52);
  uvec4 divisor = uvec4(second, 0u, 0u) | leading;
  uvec4 quotient = uvec4(guessed.x, guessed.y & kDigitsBelow, 0u, 0u) | leading;
  uvec4 high;
  uvec4 rest = difference(dividend, product(quotient, divisor, high));
  // The nearest quotient leaves less than half the divisor: no quotient of such numbers lies halfway between two.
  for (int corrections = 0; !is_below(magnitude(sum(rest, rest)), divisor); ++corrections) {
    if (corrections == kMostCorrections) return false;
    bool is_above = is_negative(rest);
    rest = is_above ? sum(rest, divisor) : difference(rest, divisor);
    quotient = is_above ? difference(quotient, uvec4(1u, 0u, 0u, 0u)) : sum(quotient, uvec4(1u, 0u, 0u, 0u));
  }
  result = uvec2(quotient.x, result.y | field << 20 | (quotient.y & kDigitsBelow));
  return true;
}

// Integers below 2^64 are a sum of two parts, rounded once; where it is rounded again, to 32 bits, it has to be exact.
bool has_native_integer(uvec4 value, bool wide, out uvec2 result) {
  uvec4 size = magnitude(value);
  precise double total = double(size.y) * 4294967296.0lf + double(size.x);
  result = unpackDouble2x32(total);
  if (is_negative(value)) result.y |= kSign;
  return (size.z | size.w) == 0u && (wide || size.y < 2u * kLeadingDigit);
}

// The result of kFloatAdd to kFloatDivide, kFloatOfInteger or kFloatOfFloat. `wide` and `is_of_wide`: the result, and the
// first operand of a float's, is binary64.
bool has_native_result(uint function, bool wide, bool is_of_wide, uvec4 first, uvec4 second, out uvec2 result) {
  bool is_found = true;
  if (function == kFloatOfInteger) {
    is_found = has_native_integer(first, wide, result);
  } else {
    if (!is_ordinary(first.xy, is_of_wide)) return false;
    uvec2 a = is_of_wide ? first.xy : widened(first.x);
    result = a;
    if (function != kFloatOfFloat) {
      if (!is_ordinary(second.xy, wide)) return false;
      uvec2 b = wide ? second.xy : widened(second.x);
      if (function == kFloatSubtract) b.y ^= kSign;
      if (function == kFloatMultiply) {
        is_found = has_native_product(a, b, result);
      } else if (function == kFloatDivide) {
        is_found = has_native_quotient(a, b, result);
      } else {
        is_found = has_native_sum(a, b, result);
      }
    }
  }
  return is_found && (wide || is_narrowed(result));
}
