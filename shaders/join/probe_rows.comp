#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Probe of a stack by probe row, as probe_instanced.vert, into a buffer.
//
// Bindings: keys of the probe side, hash images, matches, offsets, tile bases, pairs. Invocation i = probe row
// first_row + i, which writes (probe row, build row) for each of its matching layers, from its prefix on. Positions
// outside the window are left out. Overflow: none, a row has at most kMaxLayers matches and the next window has the rest.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "../points/key_address.glsl"
#include "../points/wide.glsl"
#include "layers.glsl"

layout(push_constant) uniform Push { ProbePush push; };
layout(set = 0, binding = kBindMatches, std430) readonly buffer Matches { uint matches[]; };
layout(set = 0, binding = kBindOffsets, std430) readonly buffer Offsets { uint offsets[]; };
layout(set = 0, binding = kBindTileBases, std430) readonly buffer TileBases { uvec2 tile_bases[]; };
layout(set = 0, binding = kBindPairs, std430) writeonly buffer Pairs { uvec2 pairs[]; };

void main() {
  uint row = push.first_row + linear_invocation();
  if (row >= push.num_rows) return;
  uint matching = matches[row];
  if (matching == 0u) return;
  uint pixel;
  pixel_of(load_key(row), push.address, pixel);
  uvec2 position = wide_add(tile_bases[row / kTileRows], uvec2(offsets[row], 0u));
  // Before the window the difference wraps, and comes back to 0 where the window begins.
  uvec2 place = wide_subtract(position, uvec2(push.window_low, push.window_high));
  while (matching != 0u) {
    if (place.y == 0u && place.x < push.window_size) {
      uint layer = uint(findLSB(matching));
      pairs[place.x] = uvec2(row, load_texel(pixel, layer, push.image.log2_width).r & kRowMask);
    }
    matching &= matching - 1u;
    place = wide_add(place, uvec2(1u, 0u));
  }
}
