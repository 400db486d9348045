#version 450
#extension GL_GOOGLE_include_directive : require
// Adds rows to a state of their groups, which are numbered.
//
// Buffers: NumberedRowsPush, by address; keys: the rows' groups; table: a slot a group. Invocation: rows, all invocations
// of num_windows workgroups apart. Writes: table; of few groups (kSlots is not 0) a workgroup adds up its rows in shared memory first. Overflow:
// none.

#include "group_states_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push {
  GroupRowsPush push;  // NumberedRowsPush
  AggregateColumn own_column;
};

#define NUMBERED
#include "group_states.glsl"
#include "shared_states.glsl"

const bool kShared = kSlots != 0u;

void main() {
  if (group_index() >= push.num_windows) return;
  if (kShared) {
    clear_states();
    barrier();
  }
  uint step = push.num_windows * kGroup;
  for (uint row = group_index() * kGroup + thread_index(); row < push.num_rows; row += step) {
    uint slot = load_key(row).x;
    if (is_null(0u, row)) continue;
    State state = state_of(0u, load_value(0u, row), row);
    if (kShared) {
      add_to_slot(slot, 0u, state);
    } else {
      add_to_table(slot, 0u, state);
    }
  }
  if (!kShared) return;
  barrier();
  for (uint slot = thread_index(); slot < push.table_slots; slot += kGroup) {
    add_to_table(slot, 0u, combined(slot, 0u));
  }
}
