// Integers of up to 256 bits, in two's complement, low word first. Included behind column_values_layout.h and
// words.glsl.

struct Number {
  uint words[kNumberWords];
};

Number stored_number(uvec2 values, uint num_words, bool is_signed, uint row) {
  uvec2 address = element_at(values, num_words, row);
  Number number;
  uint last = 0u;
  for (uint w = 0u; w < kNumberWords; ++w) {
    if (w < num_words) {
      last = InputWords(address).at[w];
      number.words[w] = last;
    } else {
      number.words[w] = is_signed && last >> 31 != 0u ? 0xffffffffu : 0u;
    }
  }
  return number;
}

// Modulo 2^256, so of signed numbers, too.
Number product(Number a, Number b) {
  Number sum;
  for (uint w = 0u; w < kNumberWords; ++w) sum.words[w] = 0u;
  for (uint i = 0u; i < kNumberWords; ++i) {
    if (b.words[i] == 0u) continue;
    uint carry = 0u;
    for (uint j = 0u; i + j < kNumberWords; ++j) {
      uint high;
      uint low;
      umulExtended(b.words[i], a.words[j], high, low);
      uint carried;
      low = uaddCarry(low, carry, carried);
      uint added;
      sum.words[i + j] = uaddCarry(low, sum.words[i + j], added);
      carry = high + carried + added;
    }
  }
  return sum;
}

// A word as it is compared without a sign.
uint ordered_word(Number number, uint w) {
  return w == kNumberWords - 1u ? number.words[w] ^ 0x80000000u : number.words[w];
}

// Below 0, 0 or above: a comes before b, is equal, comes behind.
int order_of(Number a, Number b) {
  for (uint w = kNumberWords; w > 0u; --w) {
    uint of_a = ordered_word(a, w - 1u);
    uint of_b = ordered_word(b, w - 1u);
    if (of_a != of_b) return of_a < of_b ? -1 : 1;
  }
  return 0;
}
