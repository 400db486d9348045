#version 450
#extension GL_GOOGLE_include_directive : require
// Groups and aggregates rows in one table in device memory.
//
// Buffers: GroupRowsPush, by address. Invocation: kItems rows each, kGroup apart. Writes: table. Overflow: rows that find
// no slot are left out, and said so.

#include "group_states_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { GroupRowsPush push; };

#include "group_states.glsl"

void main() {
  uint first = group_index() * kGroup * kItems + thread_index();
  uvec2 keys[kItems];
  uvec4 values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) keys[i] = load_key(min(first + i * kGroup, push.num_rows - 1u));
  [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = load_value(0u, min(first + i * kGroup, push.num_rows - 1u));
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < push.num_rows) add_row_to_table(keys[i], row, values[i], push.table_slots);
  }
}
