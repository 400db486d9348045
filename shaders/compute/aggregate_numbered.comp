#version 450
#extension GL_GOOGLE_include_directive : require
// Adds rows to the states of their groups, which are numbered.
//
// Buffers: GroupRowsPush, by address; keys: the rows' groups; table: a slot a group. Invocation: rows, all invocations
// apart. Writes: table; of few groups (kSlots is not 0) a workgroup adds up its rows in shared memory first. Overflow:
// none.

#include "group_states_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(push_constant) uniform Push { GroupRowsPush push; };

#define NUMBERED
#include "group_states.glsl"
#include "shared_states.glsl"

const bool kShared = kSlots != 0u;

void main() {
  if (kShared) {
    clear_states();
    barrier();
  }
  uint step = gl_NumWorkGroups.x * gl_NumWorkGroups.y * kGroup;
  for (uint row = group_index() * kGroup + thread_index(); row < push.num_rows; row += step) {
    uint slot = load_key(row).x;
    [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
      if (kind_of(a) != kAggregateNone && !is_null(a, row)) {
        State state = state_of(a, load_value(a, row), row);
        if (kShared) {
          add_to_slot(slot, a, state);
        } else {
          add_to_table(slot, a, state);
        }
      }
    }
  }
  if (!kShared) return;
  barrier();
  for (uint slot = thread_index(); slot < push.table_slots; slot += kGroup) {
    [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
      if (kind_of(a) != kAggregateNone) add_to_table(slot, a, combined(slot, a));
    }
  }
}
