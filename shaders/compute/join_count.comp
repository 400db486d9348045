#version 450
#extension GL_GOOGLE_include_directive : require
// The number of pairs of each task; with MARKS, the rows that have a match instead.
//
// Buffers: JoinCountPush, by address. Invocation: a task a workgroup. Writes: totals, or the bitmaps of both sides.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "chunk_table.glsl"

layout(push_constant) uniform Push { JoinCountPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Tasks { JoinTask at[]; };

#ifdef MARKS
const uint kHit = kFree;  // by place in the chunk: 1 for the first row of a key that a probe row has

void mark(uvec2 bitmap, uvec2 numbers, uint row) {
  uint number = InputWords(numbers).at[row];
  atomicOr(Words(bitmap).at[number / 32u], 1u << number % 32u);
}
#endif

void main() {
  if (group_index() >= push.num_tasks) return;
  JoinTask task = Tasks(push.tasks).at[group_index()];
  uint thread = thread_index();
  load_chunk(push.build_keys, task.build_begin, task.build_rows);
  barrier();
  uint places[kItems];
  bool is_listed = build_table(task.build_rows, places);
  uint matches[kItems];
  uint count = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread;
    matches[i] = row < task.probe_rows ? look_up(load_key(push.probe_keys, task.probe_begin + row), is_listed) : 0u;
    count += matches[i] >> kRowBits;
  }
#ifdef MARKS
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) scratch[kHit + i * kGroup + thread] = 0u;
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (matches[i] == 0u) continue;
    // Every probe row of a key stores the same.
    scratch[kHit + (matches[i] & kRowMask12)] = matches[i] >> kRowBits;
    if (push.probe_marks != uvec2(0u)) mark(push.probe_marks, push.probe_rows, task.probe_begin + i * kGroup + thread);
  }
  barrier();
  if (push.build_marks == uvec2(0u)) return;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint first = i * kGroup + thread;
    for (uint k = 0u; k < scratch[kHit + first]; ++k) mark(push.build_marks, push.build_rows, task.build_begin + first + k);
  }
#else
  uint total = block_add(count);
  if (thread == 0u) Words(push.totals).at[group_index()] = total;
#endif
}
