// The layout on which the passes of calibration and the C++ that records them agree.
#ifndef GARUDA_SHADERS_CALIBRATION_LAYOUT_H
#define GARUDA_SHADERS_CALIBRATION_LAYOUT_H

#include "../shared/pass_layout.h"

GARUDA_SHADER_BEGIN

const uint kBindPixels = 0u;  // u32 a point: row-major pixel number

/// Push constants of a draw of points.vert.
struct PointsPush {
  uint first_row;   // row of the first point drawn
  uint log2_width;  // of the image
  float scale_x;    // 2 / width
  float scale_y;    // 2 / height
};

const uint kBindSourceWords = 0u;
const uint kBindTargetWords = 1u;

/// Push constants of a dispatch of words.comp.
struct WordsPush {
  uint num_words;  // invocations that do something
  uint mask;       // words of the buffers - 1, a power of two less one
};

GARUDA_SHADER_END

#endif
