#version 450
#extension GL_GOOGLE_include_directive : require
// Brings the groups of the table in device memory to the targets.
//
// Buffers: GroupRowsPush, by address. Invocation: kItems slots each; a subgroup has kSubgroup × kItems consecutive ones.
// Writes: keys and states, at places taken from one cursor. Overflow: groups past the capacity are left out, and said so.

#include "group_states_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { GroupRowsPush push; };

#include "group_states.glsl"

shared uint first_place;

uint slot_of(uint i) {
  return ((group_index() * kSubgroups + gl_SubgroupID) * kItems + i) * kSubgroup + gl_SubgroupInvocationID;
}

void main() {
  uint words[kItems];
  uint count = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint slot = slot_of(i);
    words[i] = slot <= push.table_slots ? Words(push.table).at[slot * kEntryWords] : 0u;
    count += subgroupBallotBitCount(subgroupBallot(words[i] != 0u));
  }
  uint total;
  uint place = block_exclusive_add(gl_SubgroupInvocationID == 0u ? count : 0u, total);
  place = subgroupBroadcastFirst(place);
  if (total == 0u) return;
  if (thread_index() == 0u) first_place = atomicAdd(Words(push.state).at[0], total);
  barrier();
  if (first_place > push.capacity || total > push.capacity - first_place) {
    if (thread_index() == 0u) say_incomplete();
    return;
  }
  place += first_place;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint slot = slot_of(i);
    uvec4 taken = subgroupBallot(words[i] != 0u);
    uint own = place + subgroupBallotExclusiveBitCount(taken);
    if (words[i] != 0u) {
      uvec2 key = kWords == 2u ? load_key(words[i] - 1u) : uvec2(slot == push.table_slots ? 0u : words[i], 0u);
      write_key(own, key);
      [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
        if (kind_of(a) != kAggregateNone) write_state(a, own, table_state(slot, a));
      }
    }
    place += subgroupBallotBitCount(taken);
  }
}
