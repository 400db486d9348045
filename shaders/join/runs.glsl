// The runs of the flattened image: run of pixel p = entries [run_begin(p), run_end(p)), sorted by (key, row).
// Declares bindings kBindRunOffsets and kBindRunBases.
#ifndef GARUDA_JOIN_RUNS_GLSL
#define GARUDA_JOIN_RUNS_GLSL

#include "../shared/join_layout.h"

layout(set = 0, binding = kBindRunOffsets, std430) readonly buffer RunOffsets { uint run_offsets[]; };
layout(set = 0, binding = kBindRunBases, std430) readonly buffer RunBases { uvec2 run_bases[]; };

// A slice has at most 2^24 build rows, so the high halves of the bases are 0.
uint run_begin(uint pixel) { return run_bases[pixel / kTileRows].x + run_offsets[pixel]; }

uint run_end(uint pixel, uint num_pixels, uint num_build_rows) {
  return pixel + 1u < num_pixels ? run_begin(pixel + 1u) : num_build_rows;
}

#endif
