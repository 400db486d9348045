// Sums of up to 60 bits as (low 30 bits, high 30 bits).

uvec2 sum60_add(uvec2 a, uvec2 b) {
  uint low = a.x + b.x;
  return uvec2(low & kSumMask, a.y + b.y + (low >> kStateShift));
}

// The sum of u32 values from the sums of their low and of their high 16 bits, both below 2^31.
uvec2 sum60_of_halves(uint low_halves, uint high_halves) {
  // high_halves · 2^16 = (high_halves >> 14) · 2^30 + (high_halves & 0x3fff) · 2^16
  return sum60_add(uvec2(low_halves & kSumMask, low_halves >> kStateShift),
                   uvec2((high_halves & 0x3fffu) << 16, high_halves >> 14));
}

// The sum as u32 words (low, high).
uvec2 sum60_words(uvec2 sum) { return uvec2(sum.x | sum.y << kStateShift, sum.y >> 2u); }
