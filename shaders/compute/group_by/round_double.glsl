// Exact integers to float64, rounded once to nearest even, and quotients of float64, in words of 32 bits.

// The float64 of magnitude × 2^exponent, the bits below it (`sticky`: some of them are set) taken into account.
// `magnitude`: up to 96 bits, not 0, the highest of them bit `top`.
uvec2 pack_double(bool negative, uvec3 magnitude, int top, int exponent, bool sticky) {
  // The lowest bit that is kept: 53 of them, or down to the least subnormal.
  int lowest = max(top - 52, -1074 - exponent);
  uvec2 mantissa = uvec2(0u);
  bool is_half = false;
  if (lowest <= 0) {
    // All bits are kept, moved up: only integers of at most 53 bits come here.
    uint up = uint(-lowest);
    uvec2 low = magnitude.xy;
    mantissa = up >= 32u ? uvec2(0u, low.x << (up - 32u))
               : up == 0u ? low : uvec2(low.x << up, low.y << up | low.x >> (32u - up));
  } else {
    int cut = lowest - 1;
    uint word = uint(cut) >> 5u;
    uint bit = uint(cut) & 31u;
    if (cut < 96) {
      is_half = (magnitude[word] >> bit & 1u) != 0u;
      for (uint w = 0u; w < word; ++w) sticky = sticky || magnitude[w] != 0u;
      if (bit != 0u) sticky = sticky || magnitude[word] << (32u - bit) != 0u;
    }
    uint first = uint(lowest) >> 5u;
    uint rest = uint(lowest) & 31u;
    uint a = first < 3u ? magnitude[first] : 0u;
    uint b = first + 1u < 3u ? magnitude[first + 1u] : 0u;
    uint c = first + 2u < 3u ? magnitude[first + 2u] : 0u;
    mantissa = rest == 0u ? uvec2(a, b) : uvec2(a >> rest | b << (32u - rest), b >> rest | c << (32u - rest));
    if (is_half && (sticky || (mantissa.x & 1u) != 0u)) {
      uint carry;
      mantissa.x = uaddCarry(mantissa.x, 1u, carry);
      mantissa.y += carry;
    }
  }
  // A mantissa that grew by a bit is a power of two.
  int unit = lowest + exponent;
  if (mantissa.y >= 0x200000u) {
    mantissa = uvec2(mantissa.x >> 1u | mantissa.y << 31u, mantissa.y >> 1u);
    ++unit;
  }
  uint sign = negative ? 0x80000000u : 0u;
  if (mantissa.y < 0x100000u) return uvec2(mantissa.x, mantissa.y | sign);
  int field = unit + 1075;
  if (field >= 0x7ff) return uvec2(0u, 0x7ff00000u | sign);
  return uvec2(mantissa.x, (mantissa.y & 0xfffffu) | uint(field) << 20u | sign);
}

int top_bit(uvec2 word) { return word.y != 0u ? 32 + findMSB(word.y) : findMSB(word.x); }

// A finite float64 that is not 0, as mantissa × 2^exponent with bit 52 set.
uvec2 split_double(uvec2 bits, out int exponent) {
  uint field = bits.y >> 20u & 0x7ffu;
  uvec2 mantissa = uvec2(bits.x, bits.y & 0xfffffu);
  exponent = int(max(field, 1u)) - 1075;
  if (field != 0u) {
    mantissa.y |= 0x100000u;
  } else {
    int up = 52 - top_bit(mantissa);
    mantissa = up >= 32 ? uvec2(0u, mantissa.x << (up - 32))
               : up == 0 ? mantissa : uvec2(mantissa.x << up, mantissa.y << up | mantissa.x >> (32 - up));
    exponent -= up;
  }
  return mantissa;
}

bool is_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

// a / b, rounded to nearest even; b is finite, positive and not 0.
uvec2 divide_doubles(uvec2 a, uvec2 b) {
  uint high = a.y & 0x7fffffffu;
  if (high >= 0x7ff00000u || (high == 0u && a.x == 0u)) return a;
  int exponent_a;
  int exponent_b;
  uvec2 rest = split_double(a, exponent_a);
  uvec2 divisor = split_double(b, exponent_b);
  // 56 bits of the quotient, from 2^0 down: the first or second is set.
  uvec2 quotient = uvec2(0u);
  for (uint i = 0u; i < 56u; ++i) {
    quotient = uvec2(quotient.x << 1u, quotient.y << 1u | quotient.x >> 31u);
    if (!is_less(rest, divisor)) {
      uint borrow;
      rest.x = usubBorrow(rest.x, divisor.x, borrow);
      rest.y = rest.y - divisor.y - borrow;
      quotient.x |= 1u;
    }
    rest = uvec2(rest.x << 1u, rest.y << 1u | rest.x >> 31u);
  }
  return pack_double((a.y >> 31u) != 0u, uvec3(quotient, 0u), top_bit(quotient), exponent_a - exponent_b - 55,
                     rest != uvec2(0u));
}
