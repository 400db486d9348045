// Finds the probe row of an output position by binary search in the prefix sum.
// Declares bindings kBindOffsets and kBindTileBases.
#ifndef GARUDA_JOIN_OUTPUT_ROWS_GLSL
#define GARUDA_JOIN_OUTPUT_ROWS_GLSL

#include "../shared/join_layout.h"
#include "../points/wide.glsl"

layout(set = 0, binding = kBindOffsets, std430) readonly buffer Offsets { uint offsets[]; };
layout(set = 0, binding = kBindTileBases, std430) readonly buffer TileBases { uvec2 tile_bases[]; };

// The last tile whose base is at most `position`, then the last row of it whose offset is at most the rest: as rows
// without matches share their offset with the next row, that is the row that owns the position. `rank`: how many of the
// row's matches come before it. Needs position < total.
uint row_of_output(uvec2 position, uint num_tiles, uint num_rows, out uint rank) {
  uint first = 0u;
  uint last = num_tiles;
  while (last - first > 1u) {
    uint middle = (first + last) / 2u;
    if (wide_less_equal(tile_bases[middle], position)) first = middle;
    else last = middle;
  }
  uint rest = wide_subtract(position, tile_bases[first]).x;
  uint row = first * kTileRows;
  uint end = min(row + kTileRows, num_rows);
  while (end - row > 1u) {
    uint middle = (row + end) / 2u;
    if (offsets[middle] <= rest) row = middle;
    else end = middle;
  }
  rank = rest - offsets[row];
  return row;
}

#endif
