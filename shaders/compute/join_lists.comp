#version 450
#extension GL_GOOGLE_include_directive : require
// The same as join_rows.comp, for joins whose rows are expected to have several matches each: the rows of a key are listed
// together, so that a pair is found in one step.
//
// Buffers: JoinRowsPush, by address. Invocation: several tasks a workgroup, one after another. Writes: the columns' targets, state. Overflow: rows
// past the capacity are left out, and said so; the total is exact either way.

#include "partitioned_join_layout.h"
#include "../primitives/words.glsl"
#include "../primitives/block.glsl"
#include "chunk_table.glsl"
#include "match_positions.glsl"

layout(push_constant) uniform Push { JoinRowsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Tasks { JoinTask at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { JoinedColumn at[]; };

layout(constant_id = 18) const uint kBuildWords = 0u;
layout(constant_id = 19) const uint kProbeWords = 0u;

// Values of the build chunk that were read ahead: their first words where `order` would be, which only repeated keys
// need, their second ones behind the table.
const uint kSecond = kTable + kSlots;

const uint kNoPlace = 0xffffffffu;

shared uint first_row;

// Takes places for `total` rows; kNoPlace when they are left out. By one invocation.
uint take_places(uint total) {
  uint first = kNoPlace;
  if (total <= push.max_task_rows) {
    first = atomicAdd(Words(push.state).at[0], total);
    if (first > push.capacity || total > push.capacity - first) first = kNoPlace;
  } else {
    uint before = atomicAdd(Words(push.state).at[1], total);
    if (before + total < before) atomicAdd(Words(push.state).at[2], 1u);
  }
  if (first == kNoPlace) atomicOr(Words(push.state).at[3], 1u);
  return first;
}

// Values of a column that are read ahead, of the rows begin + i · kGroup + thread_index().
void load_ahead(uvec2 source, uint words, uint begin, uint rows, out uvec2 values[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = begin + min(i * kGroup + thread_index(), rows - 1u);
    values[i] = words == 2u ? Pairs(source).at[row] : words == 1u ? uvec2(InputWords(source).at[row], 0u) : uvec2(0u);
  }
}

void write_ahead(uvec2 target, uint words, uint row, uvec2 value) {
  if (words == 2u) {
    Pairs(target).at[row] = value;
  } else if (words == 1u) {
    Words(target).at[row] = value.x;
  }
}

// Keys and the columns that were read ahead, where no build key repeats.
void write_first(uint first, uvec2 keys[kItems], uvec2 probe_values[kItems], uint matches[kItems],
                 uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (matches[i] == 0u) continue;
    uint row = first + positions[i];
    uint build = matches[i] & kRowMask12;
    write_ahead(push.keys_out, kWords, row, keys[i]);
    write_ahead(push.probe.target, kProbeWords, row, probe_values[i]);
    write_ahead(push.build.target, kBuildWords, row,
                uvec2(scratch[build], kBuildWords == 2u ? scratch[kSecond + build] : 0u));
  }
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

// One word of another column, where no build key repeats: each probe row has one place at most.
void write_single(JoinedColumn column, uint word, JoinTask task, uint first, uint matches[kItems],
                  uint positions[kItems]) {
  uint values[kItems];
  if (column.side == kFromBuild) {
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

// Where build keys repeat, pairs are listed first, as many at a time as shared memory holds beside `order`, and then dealt
// out evenly: build row << kRowBits | probe row.
const uint kList = kFree;
const uint kWindow = kScratch - kFree;
const uint kPairs = 4u;  // that an invocation has under way at once

// Lists the pairs [window, window + kWindow). Called by all, between barriers.
void list_pairs(uint window, uint matches[kItems], uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    uint begin = max(positions[i], window);
    uint end = min(positions[i] + (matches[i] >> kRowBits), window + kWindow);
    uint place = (matches[i] & kRowMask12) - positions[i];  // modulo 2^32
    for (uint pair = begin; pair < end; ++pair) {
      scratch[kList + pair - window] = scratch[place + pair] << kRowBits | row;
    }
  }
}

// A column of the pairs that are listed, which begin at row `first` of the result.
void write_listed(JoinedColumn column, JoinTask task, uint first, uint pairs) {
  bool is_build = column.side == kFromBuild;
  uint begin = is_build ? task.build_begin : task.probe_begin;
  for (uint word = 0u; word < column.words; ++word) {
    for (uint base = thread_index(); base < pairs; base += kPairs * kGroup) {
      uint values[kPairs];
      [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
        uint entry = scratch[kList + min(base + k * kGroup, pairs - 1u)];
        uint row = begin + (is_build ? entry >> kRowBits : entry & kRowMask12);
        values[k] = InputWords(column.source).at[row * column.words + word];
      }
      [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
        uint pair = base + k * kGroup;
        if (pair < pairs) Words(column.target).at[(first + pair) * column.words + word] = values[k];
      }
    }
  }
}

void write_lists(JoinTask task, uint first, uint total, uint matches[kItems], uint positions[kItems]) {
  for (uint window = 0u; window < total; window += kWindow) {
    barrier();
    list_pairs(window, matches, positions);
    barrier();
    uint pairs = min(total - window, kWindow);
    write_listed(JoinedColumn(push.probe_keys, push.keys_out, kWords, kFromProbe), task, first + window, pairs);
    if (kProbeWords > 0u) write_listed(push.probe, task, first + window, pairs);
    if (kBuildWords > 0u) write_listed(push.build, task, first + window, pairs);
    for (uint c = 0u; c < push.num_columns; ++c) {
      write_listed(Columns(push.columns).at[c], task, first + window, pairs);
    }
  }
}

// Called by all, after a barrier.
void join(JoinTask task) {
  uint thread = thread_index();
  // All that is read of most joins, before anything waits for it.
  uvec2 keys[kItems];
  uvec2 build_values[kItems];
  uvec2 probe_values[kItems];
  load_ahead(push.probe_keys, kWords, task.probe_begin, task.probe_rows, keys);
  load_ahead(push.build.source, kBuildWords, task.build_begin, task.build_rows, build_values);
  load_ahead(push.probe.source, kProbeWords, task.probe_begin, task.probe_rows, probe_values);
  load_chunk(push.build_keys, task.build_begin, task.build_rows);
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (kBuildWords > 0u) scratch[i * kGroup + thread] = build_values[i].x;
    if (kBuildWords > 1u) scratch[kSecond + i * kGroup + thread] = build_values[i].y;
  }
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
    write_lists(task, first, total, matches, positions);
    return;
  }
  write_first(first, keys, probe_values, matches, positions);
  if (push.num_columns == 0u) return;
  barrier();
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    for (uint word = 0u; word < column.words; ++word) write_single(column, word, task, first, matches, positions);
  }
}

void main() {
  uint num_tasks = Words(push.dispatch).at[3];
  for (uint number = group_index(); number < num_tasks; number += gl_NumWorkGroups.x * gl_NumWorkGroups.y) {
    barrier();
    join(Tasks(push.tasks).at[number]);
  }
}
