#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Probe of a stack, one instance a layer, without atomics.
//
// Bindings: keys of the probe side, hash images, matches, offsets, tile bases. Invocation: vertex = probe row, instance =
// layer. Writes: (probe row, build row) at the texel of its output position: the row's prefix plus the number of its
// matching layers below this one, less the start of the window. Layers that do not match, and positions outside the
// window, are clipped. Overflow: none, the next window draws the rest.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "layers.glsl"
#include "output_rows.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { ProbePush push; };
layout(set = 0, binding = kBindMatches, std430) readonly buffer Matches { uint matches[]; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = uint(gl_VertexIndex);
  uint bit = 1u << uint(gl_InstanceIndex);
  uint matching = matches[row];
  out_color = uvec4(0u);
  clip_point();
  if ((matching & bit) == 0u) return;

  uint offset = offsets[row] + uint(bitCount(matching & (bit - 1u)));
  uvec2 position = wide_add(tile_bases[row / kTileRows], uvec2(offset, 0u));
  uvec2 texel = wide_subtract(position, uvec2(push.window_low, push.window_high));
  if (texel.y != 0u || texel.x >= push.window_size) return;

  uint pixel;
  pixel_of(load_key(row), push.address, pixel);
  uint build_row = load_texel(pixel, uint(gl_InstanceIndex), push.image.log2_width).r & kRowMask;
  out_color = uvec4(row, build_row, 0u, 0u);
  draw_point(texel.x, push.target);
}
