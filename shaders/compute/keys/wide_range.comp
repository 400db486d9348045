#version 450
#extension GL_GOOGLE_include_directive : require
// The range of a column's integers of more than 64 bits.
//
// Buffers: WideRangePush, by address. Invocation: a workgroup has rows_each consecutive rows, an invocation every
// kGroup-th of them. Writes: a WideRange a subgroup, which the host brings together.

#include "column_values_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "wide_numbers.glsl"

layout(push_constant) uniform Push { WideRangePush push; };

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly restrict buffer Ranges { WideRange at[]; };

// The least of the subgroup's numbers, or the greatest, of those that have one.
Number extreme_of(Number number, bool has_number, bool is_least) {
  Number extreme;
  bool may_be = has_number;
  for (uint w = kNumberWords; w > 0u; --w) {
    uint own = ordered_word(number, w - 1u);
    if (!is_least) own = ~own;
    uint least = subgroupMin(may_be ? own : 0xffffffffu);
    may_be = may_be && own == least;
    extreme.words[w - 1u] = is_least ? least : ~least;
  }
  extreme.words[kNumberWords - 1u] ^= 0x80000000u;
  return extreme;
}

void main() {
  Number least;
  Number greatest;
  bool has_values = false;
  uint begin = min(group_index() * push.rows_each, push.num_rows);
  uint end = begin + min(push.rows_each, push.num_rows - begin);
  for (uint row = begin + thread_index(); row < end; row += kGroup) {
    if (push.nulls != uvec2(0u) && is_null_row(push.nulls, push.null_mask, row)) continue;
    Number number = stored_number(push.values, push.num_words, true, row);
    if (!has_values || order_of(number, least) < 0) least = number;
    if (!has_values || order_of(number, greatest) > 0) greatest = number;
    has_values = true;
  }
  least = extreme_of(least, has_values, true);
  greatest = extreme_of(greatest, has_values, false);
  uint values = subgroupMax(has_values ? 1u : 0u);
  if (!subgroupElect()) return;
  uint subgroup = group_index() * kSubgroups + gl_SubgroupID;
  for (uint w = 0u; w < kNumberWords; ++w) {
    Ranges(push.ranges).at[subgroup].least[w] = least.words[w];
    Ranges(push.ranges).at[subgroup].greatest[w] = greatest.words[w];
  }
  Ranges(push.ranges).at[subgroup].values = values;
}
