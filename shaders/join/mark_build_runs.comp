#version 450
#extension GL_GOOGLE_include_directive : require
// Marks the build rows whose group of equal keys has a marked head.
//
// Bindings: keys of the build side, offsets and bases of the runs, with hash addresses the runs' keys; heads, marks.
// Invocation: one per build row, a workgroup per kGroupSize rows. Writes: the bitmap, whole words. Overflow: none.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "runs.glsl"
#ifdef HASH_ADDRESS
#include "run_keys.glsl"
#endif

layout(push_constant) uniform Push { MarkPush push; };
layout(set = 0, binding = kBindHeads, std430) readonly buffer Heads { uint heads[]; };
layout(set = 0, binding = kBindMarks, std430) writeonly buffer Marks { uint marks[]; };

shared uint group_marks[kGroupSize / 32u];

bool has_match(uint row) {
  Key key = load_key(row);
  uint pixel;
  if (!pixel_of(key, push.address, pixel)) return false;
  uint head = run_begin(pixel);
#ifdef HASH_ADDRESS
  head = lower_bound(head, run_end(pixel, push.address.num_pixels, push.num_build_rows), key);
#endif
  return heads[head] != 0u;
}

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint row = linear_invocation();
  if (thread < kGroupSize / 32u) group_marks[thread] = 0u;
  barrier();
  if (row < push.num_build_rows && has_match(row)) atomicOr(group_marks[thread / 32u], 1u << (thread % 32u));
  barrier();
  uint word = linear_group() * (kGroupSize / 32u) + thread;
  if (thread < kGroupSize / 32u && word * 32u < push.num_build_rows) marks[word] = group_marks[thread];
}
