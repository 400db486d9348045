// What calibration/points.vert and the C++ that records it agree on.
#ifndef GARUDA_SHADERS_CALIBRATION_POINTS_LAYOUT_H
#define GARUDA_SHADERS_CALIBRATION_POINTS_LAYOUT_H

#include "../shared/glsl_types.h"

GARUDA_SHADER_BEGIN

const uint kBindPixels = 0u;  // u32 a point: row-major pixel number

/// Push constants of a draw.
struct PointsPush {
  uint first_row;   // row of the first point drawn
  uint log2_width;  // of the image
  float scale_x;    // 2 / width
  float scale_y;    // 2 / height
};

GARUDA_SHADER_END

#endif
