#version 450
#extension GL_GOOGLE_include_directive : require
// One access a word, the least that a compute pass can do. STREAM: copies a word. RANDOM: reads a word at a random
// position and writes it in order. ATOMIC: adds one to a word at a random position.
//
// Bindings: source words (not with ATOMIC), target words. Invocation: one a word. Writes: target. Overflow: none,
// positions are masked.

#include "calibration_layout.h"
#include "../points/groups.glsl"

layout(push_constant) uniform Push { WordsPush push; };
#ifndef ATOMIC
layout(set = 0, binding = kBindSourceWords, std430) readonly buffer Source { uint source[]; };
#endif
layout(set = 0, binding = kBindTargetWords, std430) buffer Target { uint target[]; };

// MurmurHash3's finaliser: neighbours land far apart.
uint random_position(uint i) {
  i ^= i >> 16;
  i *= 0x85ebca6bu;
  i ^= i >> 13;
  i *= 0xc2b2ae35u;
  i ^= i >> 16;
  return i & push.mask;
}

void main() {
  uint i = linear_invocation();
  if (i >= push.num_words) return;
#if defined(STREAM)
  target[i] = source[i];
#elif defined(RANDOM)
  target[i] = source[random_position(i)];
#else
  atomicAdd(target[random_position(i)], 1u);
#endif
}
