#version 450
#extension GL_GOOGLE_include_directive : require
// target[i] = source[rows[i]], elements of kWords words.
//
// Buffers: GatherPush, by address. Invocation: kItems elements each, kGroup apart. Writes: target.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(push_constant) uniform Push { GatherPush push; };

void main() {
  uint first = group_index() * kGroup * kItems + thread_index();
  uint rows[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint element = first + i * kGroup;
    rows[i] = element < push.num_elements ? InputWords(push.rows).at[element] : 0u;
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint element = first + i * kGroup;
    if (element >= push.num_elements) break;
    if (kWords == 1u) {
      Words(push.target).at[element] = InputWords(push.source).at[rows[i]];
    } else if (kWords == 2u) {
      Pairs(push.target).at[element] = Pairs(push.source).at[rows[i]];
    } else {
      for (uint w = 0u; w < kWords; ++w) {
        Words(push.target).at[element * kWords + w] = InputWords(push.source).at[rows[i] * kWords + w];
      }
    }
  }
}
