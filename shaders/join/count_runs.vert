#version 450
#extension GL_GOOGLE_include_directive : require
// Count over runs (GARUDA §3.4.4): the matching entries of a probe row are consecutive.
//
// Bindings: keys of the probe side, offsets and bases of the runs; with hash addresses the runs' keys. Invocation:
// vertex = probe row. Writes: (first entry, number of entries) at the row's own pixel; clipped when there is none. A run
// of direct addresses is one key and matches as a whole. Overflow: none, a slice has at most 2^24 entries.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "../points/points.glsl"
#include "runs.glsl"
#ifdef HASH_ADDRESS
#include "run_keys.glsl"
#endif

layout(push_constant) uniform Push { CountPush push; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = uint(gl_VertexIndex);
  Key key = load_key(row);
  uint pixel;
  uint first = 0u;
  uint end = 0u;
  if (pixel_of(key, push.address, pixel)) {
    first = run_begin(pixel);
    end = run_end(pixel, push.address.num_pixels, push.num_build_rows);
#ifdef HASH_ADDRESS
    first = lower_bound(first, end, key);
    end = upper_bound(first, end, key);
#endif
  }
  out_color = uvec4(first, end - first, 0u, 0u);
  if (first < end) draw_point(row, push.target);
  else clip_point();
}
