#version 450
#extension GL_GOOGLE_include_directive : require
// Marks the first entry of every group of equal keys that some probe row matches, so that no pair is enumerated.
//
// Bindings: matches (first entry), marks of the probe rows, heads (zeroed before). Invocation: one per probe row. Writes:
// heads[first] = 1. Overflow: none.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"

layout(push_constant) uniform Push { MarkPush push; };
layout(set = 0, binding = kBindMatches, std430) readonly buffer Matches { uint matches[]; };
layout(set = 0, binding = kBindMarks, std430) readonly buffer Marks { uint marks[]; };
layout(set = 0, binding = kBindHeads, std430) writeonly buffer Heads { uint heads[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows) return;
  if ((marks[row / 32u] & (1u << (row % 32u))) != 0u) heads[matches[row]] = 1u;
}
