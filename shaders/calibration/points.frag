#version 460
// Colours of bare points. Without definitions: (row + 1, pixel, 0, 0) into an unsigned image, the last row wins. With ADD: 1
// into a float image with additive blending.
//
// Bindings: none. Invocations: one a point. Writes: attachment 0. Overflow: float counts are exact up to 2^24.

#ifdef ADD
layout(location = 0) out float color;
#else
layout(location = 0) flat in uvec2 row_and_pixel;
layout(location = 0) out uvec4 color;
#endif

void main() {
#ifdef ADD
  color = 1.0;
#else
  color = uvec4(row_and_pixel, 0u, 0u);
#endif
}
