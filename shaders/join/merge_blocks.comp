#version 450
#extension GL_GOOGLE_include_directive : require
// One step, of distance kBlockRows or more, of a stage that merges the sorted blocks of long runs. See sort_blocks.comp.
//
// Bindings: work list of (begin, length, block), rows and keys of the runs. Invocation: a workgroup per block. Writes:
// pairs of entries of the run, exchanged where they are out of order; each entry has one partner, so pairs are disjoint.
// Overflow: none.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "run_entries.glsl"

layout(push_constant) uniform Push { SortPush push; };
layout(set = 0, binding = kBindRunLists, std430) readonly buffer Blocks { uvec4 blocks[]; };

void main() {
  if (linear_group() >= push.num_entries) return;
  uvec4 block = blocks[push.first_entry + linear_group()];
  uint mask = push.stride == 0u ? push.stage - 1u : push.stride;
  for (uint k = gl_LocalInvocationID.x; k < kBlockRows; k += kGroupSize) {
    uint i = block.z * kBlockRows + k;
    uint partner = i ^ mask;
    if (partner <= i || partner >= block.y) continue;
    Entry a = load_entry(block.x + i);
    Entry b = load_entry(block.x + partner);
    if (entry_less(b, a)) {
      store_entry(block.x + i, b);
      store_entry(block.x + partner, a);
    }
  }
}
