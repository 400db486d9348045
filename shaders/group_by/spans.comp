#version 450
#extension GL_GOOGLE_include_directive : require
// Windows and special values of the floats of each group, without blending.
//
// Bindings: group ids, values, validity; spans, zeroed before. Invocation: rows, all invocations apart. Writes:
// spans[group], bit w % 32 of word w / 32 for window w, flags in word 1, by atomic or. Overflow: none, there are 33 windows at most.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "local_words.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"
#include "values.glsl"
#include "span_rows.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindSpans, std430) buffer Spans { uint spans[]; };

void add(uint word, uint bits) {
  if (kIsLocal) {
    if ((local_words[word] & bits) != bits) atomicOr(local_words[word], bits);
  } else {
    atomicOr(spans[word], bits);
  }
}

void main() {
  if (kIsLocal) clear_local_words();
  if (kIsLocal) barrier();
  for (uint row = linear_invocation(); row < push.num_rows; row += all_invocations()) {
    if (!is_valid(row)) continue;
    Touched touched = touched_windows(row);
    uint span = 2u * ids[row];
    if (touched.any) {
      add(span + touched.low / 32u, 1u << (touched.low % 32u));
      add(span + touched.high / 32u, 1u << (touched.high % 32u));
    }
    if (touched.special != 0u) add(span + 1u, touched.special << kSpanFlags);
  }
  if (!kIsLocal) return;
  barrier();
  for (uint word = gl_LocalInvocationID.x; word < 2u * push.num_groups; word += kGroupSize) {
    if (local_words[word] != 0u) atomicOr(spans[word], local_words[word]);
  }
}
