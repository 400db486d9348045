#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Takes rows over from the image that they were drawn into.
//
// Variants: FLAGS, which rows pass; VALUES, a column.
//
// Bindings: drawn rows; buffers: TakeRowsPush, by address. Invocation: one per row of the image. Writes: flags, or values
// and bits of nulls or of validity; what rows leave to be said. Overflow: none.

#include "../shared/rows_layout.h"
#include "../primitives/words.glsl"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { TakeRowsPush push; };
layout(set = 0, binding = kBindDrawnRows) uniform utexture2DArray drawn_rows;

void main() {
  uint pixel = linear_invocation();
  if (pixel >= push.num_rows) return;
  uint row = push.first_vertex + pixel;
  if (push.rows != uvec2(0u)) row = InputWords(push.rows).at[row];
  ivec2 texel = texel_of(pixel, push.log2_width);
  uint color = texelFetch(drawn_rows, ivec3(texel, 0), 0).r;
  bool is_kept = (color & kRowKept) != 0u;
#ifdef VALUES
  uvec4 value = texelFetch(drawn_rows, ivec3(texel, 1), 0);
  uvec2 target = element_at(push.target, push.words, row);
  for (uint w = 0u; w < push.words; ++w) Words(target).at[w] = value[w];
  if (push.validity != uvec2(0u) && is_kept) atomicOr(Words(push.validity).at[row / 32u], 1u << row % 32u);
  if (push.nulls != uvec2(0u) && !is_kept) Words(push.nulls).at[row] |= 1u << push.null_bit;
#else
  Words(push.target).at[row] = is_kept ? 1u : 0u;
#endif
  uint said = color >> kSaidShift;
  if (said != 0u) atomicOr(Words(push.state).at[0], said);
}
