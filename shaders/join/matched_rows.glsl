// Finds the build row of a probe row and a rank among its matches. Variants: STACK (declares kBindKeys, kBindLayers)
// and RUNS (declares kBindRunRows). Declares kBindMatches; includers enable GL_EXT_samplerless_texture_functions.
#ifndef GARUDA_JOIN_MATCHED_ROWS_GLSL
#define GARUDA_JOIN_MATCHED_ROWS_GLSL

#include "../shared/join_layout.h"

layout(set = 0, binding = kBindMatches, std430) readonly buffer Matches { uint matches[]; };

#ifdef STACK
#include "../points/key_address.glsl"
#include "layers.glsl"

uint build_row_of(uint row, uint rank, KeyAddress address, uint log2_width) {
  uint matching = matches[row];
  for (uint i = 0u; i < rank; ++i) matching &= matching - 1u;
  uint pixel;
  pixel_of(load_key(row), address, pixel);
  return load_texel(pixel, uint(findLSB(matching)), log2_width).r & kRowMask;
}
#else
layout(set = 0, binding = kBindRunRows, std430) readonly buffer RunRows { uint run_rows[]; };

uint build_row_of(uint row, uint rank, KeyAddress address, uint log2_width) { return run_rows[matches[row] + rank]; }
#endif

#endif
