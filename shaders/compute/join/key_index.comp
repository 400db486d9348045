#version 450
#extension GL_GOOGLE_include_directive : require
// Where the keys of a sorted side with each prefix begin.
//
// Buffers: KeyIndexPush, by address. Invocation: an entry each. Writes: the index, the number of rows last.

#include "sorted_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "sorted_keys.glsl"

layout(push_constant) uniform Push { KeyIndexPush push; };

void main() {
  uint entry = group_index() * kGroup + thread_index();
  uint entries = 1u << push.build.index_bits;
  if (entry > entries) return;
  // Keys agree above the prefix, so prefixes ascend as they do.
  uint low = entry == entries ? push.build.num_rows : 0u;
  uint high = push.build.num_rows;
  while (low < high) {
    uint middle = low + (high - low) / 2u;
    uint prefix = shifted(load_key(push.build.keys, middle), push.build.shift).x & (entries - 1u);
    if (prefix < entry) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  Words(push.build.index).at[entry] = low;
}
