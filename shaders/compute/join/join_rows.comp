#version 450
#extension GL_GOOGLE_include_directive : require
// The result of a join in one pass over partitioned rows: every task takes as many places as it has pairs and writes all
// columns there. Rows come in any order. Rows that have a match are marked where kMarks says so; with kMarksOnly that is
// all, and no pair is enumerated.
//
// Buffers: JoinRowsPush, by address. Invocation: several tasks a workgroup, one after another: what the next one reads
// is on its way meanwhile. Writes: the columns' targets, state, marks. Overflow: rows past the capacity are left out, and said
// so; the total is exact either way.

#include "partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 12) const uint kScratch = 9216u;
layout(constant_id = 13) const uint kLog2Slots = 12u;

const uint kChunk = kGroup * kItems;
const uint kSlots = 1u << kLog2Slots;
const uint kRowMask = (1u << kRowBits) - 1u;

shared uint scratch[kScratch];

#include "joined_rows.glsl"

// Shared memory: keys of the build chunk; of each row the next one of its slot: row + 1, 0 for none, and kMarked once the
// row has a match.
const uint kNext = kWords * kChunk;

// Their values by row. In place of the slots, once rows have been looked up: a column, or the probe side's values and a
// list of pairs.
const uint kBuildValues = kNext + kChunk;
const uint kHeads = kBuildValues + kBuildWords * kChunk;
const uint kProbeValues = kHeads;
const uint kList = kProbeValues + kProbeWords * kChunk;
const uint kWindow = kScratch - kList;
const uint kPairs = 4u;  // that an invocation has under way at once

shared uint has_repeats;  // some probe row has several matches

// A hash table over the build chunk: rows of a slot are chained, the one entered last first. Entering is one exchange,
// whatever the keys are; rows of one key are found one after another.

uvec2 chunk_key(uint row) { return uvec2(scratch[row], kWords == 1u ? 0u : scratch[kChunk + row]); }

// Keys of a partition agree in the top bits of their hash; a product's top bits tell them apart.
uint slot_of(uvec2 key) {
  uint product = key.x * 0x9e3779b1u;
  if (kWords == 2u) product += (key.y ^ key.y >> 15u) * 0x85ebca77u;
  return product >> (32u - kLog2Slots);
}

// Takes the chunk's keys, of the rows i · kGroup + thread_index(), and empties the table. Called by all; a barrier follows.
void take_keys(uvec2 keys[kItems]) {
  uint thread = thread_index();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    scratch[i * kGroup + thread] = keys[i].x;
    if (kWords == 2u) scratch[kChunk + i * kGroup + thread] = keys[i].y;
  }
  for (uint slot = thread; slot < kSlots; slot += kGroup) scratch[kHeads + slot] = 0u;
}

// Enters the chunk's rows. Called by all, between barriers.
void enter_rows(uint rows) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    if (row < rows) scratch[kNext + row] = atomicExchange(scratch[kHeads + slot_of(chunk_key(row))], row + 1u);
  }
}

// The row behind a row of a slot, + 1.
uint next_of(uint row) { return kMarksBuild ? scratch[kNext + row] & kRowMask : scratch[kNext + row]; }

// Matches of a key: the last one's row | matches << kRowBits; 0 when there is none. With kMarksOnly some matches: who
// marks the first row of a key goes on to the others.
uint look_up(uvec2 key) {
  uint matches = 0u;
  uint at = scratch[kHeads + slot_of(key)];
  while (at != 0u) {
    uint row = at - 1u;
    at = next_of(row);
    if (chunk_key(row) != key) continue;
    matches = ((matches & ~kRowMask) + (1u << kRowBits)) | row;
    bool is_marked = !kMarksBuild || (scratch[kNext + row] & kMarked) != 0u;
    if (!is_marked) is_marked = (atomicOr(scratch[kNext + row], kMarked) & kMarked) != 0u;
    if (kMarksOnly && is_marked) at = 0u;
  }
  return matches;
}

// Called by all, after the look-ups and a barrier.
void mark_build_rows(JoinTask task) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    bool is_marked = row < task.build_rows && (scratch[kNext + min(row, kChunk - 1u)] & kMarked) != 0u;
    set_marks(marks().source, task.build_begin + i * kGroup, is_marked);
  }
}

void share_values(uint first, uint words, uvec2 values[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    if (words > 0u) scratch[first + row] = values[i].x;
    if (words > 1u) scratch[first + kChunk + row] = values[i].y;
  }
}

// Makes positions among all pairs of the task of the matches, in any order of subgroups. Called by all; a barrier
// follows.
void place_matches(uint matches[kItems], out uint positions[kItems]) {
  bool repeats = false;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) repeats = repeats || matches[i] >> kRowBits > 1u;
  uint sum = 0u;
  if (subgroupAny(repeats)) {
    has_repeats = 1u;
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint count = matches[i] >> kRowBits;
      positions[i] = sum + subgroupExclusiveAdd(count);
      sum += subgroupAdd(count);
    }
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uvec4 found = subgroupBallot(matches[i] != 0u);
      positions[i] = sum + subgroupBallotExclusiveBitCount(found);
      sum += subgroupBallotBitCount(found);
    }
  }
  uint first = 0u;
  if (gl_SubgroupInvocationID == 0u) first = atomicAdd(num_pairs, sum);
  first = subgroupBroadcastFirst(first);
  [[unroll]] for (uint i = 0u; i < kItems; ++i) positions[i] += first;
}

// Keys and the columns that were read with them, where each probe row has one match at most.
void write_first(uint first, uvec2 keys[kItems], uvec2 probe_values[kItems], uint matches[kItems],
                 uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (matches[i] == 0u) continue;
    uint row = first + positions[i];
    write_value(push.keys_out, kKeysOut, row, keys[i]);
    write_value(push.probe.target, kProbeWords, row, probe_values[i]);
    write_value(push.build.target, kBuildWords, row, shared_value(kBuildValues, kBuildWords, matches[i] & kRowMask));
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
  [[unroll]] for (uint i = 0u; i < kItems; ++i) scratch[kHeads + i * kGroup + thread_index()] = values[i];
  barrier();
}

// Writes one word of another column, where each probe row has one match at most.
void write_single(JoinedColumn column, uint word, JoinTask task, uint first, uint matches[kItems],
                  uint positions[kItems]) {
  uint values[kItems];
  if (column.side == kFromBuild) {
    stage(column, word, task);
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = scratch[kHeads + (matches[i] & kRowMask)];
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

// Where probe rows have several matches, pairs are listed first, as many at a time as shared memory holds, and then scattered
// out evenly: build row << kRowBits | probe row. `cursors` and `positions`, of each probe row's next pair, move on.
// Called by all, between barriers.
void list_pairs(uint window, uvec2 keys[kItems], inout uint cursors[kItems], inout uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    while (cursors[i] != 0u && positions[i] < window + kWindow) {
      uint row = cursors[i] - 1u;
      cursors[i] = next_of(row);
      if (chunk_key(row) == keys[i]) {
        scratch[kList + positions[i] - window] = row << kRowBits | i * kGroup + thread_index();
        ++positions[i];
      }
    }
  }
}

// Keys and the columns that were read with them, of listed pairs that begin at row `first` of the result.
void write_listed_first(uint first, uint pairs) {
  for (uint base = thread_index(); base < pairs; base += kPairs * kGroup) {
    [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
      uint pair = base + k * kGroup;
      if (pair >= pairs) continue;
      uint build = scratch[kList + pair] >> kRowBits;
      uint probe = scratch[kList + pair] & kRowMask;
      write_value(push.keys_out, kKeysOut, first + pair, chunk_key(build));
      write_value(push.probe.target, kProbeWords, first + pair, shared_value(kProbeValues, kProbeWords, probe));
      write_value(push.build.target, kBuildWords, first + pair, shared_value(kBuildValues, kBuildWords, build));
    }
  }
}

// Writes another column of the listed pairs.
void write_listed(JoinedColumn column, JoinTask task, uint first, uint pairs) {
  bool is_build = column.side == kFromBuild;
  uint begin = is_build ? task.build_begin : task.probe_begin;
  for (uint word = 0u; word < column.words; ++word) {
    for (uint base = thread_index(); base < pairs; base += kPairs * kGroup) {
      uint values[kPairs];
      [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
        uint entry = scratch[kList + min(base + k * kGroup, pairs - 1u)];
        uint row = begin + (is_build ? entry >> kRowBits : entry & kRowMask);
        values[k] = InputWords(column.source).at[row * column.words + word];
      }
      [[unroll]] for (uint k = 0u; k < kPairs; ++k) {
        uint pair = base + k * kGroup;
        if (pair < pairs) Words(column.target).at[(first + pair) * column.words + word] = values[k];
      }
    }
  }
}

void write_lists(JoinTask task, uint first, uvec2 keys[kItems], uvec2 probe_values[kItems], uint matches[kItems],
                 uint positions[kItems]) {
  uint total = num_pairs;
  uint cursors[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    cursors[i] = matches[i] != 0u ? scratch[kHeads + slot_of(keys[i])] : 0u;
  }
  barrier();
  share_values(kProbeValues, kProbeWords, probe_values);
  for (uint window = 0u; window < total; window += kWindow) {
    barrier();
    list_pairs(window, keys, cursors, positions);
    barrier();
    uint pairs = min(total - window, kWindow);
    write_listed_first(first + window, pairs);
    for (uint c = 0u; c < push.num_columns; ++c) {
      write_listed(Columns(push.columns).at[c], task, first + window, pairs);
    }
  }
}

void write_singles(JoinTask task, uint first, uint matches[kItems], uint positions[kItems]) {
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    for (uint word = 0u; word < column.words; ++word) write_single(column, word, task, first, matches, positions);
  }
}

void main() {
  uint num_tasks = Words(push.dispatch).at[3];
  uint end_task = begin_of_share(push.end_share, push.shares, num_tasks);
  uint first_task = begin_of_share(push.first_share, push.shares, num_tasks) + group_index();
  uint thread = thread_index();
  uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
  if (first_task >= end_task) return;
  JoinTask task = Tasks(push.tasks).at[first_task];
  uvec2 build_keys[kItems];
  uvec2 build_values[kItems];
  uvec2 keys[kItems];
  uvec2 probe_values[kItems];
  load_values(push.build_keys, kWords, task.build_begin, task.build_rows, build_keys);
  load_values(push.build.source, kBuildWords, task.build_begin, task.build_rows, build_values);
  load_values(push.probe_keys, kWords, task.probe_begin, task.probe_rows, keys);
  load_values(push.probe.source, kProbeWords, task.probe_begin, task.probe_rows, probe_values);
  for (uint number = first_task; number < end_task; number += groups) {
    bool has_next = number + groups < end_task;
    JoinTask next = Tasks(push.tasks).at[has_next ? number + groups : number];
    take_keys(build_keys);
    share_values(kBuildValues, kBuildWords, build_values);
    if (thread == 0u) {
      num_pairs = 0u;
      has_repeats = 0u;
    }
    barrier();
    enter_rows(task.build_rows);
    if (has_next) {
      load_values(push.build_keys, kWords, next.build_begin, next.build_rows, build_keys);
      load_values(push.build.source, kBuildWords, next.build_begin, next.build_rows, build_values);
    }
    barrier();
    uint matches[kItems];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      matches[i] = i * kGroup + thread < task.probe_rows ? look_up(keys[i]) : 0u;
    }
    if (kMarksProbe) mark_probe_rows(task, matches);
    uint positions[kItems];
    if (!kMarksOnly) place_matches(matches, positions);
    barrier();
    if (kMarksBuild) mark_build_rows(task);
    if (num_pairs > 0u) {
      if (thread == 0u) first_row = take_places(num_pairs);
      barrier();
      if (first_row != kNoPlace && has_repeats != 0u) {
        write_lists(task, first_row, keys, probe_values, matches, positions);
      } else if (first_row != kNoPlace) {
        write_first(first_row, keys, probe_values, matches, positions);
        write_singles(task, first_row, matches, positions);
      }
    }
    if (!has_next) return;
    load_values(push.probe_keys, kWords, next.probe_begin, next.probe_rows, keys);
    load_values(push.probe.source, kProbeWords, next.probe_begin, next.probe_rows, probe_values);
    barrier();
    task = next;
  }
}
