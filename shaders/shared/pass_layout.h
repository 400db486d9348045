// The layout shared by the passes of all operators and their C++ side: pixels, images, workgroups, prefix sums.
// Everything is made of 32-bit scalars, so that C++, std430 and push-constant layouts coincide.
#ifndef GARUDA_SHADERS_SHARED_PASS_LAYOUT_H
#define GARUDA_SHADERS_SHARED_PASS_LAYOUT_H

#include "glsl_types.h"

GARUDA_SHADER_BEGIN

// Pixels of the hash images H_i. r: kOccupied | row; g: low half of the key; b: high half (64-bit keys only, which take
// RGBA32_UINT; 32-bit keys take RG32_UINT). Rows of a slice stay below 2^24, so the flag never meets the row. A pixel
// that nobody wrote is 0.
const uint kOccupied = 0x80000000u;
const uint kRowMask = 0x7fffffffu;

// In the place of the group of a row that fails a filter: no draw has it, so that the row is clipped.
const uint kClippedRow = 0xffffffffu;

// Compute passes run workgroups of this many invocations: the most that every device must offer beyond 128 and that
// SwiftShader has.
const uint kGroupSize = 256u;

// Rows of a tile of the prefix sum. 255 × 2^24 fits the u32 offsets inside a tile.
const uint kTileRows = 256u;

// Specialisation constants.
const uint kSpecKeyWords = 0u;  // 1: 32-bit keys, 2: 64-bit keys
const uint kSpecDirect = 1u;    // 0: hash addresses, 1: direct addresses

// Bindings of descriptor set 0; a resource has the same number in every pass.
const uint kBindKeys = 0u;       // rows × kKeyWords u32
const uint kBindCounts = 4u;     // u32 counts by pixel or row, where no image holds them
const uint kBindOffsets = 6u;    // u32 exclusive prefix sum within a tile
const uint kBindTileBases = 7u;  // uvec2 (low, high) exclusive prefix sum of tiles, the grand total last

/// Where a key is drawn. Hash: pixel = hash >> shift. Direct: pixel = (key - minimum) >> shift.
struct KeyAddress {
  uint min_low;
  uint min_high;
  uint shift;
  uint num_pixels;  // direct keys at or past this are outside
};

/// A row-major image that points are drawn into or texels are read from; its width is a power of two.
struct Raster {
  uint log2_width;
  float scale_x;  // 2 / width
  float scale_y;  // 2 / height
};

struct ScanPush {
  uint num_elements;
  uint log2_width;  // of the image that holds the counts
  uint num_tiles;
};

GARUDA_SHADER_END

#endif
