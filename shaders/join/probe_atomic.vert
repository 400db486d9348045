#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Probe of a stack by atomicAdd, as the paper has it (GARUDA §3.3.1), for comparison.
//
// Bindings: keys of the probe side, hash images, offsets, tile bases, and cursors, a copy of the offsets. Invocation:
// vertex = probe row, instance = layer; each vertex must run once, which Vulkan does not promise for side effects of
// vertices, so no plan picks this pass by itself. Writes: (probe row, build row) at the next free position of the row,
// for rows whose first position lies in the window. Overflow: the result FBO has kMaxLayers texels more than the window,
// so the last row's matches fit.

#include "../shared/join_layout.h"
#include "../points/key_address.glsl"
#include "layers.glsl"
#include "output_rows.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { ProbePush push; };
layout(set = 0, binding = kBindCursors, std430) buffer Cursors { uint cursors[]; };
layout(location = 0) flat out uvec4 out_color;

void main() {
  uint row = uint(gl_VertexIndex);
  uvec2 window = uvec2(push.window_low, push.window_high);
  uvec2 base = tile_bases[row / kTileRows];
  uvec2 start = wide_subtract(wide_add(base, uvec2(offsets[row], 0u)), window);
  out_color = uvec4(0u);
  clip_point();
  if (start.y != 0u || start.x >= push.window_size) return;

  Key key = load_key(row);
  uint pixel;
  if (!pixel_of(key, push.address, pixel)) return;
  uvec4 texel = load_texel(pixel, uint(gl_InstanceIndex), push.image.log2_width);
  if (!texel_matches(texel, key)) return;

  uint location = start.x + (atomicAdd(cursors[row], 1u) - offsets[row]);
  out_color = uvec4(row, texel.r & kRowMask, 0u, 0u);
  draw_point(location, push.target);
}
