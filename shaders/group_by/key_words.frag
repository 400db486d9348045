#version 450
#extension GL_GOOGLE_include_directive : require
// Fragment of the hash image with all key words in it, over ATTACHMENTS colour attachments (GARUDA §4.2.1).
//
// Bindings: words. Invocation: one per point. Writes: element e of (kOccupied | row, word 0, word 1, …) to channel e % 4
// of attachment e / 4; channels behind the last word are 0. Overflow: none, points that meet in a pixel are written in
// primitive order.

#include "../shared/group_by_layout.h"

layout(push_constant) uniform Push { HashPush push; };
#include "word_keys.glsl"
layout(location = 0) flat in uvec4 in_color;
layout(location = 0) out uvec4 out_color[ATTACHMENTS];

void main() {
  uint row = in_color.r & kRowMask;
  for (uint attachment = 0u; attachment < uint(ATTACHMENTS); ++attachment) {
    uvec4 color = uvec4(0u);
    for (uint channel = 0u; channel < 4u; ++channel) {
      uint element = 4u * attachment + channel;
      if (element == 0u) color[channel] = in_color.r;
      else if (element <= push.num_words) color[channel] = load_word(row, element - 1u);
    }
    out_color[attachment] = color;
  }
}
