#version 450
#extension GL_GOOGLE_include_directive : require
// The columns of all pairs, divided evenly whatever the skew: a workgroup finds the probe rows that its
// pairs belong to, each pair its own among them.
//
// Buffers: ExpandRowsPush, by address. Invocation: kItems pairs each, kGroup apart. Writes: keys_out, the columns' targets.
// Overflow: nothing is written of more pairs than the columns hold.

#include "partitioned_join_layout.h"
#include "sorted_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "gather_columns.glsl"

layout(constant_id = 20) const uint kKeysOut = 1u;
layout(push_constant) uniform Push { ExpandRowsPush push; };

// The last probe row whose pairs start at `pair` or before. Called by all with the same `pair`: as many rows as there are
// invocations are looked at a time.
uint find_row(uint pair) {
  uint low = 0u;
  uint high = push.num_probe;
  while (high - low > 1u) {
    uint stride = (high - low + kGroup - 1u) / kGroup;
    // Not row + stride × thread < high, which may pass 2^32.
    uint steps = (high - low - 1u) / stride;
    bool starts_before = thread_index() <= steps &&
                         InputWords(push.offsets).at[low + thread_index() * stride] <= pair;
    // Offsets do not decrease, and the first one looked at is `pair` or less.
    low += (block_add(starts_before ? 1u : 0u) - 1u) * stride;
    high = min(low + stride, high);
  }
  return low;
}

void main() {
  uvec2 total = Pairs(push.total).at[0];
  if (total.y != 0u || total.x > push.capacity) return;
  uint begin = group_index() * kGroup * kItems;
  if (begin >= total.x) return;
  uint last = min(total.x - begin, kGroup * kItems) - 1u;  // of the workgroup's pairs
  uint first_row = find_row(begin);
  uint last_row = find_row(begin + last);
  uint first = begin + thread_index();
  uint probe_rows[kItems];
  uint build_rows[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint pair = begin + min(i * kGroup + thread_index(), last);
    probe_rows[i] = last_at_or_before(push.offsets, first_row, last_row, pair);
    uint rank = pair - InputWords(push.offsets).at[probe_rows[i]];
    build_rows[i] = InputWords(push.build_rows).at[InputWords(push.firsts).at[probe_rows[i]] + rank];
  }
  if (kKeysOut > 0u)
    gather(JoinedColumn(push.probe_keys, push.keys_out, kKeysOut, kFromProbe), probe_rows, first, total.x);
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    if (column.side == kFromProbe) {
      gather(column, probe_rows, first, total.x);
    } else {
      gather(column, build_rows, first, total.x);
    }
  }
}
