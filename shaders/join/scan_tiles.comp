#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// First half of the exclusive prefix sum over counts: offsets within tiles, and the totals of the tiles.
//
// Variants by where the counts are: CLASH_IMAGE (statistics image), CLASH_BUFFER (counts), and for probe rows
// LAYER_SET_IMAGE (CountFBO), LAYER_SET_BUFFER (matches), RUN_IMAGE ((first, count) of runs), RUN_COUNTS (counts). Those
// for probe rows or the rows that have a match into the marks; from images they also write matches (set of layers, or
// first entry).
//
// Bindings: see below. Invocation: one per element, a workgroup per tile. Writes: offsets, totals of tiles as (low,
// high) into the tile bases. Overflow: with counts up to 2^24 the offsets of 256 elements stay below 2^32; the total may
// reach 2^32 and carries into its high half.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { ScanPush push; };

#if defined(CLASH_IMAGE) || defined(LAYER_SET_IMAGE)
layout(set = 0, binding = kBindCountImage) uniform texture2D count_image;
#elif defined(RUN_IMAGE)
layout(set = 0, binding = kBindCountImage) uniform utexture2D count_image;
#elif defined(CLASH_BUFFER) || defined(RUN_COUNTS)
layout(set = 0, binding = kBindCounts, std430) readonly buffer Counts { uint counts[]; };
#endif
layout(set = 0, binding = kBindOffsets, std430) writeonly buffer Offsets { uint offsets[]; };
layout(set = 0, binding = kBindTileBases, std430) writeonly buffer TileBases { uvec2 tile_bases[]; };
#if defined(LAYER_SET_IMAGE) || defined(LAYER_SET_BUFFER) || defined(RUN_IMAGE)
layout(set = 0, binding = kBindMatches, std430) buffer Matches { uint matches[]; };
#endif
#if defined(LAYER_SET_IMAGE) || defined(LAYER_SET_BUFFER) || defined(RUN_IMAGE) || defined(RUN_COUNTS)
#define PROBE_ROWS
layout(set = 0, binding = kBindMarks, std430) buffer Marks { uint marks[]; };
shared uint tile_marks[kTileRows / 32u];
#endif

shared uint sums[kTileRows];

uint load_count(uint element) {
#if defined(CLASH_IMAGE)
  return uint(texelFetch(count_image, texel_of(element, push.log2_width), 0).r);
#elif defined(LAYER_SET_IMAGE)
  uint matching = uint(texelFetch(count_image, texel_of(element, push.log2_width), 0).r);
  matches[element] = matching;
  return uint(bitCount(matching));
#elif defined(LAYER_SET_BUFFER)
  return uint(bitCount(matches[element]));
#elif defined(RUN_IMAGE)
  uvec2 run = texelFetch(count_image, texel_of(element, push.log2_width), 0).rg;
  matches[element] = run.x;
  return run.y;
#else
  return counts[element];
#endif
}

void main() {
  uint tile = linear_group();
  if (tile >= push.num_tiles) return;
  uint thread = gl_LocalInvocationID.x;
  uint element = tile * kTileRows + thread;
  uint count = element < push.num_elements ? load_count(element) : 0u;

#ifdef PROBE_ROWS
  if (thread < kTileRows / 32u) tile_marks[thread] = 0u;
  barrier();
  if (count != 0u) atomicOr(tile_marks[thread / 32u], 1u << (thread % 32u));
#endif

  sums[thread] = count;
  barrier();
  for (uint distance = 1u; distance < kTileRows; distance *= 2u) {
    uint before = thread >= distance ? sums[thread - distance] : 0u;
    barrier();
    sums[thread] += before;
    barrier();
  }

  // The inclusive sum of the last element wraps when the tile holds 2^32; subtracting its own count undoes that.
  uint exclusive = sums[thread] - count;
  if (element < push.num_elements) offsets[element] = exclusive;
  if (thread == kTileRows - 1u) tile_bases[tile] = uvec2(exclusive + count, exclusive + count < count ? 1u : 0u);
#ifdef PROBE_ROWS
  uint word = tile * (kTileRows / 32u) + thread;
  if (thread < kTileRows / 32u && word * 32u < push.num_elements) marks[word] |= tile_marks[thread];
#endif
}
