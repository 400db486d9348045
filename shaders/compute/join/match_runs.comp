#version 450
#extension GL_GOOGLE_include_directive : require
// The matches of each probe row among the rows of a sorted side: a run, found between two entries of the index.
//
// Buffers: MatchRunsPush, by address. Invocation: a probe row each. Writes: firsts, counts.

#include "sorted_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "sorted_keys.glsl"

layout(push_constant) uniform Push { MatchRunsPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_probe) return;
  uvec2 key = load_key(push.probe_keys, row);
  uint top_shift = push.build.shift + push.build.index_bits;
  bool is_inside = top_shift >= 32u * kWords || shifted(key, top_shift) == uvec2(push.build.top_low, push.build.top_high);
  uint first = 0u;
  uint count = 0u;
  if (is_inside) {
    uint prefix = shifted(key, push.build.shift).x & ((1u << push.build.index_bits) - 1u);
    uint end = InputWords(push.build.index).at[prefix + 1u];
    first = lower_bound(push.build.keys, InputWords(push.build.index).at[prefix], end, key);
    // The end of the run: in steps that double, then between the last two.
    uint step = 1u;
    uint last = first;
    while (last < end && load_key(push.build.keys, last) == key) {
      count = last - first + 1u;
      last += step;
      step *= 2u;
    }
    if (count > 1u) {
      uint low = first + count;
      uint high = min(last, end);
      while (low < high) {
        uint middle = low + (high - low) / 2u;
        if (load_key(push.build.keys, middle) == key) {
          low = middle + 1u;
        } else {
          high = middle;
        }
      }
      count = low - first;
    }
  }
  Words(push.firsts).at[row] = first;
  Words(push.counts).at[row] = count;
}
