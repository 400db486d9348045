#version 450
#extension GL_GOOGLE_include_directive : require
// Aggregates sorted rows: groups are written in the order of their keys.
//
// Buffers: SortedRowsPush, by address. Invocation: a window a workgroup, kItems rows each, kGroup apart. Writes: keys of
// the groups that begin in the window, and the states of those that end in it, too; the others are added to the table,
// where the window in which a group begins has an entry. Overflow: nothing is written when groups do not fit the
// targets, and said so.

#include "group_states_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"

layout(push_constant) uniform Push { SortedRowsPush push; };

#include "sorted_rows.glsl"
#include "shared_states.glsl"

// The window in which the group begins that `window` begins within: the last one that groups begin in.
uint window_of(uint group, uint window) {
  uint low = 0u;
  uint high = window - 1u;
  while (low < high) {
    uint middle = low + (high - low + 1u) / 2u;
    if (base_of(middle) <= group) {
      low = middle;
    } else {
      high = middle - 1u;
    }
  }
  return low;
}

// Slot 0 has the group that began before the window, slot s the one that begins s-th in it.
void write_slot(uint slot, uint heads, uint base, bool is_open) {
  bool is_whole = slot > 0u && !(slot == heads && is_open);
  uint entry = group_index();
  if (slot == 0u) entry = window_of(base - 1u, entry);
  [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
    if (kind_of(a) != kAggregateNone) {
      if (is_whole) {
        write_state(a, base + slot - 1u, combined(slot, a));
      } else {
        add_to_table(entry, a, combined(slot, a));
      }
    }
  }
}

void main() {
  uint window = group_index();
  if (window >= push.num_windows) return;
  if (window == 0u && thread_index() == 0u) {
    Words(push.state).at[0] = base_of(push.num_windows);
    if (!has_room()) say_incomplete();
  }
  if (!has_room()) return;
  uint begin = window * push.window_rows;
  uint end = begin + min(push.window_rows, push.num_rows - begin);
  uint base = base_of(window);
  clear_states();
  uint heads = 0u;
  for (uint i = 0u; i < kItems; ++i) {
    uint row = begin + i * kGroup + thread_index();
    bool is_first = row < end && is_head(row);
    uint total;
    // Its barriers come between the states' clearing and the first addition.
    uint before = block_exclusive_add(is_first ? 1u : 0u, total);
    uint slot = heads + before + (is_first ? 1u : 0u);
    heads += total;
    if (is_first) write_key(base + slot - 1u, load_key(row));
    if (row < end) add_values_to_slot(slot, row, load_value(0u, row));
  }
  barrier();
  bool is_open = goes_on(end);
  uint first = is_head(begin) ? 1u : 0u;
  for (uint slot = first + thread_index(); slot <= heads; slot += kGroup) write_slot(slot, heads, base, is_open);
}
