// The layout shared by the passes of the graphics group-by and their C++ side: bindings, push constants, bounds.
// Everything is made of 32-bit scalars, so that C++, std430 and push-constant layouts coincide.
#ifndef GARUDA_SHADERS_SHARED_GROUP_BY_LAYOUT_H
#define GARUDA_SHADERS_SHARED_GROUP_BY_LAYOUT_H

#include "float_flags.h"
#include "pass_layout.h"

GARUDA_SHADER_BEGIN

// Rows that may add to one pixel: 65 536 limbs of at most 255 stay below 2^24, where floats are exact integers. A group
// of more rows gets several pixels, its lanes: row r adds to lane r mod lanes.
const uint kPixelRows = 65536u;

// Bits of a piece of a minimum or maximum: an integer that a float holds.
const uint kPieceBits = 24u;

// Specialisation constants, besides those of pass_layout.h.
const uint kSpecListed = 2u;     // 0: pass over all rows, 1: over a list of rows
const uint kSpecValueKind = 3u;  // one of the kinds below
const uint kSpecNulls = 4u;      // 1: values have a validity bitmap

// Kinds of values, as the C++ enumeration ValueKind numbers them.
const uint kKindNone = 0u;
const uint kKindInt32 = 1u;
const uint kKindUint32 = 2u;
const uint kKindInt64 = 3u;
const uint kKindUint64 = 4u;
const uint kKindInt128 = 5u;
const uint kKindFloat32 = 6u;
const uint kKindFloat64 = 7u;

// Where the flags of special values (float_flags.h) lie in the high word of a span: above the windows.
const uint kSpanFlags = 16u;

// Sides of an extreme: bits of ExtremesPush::sides.
const uint kSideMin = 1u;
const uint kSideMax = 2u;

// Bindings of descriptor set 0, besides those of pass_layout.h. A buffer that a variant does not read is bound to any
// other one.
const uint kBindRows = 20u;          // u32: rows still without a group, ascending
const uint kBindRowsOut = 21u;       // the same, those that lost again
const uint kBindMap = 22u;           // rows × u32: first row of the row's group
const uint kBindHead = 23u;          // rows × u32: 1 for the first row of a group
const uint kBindLost = 24u;          // u32 by position in the list: 1 when the row stays without a group
const uint kBindWords = 25u;         // num_words × num_rows u32, a word after another
const uint kBindHashImage = 26u;     // utexture2DArray: the hash image, a layer an attachment
const uint kBindIds = 27u;           // rows × u32: dense group ids
const uint kBindHeadRows = 28u;      // groups × u32: first row
const uint kBindValues = 29u;        // rows × words of the kind
const uint kBindValidity = 30u;      // bitmap of rows
const uint kBindGroupRows = 31u;     // groups × u32: rows or values of the group
const uint kBindSpans = 32u;         // groups × uvec2: set of windows, flags of special values
const uint kBindFirstPixels = 33u;   // (groups + 1) × u32: first accumulator pixel
const uint kBindAccumulators = 34u;  // texture2DArray
const uint kBindSums = 35u;          // u32 × 4 by accumulator pixel: partial sum
const uint kBindPieces = 36u;        // groups of the draw × 2 sides × pieces u32: piece + 1, or 0

/// Passes over rows that have no group yet.
struct HashPush {
  KeyAddress address;
  Raster image;
  uint count;     // rows in the pass
  uint num_rows;  // of the slice
  uint num_words;
  uint hash_first;
  uint hash_count;
  uint seed;  // of the hash; 0 for direct addresses
};

struct RowsPush {
  uint num_rows;
};

/// A draw of one pixel a group and lane, over the groups [first_group, first_group + num_groups).
struct GroupsPush {
  Raster image;
  uint num_rows;
  uint first_group;
  uint num_groups;
  uint lanes;
};

struct ExtremesPush {
  GroupsPush groups;
  uint piece;  // number of the piece, from the top
  uint sides;
};

struct AllotPush {
  uint num_groups;
  uint windows;     // a group; 0: as many as its span
  uint lanes;       // of a group
  uint many_lanes;  // of a group of more than kPixelRows rows; not less
};

/// A draw of the accumulator pixels [first_pixel, first_pixel + num_pixels).
struct SumPush {
  Raster image;
  uint num_rows;
  uint num_groups;
  uint first_pixel;
  uint num_pixels;
};

GARUDA_SHADER_END

#endif
