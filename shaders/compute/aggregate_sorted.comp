#version 450
#extension GL_GOOGLE_include_directive : require
// Aggregates sorted rows: groups are written in the order of their keys.
//
// Buffers: SortedRowsPush, by address. Invocation: a window a workgroup, kItems consecutive rows each. Writes: keys of
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

// Adds up to kItems rows; `slot`: of the row before. Rows of one group are added together first.
void add_run(uint first, uint end, uint slot, uint base) {
  State sums[kMostAggregates];
  [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) sums[a] = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i;
    if (row < end) {
      uvec2 key = load_key(row);
      if (row == 0u || load_key(row - 1u) != key) {
        [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
          if (kind_of(a) != kAggregateNone) {
            if (i > 0u) add_to_slot(slot, a, sums[a]);
            sums[a] = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
          }
        }
        ++slot;
        write_key(base + slot - 1u, key);
      }
      [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
        if (kind_of(a) != kAggregateNone && !is_null(a, row)) {
          sums[a] = merged(a, sums[a], state_of(a, load_value(a, row), row));
        }
      }
    }
  }
  [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
    if (kind_of(a) != kAggregateNone && first < end) add_to_slot(slot, a, sums[a]);
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
  uint own_first = begin + thread_index() * kItems;
  uint own_heads = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    own_heads += own_first + i < end && is_head(own_first + i) ? 1u : 0u;
  }
  uint heads;
  // Its barriers come between the states' clearing and the first addition.
  uint slot = block_exclusive_add(own_heads, heads);
  add_run(own_first, end, slot, base);
  barrier();
  bool is_open = goes_on(end);
  uint first = is_head(begin) ? 1u : 0u;
  for (uint slot = first + thread_index(); slot <= heads; slot += kGroup) write_slot(slot, heads, base, is_open);
}
