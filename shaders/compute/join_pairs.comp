#version 450
#extension GL_GOOGLE_include_directive : require
// The pairs of row numbers in a window of the whole sequence. Build chunks are grouped, so the sequence is the same
// whenever it is made: tasks in order, probe rows in order, build rows of a key in order.
//
// Buffers: JoinPairsPush, by address. Invocation: a task a workgroup; outputs are dealt out evenly. Writes: pairs.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "chunk_table.glsl"
#include "match_positions.glsl"

layout(push_constant) uniform Push { JoinPairsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Tasks { JoinTask at[]; };

// Start of the window less start of the task, and end of the window less start of the task, within [0, 2^32).
uint distance_to(uvec2 from, uvec2 to) {
  if (to.y < from.y || (to.y == from.y && to.x < from.x)) return 0u;
  uint borrow;
  uint low = usubBorrow(to.x, from.x, borrow);
  return to.y - from.y - borrow != 0u ? 0xffffffffu : low;
}

void main() {
  if (group_index() >= push.num_tasks) return;
  uvec2 offset = Pairs(push.offsets).at[group_index()];
  uvec2 window = uvec2(push.first_low, push.first_high);
  uint carry;
  uint end_low = uaddCarry(window.x, push.num_pairs, carry);
  uvec2 window_end = uvec2(end_low, window.y + carry);
  uint skipped = distance_to(offset, window);  // pairs of the task before the window
  uint last = distance_to(offset, window_end);
  if (last == 0u) return;
  JoinTask task = Tasks(push.tasks).at[group_index()];
  if (skipped >= kChunk * kChunk) return;

  uint thread = thread_index();
  load_chunk(push.build_keys, task.build_begin, task.build_rows);
  barrier();
  uint places[kItems];
  bool is_listed = build_table(task.build_rows, places);
  uint matches[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread;
    matches[i] = row < task.probe_rows ? look_up(load_key(push.probe_keys, task.probe_begin + row), is_listed) : 0u;
  }
  uint positions[kItems];
  uint total = place_matches(matches, positions);
  share_matches(matches, positions);
  barrier();
  uint first = distance_to(window, offset);  // where the task's first pair lies in the window, when it does
  for (uint pair = skipped + thread; pair < min(total, last); pair += kGroup) {
    uint row = row_of_output(pair, task.probe_rows);
    uint place = (scratch[kMatches + row] & kRowMask12) + pair - scratch[kPositions + row];
    uint build_row = InputWords(push.build_rows).at[task.build_begin + place];
    uint probe_row = InputWords(push.probe_rows).at[task.probe_begin + row];
    uint target = first + pair - skipped;
    Pairs(push.pairs).at[target] = push.build_is_left != 0u ? uvec2(build_row, probe_row) : uvec2(probe_row, build_row);
  }
}
