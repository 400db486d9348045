#version 450
#extension GL_GOOGLE_include_directive : require
// Where the elements of one ascending list come among those of another one, which has none of them.
//
// Buffers: MergedPlacesPush, by address. Invocation: an element each. Writes: places.

#include "marked_rows_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { MergedPlacesPush push; };

void main() {
  uint i = group_index() * kGroup + thread_index();
  if (i >= push.num_elements) return;
  uint element = InputWords(push.elements).at[i];
  uint begin = 0u;
  uint end = push.num_others;
  while (begin < end) {
    uint middle = begin + (end - begin) / 2u;
    bool is_less = InputWords(push.others).at[middle] < element;
    begin = is_less ? middle + 1u : begin;
    end = is_less ? end : middle;
  }
  Words(push.places).at[i] = i + begin;
}
