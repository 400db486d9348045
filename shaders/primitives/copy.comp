#version 450
#extension GL_GOOGLE_include_directive : require
// Copies quads: what the primitives' rates are held against.
//
// Buffers: CopyPush, by address. Invocation: kItems quads each, a workgroup's in order. Writes: target.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { CopyPush push; };

void main() {
  uint first = group_index() * kGroup * kItems + thread_index();
  if (first + (kItems - 1u) * kGroup < push.num_quads) {
    uvec4 quads[kItems];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) quads[i] = InputQuads(push.source).at[first + i * kGroup];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) Quads(push.target).at[first + i * kGroup] = quads[i];
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint quad = first + i * kGroup;
      if (quad < push.num_quads) Quads(push.target).at[quad] = InputQuads(push.source).at[quad];
    }
  }
}
