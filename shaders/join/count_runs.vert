#version 450
#extension GL_GOOGLE_include_directive : require
// Count over runs (GARUDA §3.4.4): the matching entries of a probe row are consecutive.
//
// Bindings: keys of the probe side, offsets and bases of the runs; with hash addresses the runs' keys. Invocation:
// vertex = probe row. Writes: (first entry, number of entries) at the row's own pixel; clipped when there is none. Overflow: none, a slice has at most 2^24 entries.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "../points/points.glsl"
#include "runs.glsl"
#include "run_of_key.glsl"

layout(push_constant) uniform Push { CountPush push; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = uint(gl_VertexIndex);
  uvec2 run = run_of_key(load_key(row), push.address, push.num_build_rows);
  out_color = uvec4(run.x, run.y - run.x, 0u, 0u);
  if (run.x < run.y) draw_point(row, push.target);
  else clip_point();
}
