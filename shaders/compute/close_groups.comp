#version 450
#extension GL_GOOGLE_include_directive : require
// The states of groups that lie in several windows of sorted rows.
//
// Buffers: SortedRowsPush, by address. Invocation: a window each. Writes: states of the group that begins last in it,
// where that goes on.

#include "group_states_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(push_constant) uniform Push { SortedRowsPush push; };

#include "sorted_rows.glsl"

void main() {
  uint window = group_index() * kGroup + thread_index();
  if (window >= push.num_windows || !has_room()) return;
  uint begin = window * push.window_rows;
  uint end = begin + min(push.window_rows, push.num_rows - begin);
  uint after = base_of(window + 1u);
  if (after == base_of(window) || !goes_on(end)) return;
  [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
    if (kind_of(a) != kAggregateNone) write_state(a, after - 1u, table_state(window, a));
  }
}
