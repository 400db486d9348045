// Integers of 128 bits in two's complement, low word first.

bool is_negative(uvec4 a) { return a.w >> 31 != 0u; }

uvec4 sum(uvec4 a, uvec4 b) {
  uvec4 result;
  uint carry = 0u;
  for (uint i = 0u; i < 4u; ++i) {
    uint first;
    uint second;
    uint added = uaddCarry(a[i], b[i], first);
    result[i] = uaddCarry(added, carry, second);
    carry = first + second;
  }
  return result;
}

uvec4 opposite(uvec4 a) { return sum(~a, uvec4(1u, 0u, 0u, 0u)); }

uvec4 difference(uvec4 a, uvec4 b) { return sum(a, opposite(b)); }

uvec4 magnitude(uvec4 a) { return is_negative(a) ? opposite(a) : a; }

uvec4 with_sign(uvec4 magnitude, bool negative) { return negative ? opposite(magnitude) : magnitude; }

// Without signs.
bool is_below(uvec4 a, uvec4 b) {
  if (a.w != b.w) return a.w < b.w;
  if (a.z != b.z) return a.z < b.z;
  if (a.y != b.y) return a.y < b.y;
  return a.x < b.x;
}

bool is_less(uvec4 a, uvec4 b) {
  a.w ^= 0x80000000u;
  b.w ^= 0x80000000u;
  return is_below(a, b);
}

// The position of the highest bit that is set; -1: none is.
int highest_bit(uvec4 a) {
  if (a.w != 0u) return 96 + findMSB(a.w);
  if (a.z != 0u) return 64 + findMSB(a.z);
  if (a.y != 0u) return 32 + findMSB(a.y);
  return findMSB(a.x);
}

// Shifts of less than 0 bits shift by none, of 128 and more leave nothing.
uvec4 shifted_up(uvec4 a, int bits) {
  if (bits <= 0) return a;
  if (bits >= 128) return uvec4(0u);
  if (bits >= 64) a = uvec4(0u, 0u, a.xy);
  if ((bits & 32) != 0) a = uvec4(0u, a.xyz);
  int rest = bits & 31;
  if (rest == 0) return a;
  return a << rest | uvec4(0u, a.xyz >> (32 - rest));
}

uvec4 shifted_down(uvec4 a, int bits) {
  if (bits <= 0) return a;
  if (bits >= 128) return uvec4(0u);
  if (bits >= 64) a = uvec4(a.zw, 0u, 0u);
  if ((bits & 32) != 0) a = uvec4(a.yzw, 0u);
  int rest = bits & 31;
  if (rest == 0) return a;
  return a >> rest | uvec4(a.yzw << (32 - rest), 0u);
}

// The product without signs: its low half; the high one in `high`.
uvec4 product(uvec4 a, uvec4 b, out uvec4 high) {
  uint words[8];
  for (uint i = 0u; i < 8u; ++i) words[i] = 0u;
  for (uint i = 0u; i < 4u; ++i) {
    if (a[i] == 0u) continue;
    uint carry = 0u;
    for (uint j = 0u; j < 4u; ++j) {
      uint upper;
      uint lower;
      umulExtended(a[i], b[j], upper, lower);
      uint carried;
      uint added;
      lower = uaddCarry(lower, carry, carried);
      words[i + j] = uaddCarry(words[i + j], lower, added);
      carry = upper + carried + added;
    }
    words[i + 4u] = carry;
  }
  high = uvec4(words[4], words[5], words[6], words[7]);
  return uvec4(words[0], words[1], words[2], words[3]);
}

// Divides 256 bits without signs, a bit at a time. The quotient is in `low` and `high`. Returns the remainder. Requires:
// the divisor is not 0.
uvec4 divide(inout uvec4 low, inout uvec4 high, uvec4 divisor) {
  uvec4 rest = uvec4(0u);
  int bits = high != uvec4(0u) ? 128 + highest_bit(high) + 1 : highest_bit(low) + 1;
  // Bits that are to come stand at the top, quotient bits come in at the bottom.
  int unused = 256 - bits;
  if (unused >= 128) {
    high = shifted_up(low, unused - 128);
    low = uvec4(0u);
  } else {
    high = shifted_up(high, unused) | shifted_down(low, 128 - unused);
    low = shifted_up(low, unused);
  }
  for (int i = 0; i < bits; ++i) {
    bool carries = is_negative(rest);
    rest = shifted_up(rest, 1);
    rest.x |= high.w >> 31;
    high = shifted_up(high, 1);
    high.x |= low.w >> 31;
    low = shifted_up(low, 1);
    if (!carries && is_below(rest, divisor)) continue;
    rest = difference(rest, divisor);
    low.x |= 1u;
  }
  return rest;
}
