// Points of one pixel: the centre of the pixel, or a place that is clipped.
#ifndef GARUDA_POINTS_POINTS_GLSL
#define GARUDA_POINTS_POINTS_GLSL

#include "../shared/pass_layout.h"

// Pixel centres leave half a pixel of slack on both sides for the rounding of the viewport transform.
void draw_point(uint pixel, Raster target) {
  uint x = pixel & ((1u << target.log2_width) - 1u);
  uint y = pixel >> target.log2_width;
  gl_Position = vec4((float(x) + 0.5) * target.scale_x - 1.0, (float(y) + 0.5) * target.scale_y - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
}

void clip_point() {
  gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
  gl_PointSize = 1.0;
}

#endif
