// Exclusive prefix sums below 2^32, so that the high halves of the bases are 0. Declares bindings kBindOffsets and
// kBindTileBases.
#ifndef GARUDA_GROUP_BY_PREFIX_GLSL
#define GARUDA_GROUP_BY_PREFIX_GLSL

#include "../shared/pass_layout.h"

layout(set = 0, binding = kBindOffsets, std430) readonly buffer Offsets { uint offsets[]; };
layout(set = 0, binding = kBindTileBases, std430) readonly buffer TileBases { uvec2 tile_bases[]; };

uint prefix(uint element) { return tile_bases[element / kTileRows].x + offsets[element]; }

#endif
