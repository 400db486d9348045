#version 450
#extension GL_GOOGLE_include_directive : require
// Build of one hash image H_i (GARUDA §3.1).
//
// Bindings: keys of the build side, FlagArray. Invocation: vertex v = row num_rows - 1 - v: Vulkan writes colours in
// primitive order, so of the rows that meet in a pixel the lowest is written last and stays. Writes: (kOccupied | row,
// key) at the key's pixel, for rows whose flag is push.flag: 0 while the stack grows, a layer's number when it is drawn
// again. Overflow: rows that lose keep flag 0 and are drawn into the next image.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { BuildPush push; };
layout(set = 0, binding = kBindFlags, std430) readonly buffer Flags { uint flags[]; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = push.num_rows - 1u - uint(gl_VertexIndex);
  Key key = load_key(row);
  uint pixel;
  out_color = uvec4(kOccupied | row, key.low, key.high, 0u);
  if (flags[row] == push.flag && pixel_of(key, push.address, pixel)) draw_point(pixel, push.image);
  else clip_point();
}
