#version 450
#extension GL_GOOGLE_include_directive : require
// Places the build rows into the runs of their pixels, in any order.
//
// Bindings: keys of the build side, offsets and bases of the runs, cursors (zeroed before), rows and, with hash
// addresses, keys of the runs. Invocation: one per build row. Writes: the row (and its key) at a free entry of its run.
// Overflow: none, runs are as long as the statistics counted.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "runs.glsl"

layout(push_constant) uniform Push { RunPush push; };
layout(set = 0, binding = kBindRunCursors, std430) buffer RunCursors { uint run_cursors[]; };
layout(set = 0, binding = kBindRunRows, std430) writeonly buffer RunRows { uint run_rows[]; };
#ifdef HASH_ADDRESS
layout(set = 0, binding = kBindRunKeys, std430) writeonly buffer RunKeys { uint run_key_words[]; };
#endif

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  Key key = load_key(row);
  uint pixel;
  if (!pixel_of(key, push.address, pixel)) return;
  uint entry = run_begin(pixel) + atomicAdd(run_cursors[pixel], 1u);
  run_rows[entry] = row;
#ifdef HASH_ADDRESS
  run_key_words[entry * kKeyWords] = key.low;
  if (kKeyWords == 2u) run_key_words[2u * entry + 1u] = key.high;
#endif
}
