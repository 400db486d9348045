#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Folds the limbs of one draw's pixels into signed sums of 128 bits.
//
// Bindings: accumulators, spans (floats), first pixels; sums. Invocation: one per group. Writes: for each window of the
// group that has pixels in the draw the sum of its lanes there, at the first of these pixels. Overflow: none, limbs are
// below 2^24 and a window has at most 2^18 lanes.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"
#include "values_of_kind.glsl"
#include "wide_words.glsl"
#include "sum_pixels.glsl"

layout(push_constant) uniform Push { SumPush push; };
layout(set = 0, binding = kBindAccumulators) uniform texture2DArray accumulators;
layout(set = 0, binding = kBindSums, std430) writeonly buffer Sums { uvec4 sums[]; };

uvec4 shifted(int limb, uint bits) {
  uint sign = uint(limb >> 31);
  uint low = uint(limb) << bits;
  uint high = bits == 0u ? sign : uint(limb >> (32u - bits));
  return uvec4(low, high, sign, sign);
}

uvec4 sum_of(uint pixel) {
  ivec2 texel = texel_of(pixel, push.image.log2_width);
  uvec4 sum = uvec4(0u);
  for (int half_window = 1; half_window >= 0; --half_window) {
    sum = uvec4(0u, sum.xyz);
    ivec4 limbs = ivec4(texelFetch(accumulators, ivec3(texel, half_window), 0));
    for (uint i = 0u; i < 4u; ++i) sum = wide_sum(sum, shifted(limbs[i], 8u * i));
  }
  return sum;
}

void main() {
  uint group = linear_invocation();
  if (group >= push.num_groups) return;
  GroupWindows windows = windows_of(group);
  uint end_pixel = push.first_pixel + push.num_pixels;
  for (uint window = 0u; window < windows.windows; ++window) {
    uint begin = windows.first + window * windows.lanes;
    uint first = max(begin, push.first_pixel);
    uint end = min(begin + windows.lanes, end_pixel);
    if (first >= end) continue;
    uvec4 sum = uvec4(0u);
    for (uint pixel = first; pixel < end; ++pixel) sum = wide_sum(sum, sum_of(pixel - push.first_pixel));
    sums[first - push.first_pixel] = sum;
  }
}
