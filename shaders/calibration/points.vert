#version 460
// One point a row at the pixel that the row's word names: the least that a pass of the graphics path can do.
//
// Bindings: kBindPixels, u32 a point. Invocations: gl_VertexIndex = position in the bound range of pixels.
// Writes: row + 1 (0 is a pixel that nobody wrote) and its pixel, flat. Overflow: none; pixels lie inside the image.
#extension GL_GOOGLE_include_directive : require
#include "calibration_layout.h"

layout(set = 0, binding = kBindPixels, std430) readonly buffer Pixels { uint pixels[]; };
layout(push_constant) uniform Push { PointsPush push; };

layout(location = 0) flat out uvec2 row_and_pixel;  // (row + 1, pixel)

void main() {
  uint pixel = pixels[gl_VertexIndex];
  uint x = pixel & ((1u << push.log2_width) - 1u);
  uint y = pixel >> push.log2_width;
  row_and_pixel = uvec2(push.first_row + gl_VertexIndex + 1u, pixel);
  gl_Position = vec4((float(x) + 0.5) * push.scale_x - 1.0, (float(y) + 0.5) * push.scale_y - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
}
