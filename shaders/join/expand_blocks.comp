#version 450
#extension GL_GOOGLE_include_directive : require
// Cuts long runs into blocks of kBlockRows entries, the work list of the steps that sort them.
//
// Bindings: list of long runs, list of blocks (zeroed before), sizes of the lists. Invocation: a workgroup per long run.
// Writes: (begin, length, block) of each block. Overflow: none, the host bounds the number of blocks by the histogram of
// clashes; entries that stay 0 are runs without rows.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"

layout(push_constant) uniform Push { SortPush push; };
layout(set = 0, binding = kBindLongRuns, std430) readonly buffer LongRuns { uvec2 long_runs[]; };
layout(set = 0, binding = kBindRunLists, std430) writeonly buffer Blocks { uvec4 blocks[]; };
layout(set = 0, binding = kBindListSizes, std430) buffer ListSizes { uint list_sizes[]; };  // medium, long, blocks

shared uint first_block;

void main() {
  if (linear_group() >= push.num_entries) return;
  uvec2 run = long_runs[linear_group()];
  uint num_blocks = (run.y + kBlockRows - 1u) / kBlockRows;
  if (gl_LocalInvocationID.x == 0u) first_block = atomicAdd(list_sizes[2], num_blocks);
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < num_blocks; i += kGroupSize) {
    blocks[first_block + i] = uvec4(run, i, 0u);
  }
}
