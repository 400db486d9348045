#version 450
#extension GL_GOOGLE_include_directive : require
// Exact sums by additive blending: windows of 64 bits in eight signed limbs of 8 bits.
//
// Bindings: group ids, list of rows, values, validity, spans (floats), first pixels. Invocation: vertex = row, or its
// place in the list, instance = window of the value, the first or the next one. Writes: the limbs over two
// RGBA32_SFLOAT attachments at the pixel of group, window and lane. Overflow: at most kPixelRows rows meet in a pixel,
// so limbs stay below 2^24; pixels outside of the draw are clipped and drawn by another one, windows that are zero and
// rows without a group by none.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"
#include "listed_rows.glsl"
#include "validity.glsl"
#include "values.glsl"

layout(push_constant) uniform Push { SumPush push; };
layout(set = 0, binding = kBindIds, std430) readonly buffer Ids { uint ids[]; };
#include "sum_pixels.glsl"
layout(location = 0) flat out vec4 out_low;
layout(location = 1) flat out vec4 out_high;

vec4 limbs_of(uint word) { return vec4((uvec4(word) >> uvec4(0u, 8u, 16u, 24u)) & 255u); }

void main() {
  uint row = listed_row(uint(gl_VertexIndex));
  uint instance = uint(gl_InstanceIndex);
  Parts parts = load_parts(row);
  uvec2 magnitude = instance == 0u ? parts.words.xy : parts.words.zw;
  uint group = ids[row];
  bool adds = group < push.num_groups && is_valid(row) && magnitude != uvec2(0u);
  uint pixel = 0u;
  if (adds) {
    GroupWindows windows = windows_of(group);
    pixel = windows.first + (parts.window + instance - windows.lowest) * windows.lanes + row % windows.lanes;
  }
  float sign = parts.negative ? -1.0 : 1.0;
  out_low = sign * limbs_of(magnitude.x);
  out_high = sign * limbs_of(magnitude.y);
  pixel -= push.first_pixel;  // wraps past num_pixels below first_pixel
  if (adds && pixel < push.num_pixels) draw_point(pixel, push.image);
  else clip_point();
}
