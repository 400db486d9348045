#version 450
#extension GL_GOOGLE_include_directive : require
// The pairs of row numbers in a window of the whole sequence, dealt out evenly whatever the skew: each output finds its
// probe row in the sums of matches.
//
// Buffers: SortedPairsPush, by address. Invocation: a pair each. Writes: pairs.

#include "sorted_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "sorted_keys.glsl"

layout(push_constant) uniform Push { SortedPairsPush push; };

void main() {
  uint pair = group_index() * kGroup + thread_index();
  if (pair >= push.num_pairs) return;
  uint carry;
  uint position_low = uaddCarry(push.first_low, pair, carry);
  uvec2 position = uvec2(position_low, push.first_high + carry);
  // The last probe row whose pairs start at or before this one.
  uint low = 0u;
  uint high = push.num_probe - 1u;
  while (low < high) {
    uint middle = low + (high - low + 1u) / 2u;
    if (is_below(position, Pairs(push.offsets).at[middle])) {
      high = middle - 1u;
    } else {
      low = middle;
    }
  }
  uint rank = position.x - Pairs(push.offsets).at[low].x;
  uint build_row = InputWords(push.build_rows).at[InputWords(push.firsts).at[low] + rank];
  uint probe_row = low;
  if (push.probe_rows != uvec2(0u)) probe_row = InputWords(push.probe_rows).at[low];
  Pairs(push.pairs).at[pair] = push.build_is_left != 0u ? uvec2(build_row, probe_row) : uvec2(probe_row, build_row);
}
