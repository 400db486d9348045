#version 450
#extension GL_GOOGLE_include_directive : require
// Count over runs, as count_runs.vert, into buffers.
//
// Bindings: keys of the probe side, offsets and bases of the runs, matches, counts; with hash addresses the runs' keys.
// Invocation: one per probe row. Writes: matches[row], the first entry, and counts[row], the number of entries. Overflow:
// none, a slice has at most 2^24 entries.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "runs.glsl"
#include "run_of_key.glsl"

layout(push_constant) uniform Push { CountPush push; };
layout(set = 0, binding = kBindMatches, std430) writeonly buffer Matches { uint matches[]; };
layout(set = 0, binding = kBindCounts, std430) writeonly buffer Counts { uint counts[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  uvec2 run = run_of_key(load_key(row), push.address, push.num_build_rows);
  matches[row] = run.x;
  counts[row] = run.y - run.x;
}
