#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Reduces the clash counts of all pixels to their maximum and a histogram by powers of two.
//
// Bindings: the statistics image (variant COUNTS_IN_IMAGE) or the counts (COUNTS_IN_BUFFER); statistics, zeroed before.
// Invocation: a workgroup per kReducePixels pixels. Writes: ClashStatistics by atomics. Overflow: none, all sums are bounded by rows and pixels.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { ReducePush push; };
#ifdef COUNTS_IN_IMAGE
layout(set = 0, binding = kBindCountImage) uniform texture2D count_image;
uint load_count(uint pixel) { return uint(texelFetch(count_image, texel_of(pixel, push.log2_width), 0).r); }
#else
layout(set = 0, binding = kBindCounts, std430) readonly buffer Counts { uint counts[]; };
uint load_count(uint pixel) { return counts[pixel]; }
#endif
layout(set = 0, binding = kBindStatistics, std430) buffer Statistics { ClashStatistics statistics; };

shared uint group_max;
shared uint group_pixels[kClashBuckets];
shared uint group_rows[kClashBuckets];

void main() {
  uint thread = gl_LocalInvocationID.x;
  if (thread < kClashBuckets) {
    group_pixels[thread] = 0u;
    group_rows[thread] = 0u;
  }
  if (thread == 0u) group_max = 0u;
  barrier();

  uint first = linear_group() * kReducePixels;
  for (uint i = thread; i < kReducePixels; i += kGroupSize) {
    uint pixel = first + i;
    if (pixel >= push.num_pixels) break;
    uint count = load_count(pixel);
    if (count == 0u) continue;
    uint bucket = uint(findMSB(count));
    atomicAdd(group_pixels[bucket], 1u);
    atomicAdd(group_rows[bucket], count);
    atomicMax(group_max, count);
  }
  barrier();

  if (thread < kClashBuckets && group_pixels[thread] != 0u) {
    atomicAdd(statistics.pixels[thread], group_pixels[thread]);
    atomicAdd(statistics.rows[thread], group_rows[thread]);
  }
  if (thread == 0u && group_max != 0u) atomicMax(statistics.max_clashes, group_max);
}
