#version 450
#extension GL_GOOGLE_include_directive : require
// Lists the elements whose flag is set, in order: second half of a compaction, after the sum of the flags.
//
// Buffers: CompactPush, by address. Invocation: kItems elements each, kGroup apart. Writes: target.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { CompactPush push; };

void main() {
  uint first = group_index() * kGroup * kItems + thread_index();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint element = first + i * kGroup;
    if (element >= push.num_elements) return;
    if (InputWords(push.flags).at[element] != 0u) {
      Words(push.target).at[InputWords(push.offsets).at[element]] = element;
    }
  }
}
