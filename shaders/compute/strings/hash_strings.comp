#version 450
#extension GL_GOOGLE_include_directive : require
// A hash of each string of a column.
//
// Buffers: HashStringsPush, by address. Invocation: a string each. Writes: hashes.

#include "strings_layout.h"
#include "../../shared/hash.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "strings.glsl"

layout(push_constant) uniform Push { HashStringsPush push; };

void main() {
  uint number = group_index() * kGroup + thread_index();
  if (number >= push.strings.num_strings) return;
  Text text = text_of(push.strings, number);
  uint hash = hash_key32(text.size);
  for (uint first = 0u; first < text.size; first += 4u) hash = hash_key64(word_of(text, first), hash);
  Words(push.hashes).at[number] = hash & push.mask;
}
