#version 450
#extension GL_GOOGLE_include_directive : require
// Keys that begin in each window of sorted rows.
//
// Buffers: SortedRowsPush, by address. Invocation: a window a workgroup, and one more, whose count is 0. Writes: heads.

#include "group_states_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(push_constant) uniform Push { SortedRowsPush push; };

#include "sorted_rows.glsl"

void main() {
  uint window = group_index();
  if (window > push.num_windows) return;
  uint begin = window * push.window_rows;
  uint count = 0u;
  for (uint i = 0u; i < kItems; ++i) {
    uint row = begin + i * kGroup + thread_index();
    count += window < push.num_windows && row < push.num_rows && is_head(row) ? 1u : 0u;
  }
  uint total = block_add(count);
  if (thread_index() == 0u) Words(push.heads).at[window] = total;
}
