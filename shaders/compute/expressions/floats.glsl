// Floats of IEEE 754 by integers: no device's arithmetic takes part, so that all give the same bits. Included behind
// integers.glsl.

/// A number m × 2^e, and what is no number.
struct Float {
  bool negative;
  bool is_nan;
  bool is_infinite;
  int exponent;
  uvec4 digits;
};

uint digits_of(bool wide) { return wide ? 53u : 24u; }
/// The exponent of the last digit of the least numbers.
int least_exponent(bool wide) { return wide ? -1074 : -149; }
uint top_field(bool wide) { return wide ? 0x7ffu : 0xffu; }

Float float_of_bits(uvec2 bits, bool wide) {
  Float number;
  uint field = wide ? bits.y >> 20 & 0x7ffu : bits.x >> 23 & 0xffu;
  number.negative = (wide ? bits.y : bits.x) >> 31 != 0u;
  number.digits = wide ? uvec4(bits.x, bits.y & 0xfffffu, 0u, 0u) : uvec4(bits.x & 0x7fffffu, 0u, 0u, 0u);
  bool is_top = field == top_field(wide);
  bool has_digits = number.digits != uvec4(0u);
  number.is_nan = is_top && has_digits;
  number.is_infinite = is_top && !has_digits;
  number.exponent = least_exponent(wide) + int(max(field, 1u)) - 1;
  if (field != 0u && wide) number.digits.y |= 0x100000u;
  if (field != 0u && !wide) number.digits.x |= 0x800000u;
  return number;
}

uvec2 infinity(bool negative, bool wide) {
  uint sign = negative ? 0x80000000u : 0u;
  return wide ? uvec2(0u, 0x7ff00000u | sign) : uvec2(0x7f800000u | sign, 0u);
}

uvec2 not_a_number(bool wide) { return wide ? uvec2(0u, 0x7ff80000u) : uvec2(0x7fc00000u, 0u); }

// The float nearest to a number, to the even one of two. `rest`: the number is a little larger, by less than its last
// digit; it has more digits than a float, then.
uvec2 nearest_float(Float number, bool rest, bool wide) {
  if (number.is_nan) return not_a_number(wide);
  if (number.is_infinite) return infinity(number.negative, wide);
  int top = highest_bit(number.digits);
  uint sign = number.negative ? 0x80000000u : 0u;
  if (top < 0) return wide ? uvec2(0u, sign) : uvec2(sign, 0u);
  int last = int(digits_of(wide)) - 1;
  int dropped = max(top - last, least_exponent(wide) - number.exponent);
  uvec4 digits = dropped < 0 ? shifted_up(number.digits, -dropped) : shifted_down(number.digits, dropped);
  if (dropped > 0) {
    uvec4 half_digit = shifted_up(uvec4(1u, 0u, 0u, 0u), dropped - 1);
    bool is_half = dropped <= 128 && (number.digits & half_digit) != uvec4(0u);
    uvec4 below = dropped > 128 ? number.digits : number.digits & difference(half_digit, uvec4(1u, 0u, 0u, 0u));
    bool is_more = rest || below != uvec4(0u);
    if (is_half && (is_more || (digits.x & 1u) != 0u)) digits = sum(digits, uvec4(1u, 0u, 0u, 0u));
  }
  // The leading digit adds one to the field of the exponent.
  int field = number.exponent + dropped - least_exponent(wide);
  int field_with_digit = field + int(shifted_down(digits, last).x);
  if (field_with_digit >= int(top_field(wide))) return infinity(number.negative, wide);
  if (wide) return uvec2(digits.x, (digits.y + (uint(field) << 20)) | sign);
  return uvec2((digits.x + (uint(field) << 23)) | sign, 0u);
}

// The exact sum of two numbers, but for what is below its last digit, which is said in `rest`.
Float float_sum(Float a, Float b, out bool rest) {
  rest = false;
  Float result = a;
  result.is_nan = a.is_nan || b.is_nan || (a.is_infinite && b.is_infinite && a.negative != b.negative);
  result.is_infinite = a.is_infinite || b.is_infinite;
  if (result.is_infinite) {
    result.negative = a.is_infinite ? a.negative : b.negative;
    return result;
  }
  bool has_a = a.digits != uvec4(0u);
  bool has_b = b.digits != uvec4(0u);
  if (!has_a || !has_b) {
    if (!has_a) result = b;
    // Zeros of both signs make a positive one.
    if (!has_a && !has_b) result.negative = a.negative && b.negative;
    result.is_nan = a.is_nan || b.is_nan;
    return result;
  }
  if (a.exponent < b.exponent) {
    Float swapped = a;
    a = b;
    b = swapped;
  }
  int distance = a.exponent - b.exponent;
  int up = min(distance, 64);
  uvec4 first = shifted_up(a.digits, up);
  uvec4 second = shifted_down(b.digits, distance - up);
  rest = distance > up && shifted_up(second, distance - up) != b.digits;
  result.exponent = a.exponent - up;
  bool are_alike = a.negative == b.negative;
  if (!are_alike && rest) second = sum(second, uvec4(1u, 0u, 0u, 0u));  // a little is taken back as the rest
  uvec4 total = are_alike ? sum(first, second) : difference(first, second);
  bool turns = is_negative(total);
  result.digits = magnitude(total);
  result.negative = total == uvec4(0u) ? false : a.negative != turns;
  return result;
}

// A float's place among all floats as an integer: -0.0 is 0, NaNs are the greatest.
uvec4 float_order(uvec2 bits, bool wide) {
  Float number = float_of_bits(bits, wide);
  if (number.is_nan) return uvec4(0u, 0u, 1u, 0u);
  uvec4 size = wide ? uvec4(bits.x, bits.y & 0x7fffffffu, 0u, 0u) : uvec4(bits.x & 0x7fffffffu, 0u, 0u, 0u);
  return with_sign(size, number.negative);
}
