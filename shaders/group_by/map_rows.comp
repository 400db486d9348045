#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
// Maps rows to the heads of their groups by one hash image (GARUDA §4.1.1).
//
// Variants by the form of the keys: PACKED (in the pixel; direct addresses need no comparison), WORDS (in the attachments
// of the pixel), ROWID (compared through the row in the pixel).
//
// Bindings: keys or words, list of rows, hash image; map, heads (zeroed before), lost. Invocation: one per row of the
// pass. Writes: map[row] = row of the pixel when the keys are equal, head[row] = 1 when that is the row itself, lost = 1
// when they differ. Overflow: rows that lost go into the next image.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "../points/texels.glsl"

layout(push_constant) uniform Push { HashPush push; };
#include "listed_rows.glsl"
#ifdef PACKED
#include "packed_keys.glsl"
#else
#include "word_keys.glsl"
#endif

layout(set = 0, binding = kBindHashImage) uniform utexture2DArray hash_image;
layout(set = 0, binding = kBindMap, std430) writeonly buffer Map { uint map[]; };
layout(set = 0, binding = kBindHead, std430) writeonly buffer Head { uint head[]; };
layout(set = 0, binding = kBindLost, std430) writeonly buffer Lost { uint lost[]; };

uvec4 load_pixel(uint pixel, uint attachment) {
  return texelFetch(hash_image, ivec3(texel_of(pixel, push.image.log2_width), attachment), 0);
}

bool find_head(uint row, out uint found) {
#ifdef PACKED
  Key key = load_key(row);
  uint pixel;
  seeded_pixel_of(key, push.address, push.seed, pixel);
  uvec4 texel = load_pixel(pixel, 0u);
  found = texel.r & kRowMask;
  return kDirect != 0u || (texel.g == key.low && (kKeyWords == 1u || texel.b == key.high));
#else
  uint pixel = hashed_pixel_of(row);
  uvec4 texel = load_pixel(pixel, 0u);
  found = texel.r & kRowMask;
  for (uint word = 0u; word < push.num_words; ++word) {
#ifdef WORDS
    uint element = word + 1u;
    if (element % 4u == 0u) texel = load_pixel(pixel, element / 4u);
    if (texel[element % 4u] != load_word(row, word)) return false;
#else
    if (load_word(found, word) != load_word(row, word)) return false;
#endif
  }
  return true;
#endif
}

void main() {
  uint position = linear_invocation();
  if (position >= push.count) return;
  uint row = listed_row(position);
  uint found;
  bool same = find_head(row, found);
  if (same) map[row] = found;
  if (same && found == row) head[row] = 1u;
  lost[position] = same ? 0u : 1u;
}
