#version 450
#extension GL_GOOGLE_include_directive : require
// Windows and special values of the floats of each group, without blending.
//
// Bindings: group ids, values, validity; spans, zeroed before. Invocation: one per row. Writes: spans[group], bit w % 32
// of word w / 32 for window w, flags in word 1, by atomic or. Overflow: none, there are 33 windows at most.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"
#include "values.glsl"
#include "span_rows.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindSpans, std430) buffer Spans { uint spans[]; };

void main() {
  uint row = linear_invocation();
  if (row >= push.num_rows || !is_valid(row)) return;
  Touched touched = touched_windows(row);
  uint span = 2u * ids[row];
  if (touched.any) {
    atomicOr(spans[span + touched.low / 32u], 1u << (touched.low % 32u));
    atomicOr(spans[span + touched.high / 32u], 1u << (touched.high % 32u));
  }
  if (touched.special != 0u) atomicOr(spans[span + 1u], touched.special);
}
