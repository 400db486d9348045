#version 450
#extension GL_GOOGLE_include_directive : require
// Rows that have a match. PROBE: probe rows with matches. HEADS: the first sorted build row of every key that a probe row
// has. RUNS: all build rows of these keys.
//
// Buffers: SortedMarksPush, by address. Invocation: a row each. Writes: heads (HEADS), else marks; by atomics.

#include "sorted_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "sorted_keys.glsl"

layout(push_constant) uniform Push { SortedMarksPush push; };

void set_bit(uvec2 bitmap, uint bit) { atomicOr(Words(bitmap).at[bit / 32u], 1u << bit % 32u); }

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
#ifdef RUNS
  uint head = lower_bound(push.build_keys, 0u, row, load_key(push.build_keys, row));
  bool is_marked = (Words(push.heads).at[head / 32u] >> head % 32u & 1u) != 0u;
#else
  bool is_marked = InputWords(push.counts).at[row] != 0u;
#endif
  if (!is_marked) return;
#ifdef HEADS
  set_bit(push.heads, InputWords(push.firsts).at[row]);
#else
  uint number = row;
  if (push.rows != uvec2(0u)) number = InputWords(push.rows).at[row];
  set_bit(push.marks, number);
#endif
}
