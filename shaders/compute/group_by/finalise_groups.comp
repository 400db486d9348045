#version 450
#extension GL_GOOGLE_include_directive : require
// The values of an aggregate from the states of its groups: sums in their result's type, means, and where they are null.
//
// Buffers: FinalisePush, by address. Invocation: a group each of the first kHeld, for which shared memory has room.
// Writes: target, nulls, and overflow when a sum leaves its type.

#include "finalise_layout.h"
#include "../keys/column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "round_double.glsl"

layout(constant_id = 20) const uint kFinal = 0u;
layout(constant_id = 21) const uint kSumWords = 2u;
layout(constant_id = 22) const uint kSigned = 1u;
layout(constant_id = 23) const uint kTotalWords = 2u;
layout(constant_id = 24) const uint kHeld = 64u;
layout(push_constant) uniform Push { FinalisePush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Parts { SumPart at[]; };

// Totals in two's complement, each word of all groups together: private arrays that are indexed become scratch memory.
shared uint totals[kTotalWords * kHeld];
#define TOTAL(word) totals[(word) * kHeld + thread_index()]

void add_part(SumPart part, uint group) {
  uint first = part.bit >> 5u;
  uint rest = part.bit & 31u;
  uint sign = 0u;
  uint below = 0u;
  uint carry = 0u;
  if (kSigned != 0u) {
    sign = (InputWords(part.words).at[group * kSumWords + kSumWords - 1u] >> 31u) != 0u ? 0xffffffffu : 0u;
  }
  for (uint w = 0u; first + w < kTotalWords; ++w) {
    uint word = w < kSumWords ? InputWords(part.words).at[group * kSumWords + w] : sign;
    uint moved = rest == 0u ? word : word << rest | below >> (32u - rest);
    below = word;
    uint more;
    uint sum = uaddCarry(moved, carry, more);
    uint again;
    TOTAL(first + w) = uaddCarry(TOTAL(first + w), sum, again);
    carry = more + again;
  }
}

// Makes the total its magnitude; true when it was negative.
bool make_magnitude() {
  bool is_negative = kSigned != 0u && (TOTAL(kTotalWords - 1u) >> 31u) != 0u;
  if (!is_negative) return false;
  uint carry = 1u;
  for (uint w = 0u; w < kTotalWords; ++w) {
    uint more;
    TOTAL(w) = uaddCarry(~TOTAL(w), carry, more);
    carry = more;
  }
  return true;
}

uint total_word(int w) { return w >= 0 && w < int(kTotalWords) ? TOTAL(w) : 0u; }

// The total's float64; its magnitude is left in its place.
uvec2 rounded_total() {
  bool is_negative = make_magnitude();
  int word = int(kTotalWords) - 1;
  while (word >= 0 && TOTAL(word) == 0u) --word;
  if (word < 0) return uvec2(0u);
  // Its highest three words, and whether there is anything below.
  int first = max(word - 2, 0);
  bool sticky = false;
  for (int w = 0; w < first; ++w) sticky = sticky || TOTAL(w) != 0u;
  uvec3 top = uvec3(total_word(first), total_word(first + 1), total_word(first + 2));
  int top_bit = 32 * (word - first) + findMSB(TOTAL(word));
  return pack_double(is_negative, top, top_bit, push.exponent + 32 * first, sticky);
}

void say_overflow(uint group) { atomicMax(Words(push.overflow).at[0], kNoGroup - group); }

void write_integer(uint group) {
  uint sign = kSigned != 0u && (total_word(1) >> 31u) != 0u ? 0xffffffffu : 0u;
  for (uint w = 2u; w < kTotalWords; ++w) {
    if (TOTAL(w) != sign) say_overflow(group);
  }
  Pairs(push.target).at[group] = uvec2(total_word(0), total_word(1));
}

// 10^38, low word first: magnitudes from there on have more than 38 digits.
const uvec4 kDecimalLimit = uvec4(0u, 0x098a2240u, 0x5a86c47au, 0x4b3b4ca8u);

void write_decimal(uint group) {
  uint sign = (total_word(int(kTotalWords) - 1) >> 31u) != 0u ? 0xffffffffu : 0u;
  uvec4 words = uvec4(sign);
  for (uint w = 0u; w < min(kTotalWords, 4u); ++w) words[w] = TOTAL(w);
  Pairs(push.target).at[2u * group] = words.xy;
  Pairs(push.target).at[2u * group + 1u] = words.zw;
  make_magnitude();
  bool is_over = total_word(4) != 0u;
  uvec4 size = uvec4(total_word(0), total_word(1), total_word(2), total_word(3));
  bool is_decided = false;
  for (int w = 3; w >= 0; --w) {
    if (!is_decided && size[w] != kDecimalLimit[w]) {
      is_decided = true;
      is_over = is_over || size[w] > kDecimalLimit[w];
    }
  }
  if (is_over || !is_decided) say_overflow(group);
}

// The sum of floats, or of integers rounded; `flags`: what there was besides numbers.
uvec2 float_sum(uint flags) {
  bool has_both = (flags & (kFloatInfinite | kFloatNegativeInfinite)) == (kFloatInfinite | kFloatNegativeInfinite);
  if ((flags & kFloatNan) != 0u || has_both) return uvec2(0u, 0x7ff80000u);
  if ((flags & kFloatInfinite) != 0u) return uvec2(0u, 0x7ff00000u);
  if ((flags & kFloatNegativeInfinite) != 0u) return uvec2(0u, 0xfff00000u);
  return rounded_total();
}

uvec2 double_of(uvec2 count) {
  int top = top_bit(count);
  return pack_double(false, uvec3(count, 0u), top, 0, false);
}

void main() {
  uint group = group_index() * kHeld + thread_index();
  if (thread_index() >= kHeld || group >= push.num_groups) return;
  uvec2 count = push.counts == uvec2(0u) ? uvec2(1u, 0u) : Pairs(push.counts).at[group];
  bool is_empty = count == uvec2(0u);
  if (push.nulls != uvec2(0u)) Words(push.nulls).at[group] = is_empty ? 1u : 0u;
  if (kFinal == kFinalNone) return;
  for (uint w = 0u; w < kTotalWords; ++w) TOTAL(w) = 0u;
  for (uint p = 0u; p < push.num_parts; ++p) add_part(Parts(push.parts).at[p], group);
  if (kFinal == kFinalInteger) {
    write_integer(group);
  } else if (kFinal == kFinalDecimal) {
    write_decimal(group);
  } else {
    uvec2 value = float_sum(push.flags == uvec2(0u) ? 0u : InputWords(push.flags).at[group]);
    if (kFinal == kFinalMean && !is_empty) {
      value = divide_doubles(value, double_of(count));
      uvec2 divisor = uvec2(push.divisor_low, push.divisor_high);
      if (divisor != uvec2(0u)) value = divide_doubles(value, divisor);
      // A mean may be too small for its sign.
      value = canonical64(value);
    }
    Pairs(push.target).at[group] = value;
  }
}
