#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Probe by output position: work proportional to the output, nothing clipped. Variants: STACK and RUNS.
//
// Bindings: offsets, tile bases, matches; STACK: keys of the probe side, hash images; RUNS: rows of the runs.
// Invocation: vertex v = output position window + v. Writes: (probe row, build row) at texel v: the match of the row that
// owns the position whose rank is the position's distance from the row's prefix. Overflow: none, as many points are drawn
// as the window holds.

#include "../shared/join_layout.h"
#include "output_rows.glsl"
#include "matched_rows.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { ProbePush push; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint texel = uint(gl_VertexIndex);
  uvec2 position = wide_add(uvec2(push.window_low, push.window_high), uvec2(texel, 0u));
  uint rank;
  uint row = row_of_output(position, push.num_tiles, push.num_rows, rank);
  out_color = uvec4(row, build_row_of(row, rank, push.address, push.image.log2_width), 0u, 0u);
  draw_point(texel, push.target);
}
