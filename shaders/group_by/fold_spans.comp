#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Joins the lanes of the spans of one draw.
//
// Bindings: accumulators; spans. Invocation: one per group of the draw. Writes: spans[group], the bits of the lowest and
// the highest window and the flags. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(set = 0, binding = kBindAccumulators) uniform texture2DArray accumulators;
layout(set = 0, binding = kBindSpans, std430) writeonly buffer Spans { uvec2 spans[]; };

void main() {
  uint group = linear_invocation();
  if (group >= push.num_groups) return;
  vec4 low = vec4(0.0);
  float negative_infinity = 0.0;
  for (uint lane = 0u; lane < push.lanes; ++lane) {
    ivec2 texel = texel_of(group * push.lanes + lane, push.image.log2_width);
    low = max(low, texelFetch(accumulators, ivec3(texel, 0), 0));
    negative_infinity = max(negative_infinity, texelFetch(accumulators, ivec3(texel, 1), 0).r);
  }
  uvec2 span = uvec2(0u);
  if (low.r > 0.0) {
    uint highest = uint(low.r) - 1u;
    uint lowest = 64u - uint(low.g);
    span[highest / 32u] |= 1u << (highest % 32u);
    span[lowest / 32u] |= 1u << (lowest % 32u);
  }
  if (low.b > 0.0) span.y |= kFloatNan << kSpanFlags;
  if (low.a > 0.0) span.y |= kFloatInfinite << kSpanFlags;
  if (negative_infinity > 0.0) span.y |= kFloatNegativeInfinite << kSpanFlags;
  spans[push.first_group + group] = span;
}
