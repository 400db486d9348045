// Keys of several words. Declares binding kBindWords; needs the push constants HashPush as `push`.
#ifndef GARUDA_GROUP_BY_WORD_KEYS_GLSL
#define GARUDA_GROUP_BY_WORD_KEYS_GLSL

#include "../shared/group_by_layout.h"
#include "../shared/hash.h"

layout(set = 0, binding = kBindWords, std430) readonly buffer Words { uint words[]; };

uint load_word(uint row, uint word) { return words[word * push.num_rows + row]; }

// The host gives the words of the hashing attribute for the first image (GARUDA §4.2.1) and all words for the later
// ones, so that keys that agree in that attribute do not meet again and again.
uint hashed_pixel_of(uint row) {
  uint hash = push.seed;
  for (uint i = 0u; i < push.hash_count; ++i) hash = mix32(hash ^ load_word(row, push.hash_first + i)) + 0x9e3779b9u;
  return mix32(hash) >> push.address.shift;
}

#endif
