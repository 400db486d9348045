#version 450
#extension GL_GOOGLE_include_directive : require
// The result of a join in one pass over partitioned rows: every task takes as many places as it has pairs and writes all
// columns there. Rows come in any order.
//
// Buffers: JoinRowsPush, by address. Invocation: a task a workgroup. Writes: the columns' targets, state. Overflow: rows
// past the capacity are left out, and said so; the total is exact either way.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "chunk_table.glsl"
#include "match_positions.glsl"

layout(push_constant) uniform Push { JoinRowsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Tasks { JoinTask at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { JoinedColumn at[]; };

const uint kNoPlace = 0xffffffffu;

shared uint first_row;

// Takes places for `total` rows; kNoPlace when they are left out. By one invocation.
uint take_places(uint total) {
  uint before = atomicAdd(Words(push.state).at[1], total);
  if (before + total < before) atomicAdd(Words(push.state).at[2], 1u);
  uint first = kNoPlace;
  if (total <= push.max_task_rows) {
    first = atomicAdd(Words(push.state).at[0], total);
    if (first > push.capacity || total > push.capacity - first) first = kNoPlace;
  }
  if (first == kNoPlace) atomicOr(Words(push.state).at[3], 1u);
  return first;
}

// Copies one word of the build chunk's rows of a column to shared memory. Called by all.
void stage(JoinedColumn column, uint word, JoinTask task) {
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = min(i * kGroup + thread_index(), task.build_rows - 1u);
    values[i] = InputWords(column.source).at[(task.build_begin + row) * column.words + word];
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) scratch[kStaging + i * kGroup + thread_index()] = values[i];
  barrier();
}

// One word of a column of the result where no build key repeats: each probe row has one place at most.
void write_single(JoinedColumn column, uint word, JoinTask task, uint first, uvec2 keys[kItems], uint matches[kItems],
                  uint positions[kItems]) {
  uint values[kItems];
  if (column.side == kFromKey) {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = keys[i][word];
  } else if (column.side == kFromBuild) {
    stage(column, word, task);
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = scratch[kStaging + (matches[i] & kRowMask12)];
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint row = task.probe_begin + min(i * kGroup + thread_index(), task.probe_rows - 1u);
      values[i] = InputWords(column.source).at[row * column.words + word];
    }
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (matches[i] != 0u) Words(column.target).at[(first + positions[i]) * column.words + word] = values[i];
  }
}

const uint kPairs = 4u;  // that an invocation has under way at once

// One word of a column where build keys repeat: pairs are dealt out evenly.
void write_lists(JoinedColumn column, uint word, JoinTask task, uint first, uint total) {
  if (column.side == kFromBuild) stage(column, word, task);
  for (uint begin = thread_index(); begin < total; begin += kPairs * kGroup) {
    uint values[kPairs];
    [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
      uint pair = min(begin + k * kGroup, total - 1u);
      uint row = row_of_output(pair, task.probe_rows);
      if (column.side == kFromBuild) {
        uint place = (scratch[kMatches + row] & kRowMask12) + pair - scratch[kPositions + row];
        values[k] = scratch[kStaging + scratch[place]];
      } else {
        values[k] = InputWords(column.source).at[(task.probe_begin + row) * column.words + word];
      }
    }
    [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
      uint pair = begin + k * kGroup;
      if (pair < total) Words(column.target).at[(first + pair) * column.words + word] = values[k];
    }
  }
}

void main() {
  if (group_index() >= push.max_tasks || group_index() >= Words(push.num_tasks).at[0]) return;
  JoinTask task = Tasks(push.tasks).at[group_index()];
  uint thread = thread_index();
  uvec2 keys[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    keys[i] = load_key(push.probe_keys, task.probe_begin + min(i * kGroup + thread, task.probe_rows - 1u));
  }
  load_chunk(push.build_keys, task.build_begin, task.build_rows);
  barrier();
  bool is_listed = build_table(task.build_rows);
  uint matches[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    matches[i] = i * kGroup + thread < task.probe_rows ? look_up(keys[i], is_listed) : 0u;
  }
  uint positions[kItems];
  uint total = place_matches(matches, positions);
  if (total == 0u) return;
  if (thread == 0u) first_row = take_places(total);
  barrier();
  uint first = first_row;
  if (first == kNoPlace) return;

  if (is_listed) {
    share_matches(matches, positions);
    barrier();
  }
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    for (uint word = 0u; word < column.words; ++word) {
      if (is_listed) {
        write_lists(column, word, task, first, total);
      } else {
        write_single(column, word, task, first, keys, matches, positions);
      }
    }
  }
}
