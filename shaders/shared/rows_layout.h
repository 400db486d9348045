// The layout on which the passes that draw the rows of a table and their C++ side agree.
#ifndef GARUDA_SHADERS_SHARED_ROWS_LAYOUT_H
#define GARUDA_SHADERS_SHARED_ROWS_LAYOUT_H

#include "../compute/expressions/expression_layout.h"
#include "pass_layout.h"

GARUDA_SHADER_BEGIN

// The drawn rows, a pixel each. FLAGS: R32_UINT; VALUES: RGBA32_UINT, whose layer 1 is the value. A pixel that nobody
// drew, of a row that was clipped, is 0.
const uint kBindDrawnRows = 37u;  // utexture2DArray

// Red channel of layer 0.
const uint kRowKept = 1u;    // FLAGS: the row passes; VALUES: it has a value
const uint kSaidShift = 1u;  // above: kRowFailed and kRowUnsettled

/// Draws rows, whose expression the vertex stage evaluates.
struct DrawRowsPush {
  device_address steps;  // num_steps × kExpressionStepWords
  device_address rows;   // u32 by vertex: the row, counted from base; 0: rows are vertices
  uint num_steps;
  uint first_vertex;  // at pixel 0
  uint base;          // the first row in the table
  Raster image;
};

/// Takes rows over from the image.
struct TakeRowsPush {
  device_address target;    // FLAGS: rows × u32, 1 where a row passes, else 0; VALUES: rows × `words` u32
  device_address nulls;     // VALUES: rows × u32 of null bits, zeroed; 0: nobody reads them
  device_address validity;  // VALUES: a bit by row, zeroed, set of those that have a value; 0: nobody reads it
  device_address state;     // a word of kRowFailed and kRowUnsettled
  device_address rows;      // as DrawRowsPush has it
  uint first_vertex;        // at pixel 0
  uint num_rows;            // in the image
  uint log2_width;          // of the image
  uint words;
  uint null_bit;
};

GARUDA_SHADER_END

#endif
