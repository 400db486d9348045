#version 450
#extension GL_GOOGLE_include_directive : require
// Exact sums without blending: windows of 64 bits added to 128 bits by atomic additions that carry.
//
// Bindings: group ids, values, validity, spans (floats), first pixels; sums, zeroed before. Invocation: rows, all
// invocations apart. Writes: sums[4 · (pixel - first_pixel) …], two's complement modulo 2^128. The carries of several rows may arrive in
// any order: additions to one word commute, and each carries once for every wrap that it causes. Overflow: none, 2^24
// rows of 64 bits take 88 bits and a sign.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "local_words.glsl"
#include "validity.glsl"
#include "values.glsl"

layout(push_constant) uniform Push { SumPush push; };
layout(set = 0, binding = kBindIds, std430) readonly buffer Ids { uint ids[]; };
#include "sum_rows.glsl"
layout(set = 0, binding = kBindSums, std430) buffer Sums { uint sums[]; };

void add(uint sum, uvec4 addend, bool to_local) {
  uint carry = 0u;
  for (uint i = 0u; i < 4u; ++i) {
    uint word = addend[i] + carry;
    carry = word < carry ? 1u : 0u;
    if (word == 0u) continue;
    uint before = 0u;
    if (to_local) {
      before = atomicAdd(local_words[4u * sum + i], word);
    } else {
      before = atomicAdd(sums[4u * sum + i], word);
    }
    if (before + word < word) carry = 1u;
  }
}

void add_row(uint row) {
  for (uint instance = 0u; instance < (kFloats || kValueKind == kKindInt128 ? 2u : 1u); ++instance) {
    uint pixel;
    uvec2 magnitude;
    bool negative;
    if (!window_of(row, instance, pixel, magnitude, negative)) continue;
    pixel -= push.first_pixel;
    uvec4 addend = uvec4(magnitude, 0u, 0u);
    if (pixel < push.num_pixels) add(pixel, negative ? wide_negative(addend) : addend, kIsLocal);
  }
}

void main() {
  if (kIsLocal) clear_local_words();
  if (kIsLocal) barrier();
  for (uint row = linear_invocation(); row < push.num_rows; row += all_invocations()) add_row(row);
  if (!kIsLocal) return;
  barrier();
  for (uint pixel = gl_LocalInvocationID.x; pixel < push.num_pixels; pixel += kGroupSize) {
    uint word = 4u * pixel;
    uvec4 sum = uvec4(local_words[word], local_words[word + 1u], local_words[word + 2u], local_words[word + 3u]);
    add(pixel, sum, false);
  }
}
