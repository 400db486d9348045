#version 450
#extension GL_GOOGLE_include_directive : require
// Groups and aggregates rows in shared memory: a table a workgroup, over a partition, or over a window of rows.
//
// Buffers: GroupRowsPush, by address. Invocation: a window or a partition a workgroup, a tile of kGroup × kItems rows at a
// time. Writes: whole partitions go to the targets, at places taken from one cursor; groups of a window, which others may
// have, too, are added to the table in device memory. Overflow: rows that find no slot in shared memory are added to that
// table one by one, and all groups of their workgroup follow; what finds no room there, or no place in the targets, is
// left out, and said so.

#include "group_states_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 18) const uint kFullApart = 1u;  // full tiles take a path of their own, which tests no bounds (1)
layout(constant_id = 26) const uint kPartitions = 0u;
layout(push_constant) uniform Push { GroupRowsPush push; };

#include "group_states.glsl"
#include "shared_states.glsl"

// Slots of a subgroup when groups are listed.
const uint kSpan = (kSlots / kGroup + 1u) * kSubgroup;

shared uint slot_words[kSlots + 1u];
shared uint has_overflow;
shared uint first_place;

// Where a key is looked for first. A product's top bits tell the keys of a partition apart, which agree in those of
// their hash; keys next to each other come to lie in different slots.
uint home_of(uvec2 key) {
  uint hash = kWords == 2u ? hash_of(key) : key.x;
  return is_last(key) ? kSlots : scaled(hash * 0x9e3779b1u, kSlots);
}

// Whether a key's slot holds `word`; empty slots hold 0.
bool is_own_word(uint word, uvec2 key) {
  return is_last(key) ? word != 0u : kWords == 2u ? word != 0u && holds(word, key) : holds(word, key);
}

// The slot of a key, which is entered when it is not there; kNoSlot when there is no room near its home.
uint entered_slot(uvec2 key, uint row) {
  bool is_found = is_last(key);
  uint slot = home_of(key);
  if (is_found) slot_words[kSlots] = 1u;
  for (uint probe = 0u; !is_found && probe < kMostSharedProbes; ++probe) {
    uint found = slot_words[slot];
    if (found == 0u) found = atomicCompSwap(slot_words[slot], 0u, slot_word(key, row));
    is_found = found == 0u || holds(found, key);
    if (!is_found) slot = slot + 1u == kSlots ? 0u : slot + 1u;
  }
  return is_found ? slot : kNoSlot;
}

void clear() {
  uint thread = thread_index();
  for (uint i = thread; i <= kSlots; i += kGroup) slot_words[i] = 0u;
  clear_states();
  if (thread == 0u) has_overflow = 0u;
}

// A row whose group is not where it is looked for first; of a table that is full it goes to the one in device memory.
void add_row_away(uint row) {
  uvec2 key = load_key(row);
  uvec4 value = load_value(0u, row);
  uint slot = entered_slot(key, row);
  if (slot != kNoSlot) {
    add_values_to_slot(slot, row, value);
  } else {
    has_overflow = 1u;
    add_row_to_table(key, row, value, push.table_slots);
  }
}

// Rows [tile, end) from the tile, kGroup apart; `is_full`: none of them is past the end.
void add_tile(uint tile, uint end, bool is_full) {
  uvec2 keys[kItems];
  uvec4 values[kItems];
  uint homes[kItems];
  uint first = tile + thread_index();
  // Rows past the end repeat the last, so that loads need no branches.
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    keys[i] = load_key(is_full ? first + i * kGroup : min(first + i * kGroup, end - 1u));
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    values[i] = load_value(0u, is_full ? first + i * kGroup : min(first + i * kGroup, end - 1u));
  }
  // Most rows find their group where it is looked for first; the others are read again.
  uint away = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    homes[i] = home_of(keys[i]);
    if (!is_own_word(slot_words[homes[i]], keys[i])) away |= 1u << i;
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if ((away >> i & 1u) == 0u && (is_full || row < end)) add_values_to_slot(homes[i], row, values[i]);
  }
  for (; away != 0u; away &= away - 1u) {
    uint row = first + uint(findLSB(away)) * kGroup;
    if (is_full || row < end) add_row_away(row);
  }
}

void add_rows(uint begin, uint end) {
  uint tile = begin;
  if (kFullApart != 0u) {
    for (; end - tile >= kGroup * kItems; tile += kGroup * kItems) add_tile(tile, end, true);
  }
  for (; tile < end; tile += kGroup * kItems) add_tile(tile, end, false);
}

uvec2 slot_key(uint slot) {
  uint word = slot_words[slot];
  if (kWords == 2u) return load_key(word - 1u);
  return uvec2(slot == kSlots ? 0u : word, 0u);
}

bool is_taken(uint slot) { return slot <= kSlots && slot_words[min(slot, kSlots)] != 0u; }

// Groups that no other workgroup has. Called by all.
void write_groups() {
  uint first = gl_SubgroupID * kSpan + gl_SubgroupInvocationID;
  uint count = 0u;
  for (uint i = 0u; i < kSpan; i += kSubgroup) count += subgroupBallotBitCount(subgroupBallot(is_taken(first + i)));
  uint total;
  uint place = block_exclusive_add(gl_SubgroupInvocationID == 0u ? count : 0u, total);
  place = subgroupBroadcastFirst(place);
  if (thread_index() == 0u) first_place = atomicAdd(Words(push.state).at[0], total);
  barrier();
  if (first_place > push.capacity || total > push.capacity - first_place) {
    if (thread_index() == 0u) say_incomplete();
    return;
  }
  place += first_place;
  for (uint i = 0u; i < kSpan; i += kSubgroup) {
    uint slot = first + i;
    uvec4 taken = subgroupBallot(is_taken(slot));
    uint own = place + subgroupBallotExclusiveBitCount(taken);
    if (is_taken(slot)) {
      write_key(own, slot_key(slot));
      [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
        if (kind_of(a) != kAggregateNone) write_state(a, own, combined(slot, a));
      }
    }
    place += subgroupBallotBitCount(taken);
  }
}

// Groups that other workgroups may have, too.
void merge_groups() {
  for (uint slot = thread_index(); slot <= kSlots; slot += kGroup) {
    bool is_taken = slot_words[slot] != 0u;
    uint into = kNoSlot;
    if (is_taken) into = table_slot(slot_key(slot), slot_words[slot] - 1u, push.table_slots);
    if (into != kNoSlot) {
      [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
        if (kind_of(a) != kAggregateNone) add_to_table(into, a, combined(slot, a));
      }
    } else if (is_taken) {
      say_incomplete();
    }
  }
}

void aggregate(uint begin, uint end, bool is_whole) {
  barrier();
  clear();
  barrier();
  add_rows(begin, end);
  barrier();
  if (is_whole && has_overflow == 0u) {
    write_groups();
  } else {
    merge_groups();
  }
}

uint start_of(uint part) { return InputWords(push.starts).at[part]; }

// The partition of a row: the last that starts at or before it. All invocations of a subgroup ask for the same row, and
// read as many starts at a time as they are.
uint partition_of(uint row) {
  uint low = 0u;
  uint end = push.num_partitions;
  while (end - low > 1u) {
    uint step = (end - low + kSubgroup - 1u) / kSubgroup;
    uint part = low + gl_SubgroupInvocationID * step;
    bool is_before = part < end && start_of(part) <= row;
    low += (subgroupBallotBitCount(subgroupBallot(is_before)) - 1u) * step;
    end = min(end, low + step);
  }
  return low;
}

// The part of a partition that lies in a window, when the partition is larger than windows are. At most two such
// partitions share a window, its first and its last.
uvec2 part_of(uint part, uint begin, uint end) {
  uint first = start_of(part);
  uint last = start_of(part + 1u);
  return last - first > push.window_rows ? uvec2(max(first, begin), min(last, end)) : uvec2(0u);
}

void main() {
  uint task = group_index();
  uvec2 parts[2] = uvec2[2](uvec2(0u), uvec2(0u));
  bool is_whole = false;
  if (task < push.num_windows) {
    uint begin = task * push.window_rows;
    uint end = begin + min(push.window_rows, push.num_rows - begin);
    parts[0] = uvec2(begin, end);
    if (kPartitions == 0u) {
      is_whole = push.num_windows == 1u;
    } else {
      uint first = partition_of(begin);
      uint last = partition_of(end - 1u);
      parts[0] = part_of(first, begin, end);
      if (last != first) parts[1] = part_of(last, begin, end);
    }
  } else if (task - push.num_windows < push.num_partitions) {
    uint part = task - push.num_windows;
    parts[0] = uvec2(start_of(part), start_of(part + 1u));
    if (parts[0].y - parts[0].x > push.window_rows) return;
    is_whole = true;
  }
  for (uint i = 0u; i < 2u; ++i) {
    if (parts[i].y > parts[i].x) aggregate(parts[i].x, parts[i].y, is_whole);
  }
}
