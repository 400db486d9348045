#version 450
#extension GL_GOOGLE_include_directive : require
// Highest and lowest window of the floats of each group, and their special values, by MAX blending.
//
// Bindings: group ids, list of rows, values, validity. Invocation: vertex = row, or its place in the list. Writes:
// (highest + 1, 64 - lowest, NaN, +infinity) and (-infinity) at the pixel of the row's group and lane, over two
// RGBA32_SFLOAT attachments cleared to 0. Overflow: none; zeros touch no window and are clipped, as are groups outside
// of the draw.

#include "../shared/group_by_layout.h"
#include "../points/points.glsl"
#include "group_pixels.glsl"
#include "listed_rows.glsl"
#include "validity.glsl"
#include "values.glsl"

layout(push_constant) uniform Push { GroupsPush push; };
layout(location = 0) flat out vec4 out_low;
layout(location = 1) flat out vec4 out_high;

void main() {
  uint row = listed_row(uint(gl_VertexIndex));
  uint group;
  Parts parts = float_parts(load_value(row));
  bool low = (parts.words.x | parts.words.y) != 0u;
  bool high = (parts.words.z | parts.words.w) != 0u;
  uint lowest = low ? parts.window : parts.window + 1u;
  uint highest = high ? parts.window + 1u : parts.window;
  out_low = vec4(low || high ? vec2(highest + 1u, 64u - lowest) : vec2(0.0), parts.special == kFloatNan ? 1.0 : 0.0,
                 parts.special == kFloatInfinite ? 1.0 : 0.0);
  out_high = vec4(parts.special == kFloatNegativeInfinite ? 1.0 : 0.0, 0.0, 0.0, 0.0);
  bool drawn = (low || high || parts.special != 0u) && is_valid(row);
  if (drawn && group_of(row, push, group)) draw_point(group_pixel(group, row, push), push.image);
  else clip_point();
}
