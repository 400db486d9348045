#version 450
#extension GL_GOOGLE_include_directive : require
// How many tasks each partition is: its build chunks times its probe chunks. A heavy partition becomes many, so that work
// is divided evenly.
//
// Buffers: TasksPush, by address. Invocation: a partition each. Writes: task_counts. Overflow: more than 2^32 - 1 saturate.

#include "partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { TasksPush push; };

uint chunks_of(uvec2 starts, uint part) {
  uint rows = InputWords(starts).at[part + 1u] - InputWords(starts).at[part];
  return rows / push.chunk_rows + (rows % push.chunk_rows != 0u ? 1u : 0u);
}

void main() {
  uint part = group_index() * kGroup + thread_index();
  if (part >= push.num_partitions) return;
  uint high;
  uint low;
  umulExtended(chunks_of(push.build_starts, part), chunks_of(push.probe_starts, part), high, low);
  Words(push.task_counts).at[part] = high != 0u ? 0xffffffffu : low;
}
