#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Probe by output position, as probe_output.vert, into a buffer. Variants: STACK and RUNS.
//
// Bindings: offsets, tile bases, matches, pairs; STACK: keys of the probe side, hash images; RUNS: rows of the runs.
// Invocation i = output position window + i. Writes: pairs[i], (probe row, build row). Overflow: none, a window has as
// many positions as the buffer holds.

#include "../points/groups.glsl"
#include "output_rows.glsl"
#include "matched_rows.glsl"

layout(push_constant) uniform Push { ProbePush push; };
layout(set = 0, binding = kBindPairs, std430) writeonly buffer Pairs { uvec2 pairs[]; };

void main() {
  uint place = linear_invocation();
  if (place >= push.window_size) return;
  uvec2 position = wide_add(uvec2(push.window_low, push.window_high), uvec2(place, 0u));
  uint rank;
  uint row = row_of_output(position, push.num_tiles, push.num_rows, rank);
  pairs[place] = uvec2(row, build_row_of(row, rank, push.address, push.image.log2_width));
}
