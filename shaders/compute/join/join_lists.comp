#version 450
#extension GL_GOOGLE_include_directive : require
// The same as join_rows.comp, for joins whose rows are expected to have several matches each: build rows of a key are
// neighbours in shared memory, and each subgroup writes the pairs of its probe rows one after another, so that
// neighbouring invocations write neighbouring rows of the result.
//
// Buffers: JoinRowsPush, by address. Invocation: several tasks a workgroup, one after another. Writes: the columns'
// targets, state, marks. Overflow: rows past the capacity are left out, and said so; the total is exact either way.

#include "partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "chunk_table.glsl"
#include "joined_rows.glsl"

// Shared memory once probe rows have been looked up. Each subgroup has, by the number of its probe row among those that
// have matches: where the row's matches begin less its first pair; keys; values. The build chunk has values by place.
// Other columns take the place of these, a word at a time.
const uint kStarts = 0u;
const uint kStage = kChunk;
const uint kBuildValues = kChunk;
const uint kPairKeys = kBuildValues + kBuildWords * kChunk;
const uint kProbeValues = kPairKeys + kKeysOut * kChunk;

const uint kMaskWords = (kSubgroup + 31u) / 32u;

// Values by place, or by number of a probe row: of two words the second ones behind all first ones.
void share_value(uint first, uint words, uint at, uvec2 value) {
  if (words > 0u) scratch[first + at] = value.x;
  if (words > 1u) scratch[first + kChunk + at] = value.y;
}

// Matches of the subgroup's probe rows: pairs are numbered by invocation, then by item.
struct Found {
  uint matches[kItems];  // first place | matches << kRowBits, 0 for none
  uint pairs[kItems];    // the first pair of each
  uint rank;             // rows with matches before this invocation's
  uint total;            // pairs of the subgroup
};

void number_pairs(uint matches[kItems], out Found found) {
  uint pairs = 0u;
  uint rows = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    pairs += matches[i] >> kRowBits;
    rows += matches[i] != 0u ? 1u : 0u;
    found.matches[i] = matches[i];
  }
  found.rank = gl_SubgroupID * kItems * kSubgroup + subgroupExclusiveAdd(rows);
  found.total = subgroupAdd(pairs);
  uint pair = subgroupExclusiveAdd(pairs);
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    found.pairs[i] = pair;
    pair += matches[i] >> kRowBits;
  }
}

// The probe row of the pair begin + gl_SubgroupInvocationID, by its number among those with matches; `ranks`: rows whose
// first pair lies before `begin`, moved on. Called by all of a subgroup, for each kSubgroup pairs in order.
uint row_of_pair(Found found, uint begin, inout uint ranks) {
  uint heads[kMaskWords];  // pairs from `begin` on that are the first of a row
  [[unroll]] for (uint word = 0u; word < kMaskWords; ++word) heads[word] = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint bit = found.pairs[i] - begin;  // modulo 2^32
    [[unroll]] for (uint word = 0u; word < kMaskWords; ++word) {
      if (found.matches[i] != 0u && bit < kSubgroup && bit / 32u == word) heads[word] |= 1u << bit % 32u;
    }
  }
  uint rank = ranks;
  [[unroll]] for (uint word = 0u; word < kMaskWords; ++word) {
    uint all = subgroupOr(heads[word]);
    rank += bitCount(all & gl_SubgroupLeMask[word]);
    ranks += bitCount(all);
  }
  return gl_SubgroupID * kItems * kSubgroup + max(rank, 1u) - 1u;
}

// Windows of pairs begin where rows of the result that share a line of the cache do: the first one before the first pair.
uint num_windows(uint first, Found found) { return (first % kSubgroup + found.total + kSubgroup - 1u) / kSubgroup; }

uint window_begin(uint first, uint window) { return window * kSubgroup - first % kSubgroup; }

// Keys and the columns that were read ahead, of the subgroup's pairs, which begin at row `first` of the result.
void write_first(uint first, Found found) {
  uint ranks = 0u;
  for (uint window = 0u; window < num_windows(first, found); ++window) {
    uint begin = window_begin(first, window);
    uint at = row_of_pair(found, begin, ranks);
    uint pair = begin + gl_SubgroupInvocationID;
    if (pair < found.total) {
      write_value(push.keys_out, kKeysOut, first + pair, shared_value(kPairKeys, kKeysOut, at));
      write_value(push.probe.target, kProbeWords, first + pair, shared_value(kProbeValues, kProbeWords, at));
      uint place = scratch[kStarts + at] + pair;
      write_value(push.build.target, kBuildWords, first + pair, shared_value(kBuildValues, kBuildWords, place));
    }
  }
}

// Writes one word of another column, which is staged by place or by number of the probe row.
void write_staged(JoinedColumn column, uint word, uint first, Found found) {
  bool is_build = column.side == kFromBuild;
  uint ranks = 0u;
  for (uint window = 0u; window < num_windows(first, found); ++window) {
    uint begin = window_begin(first, window);
    uint at = row_of_pair(found, begin, ranks);
    uint pair = begin + gl_SubgroupInvocationID;
    if (pair < found.total) {
      if (is_build) at = scratch[kStarts + at] + pair;
      Words(column.target).at[(first + pair) * column.words + word] = scratch[kStage + at];
    }
  }
}

// Stages one word of a column. Called by all.
void stage(JoinedColumn column, uint word, JoinTask task, Found found, uint places[kItems]) {
  bool is_build = column.side == kFromBuild;
  uint begin = is_build ? task.build_begin : task.probe_begin;
  uint rows = is_build ? task.build_rows : task.probe_rows;
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = begin + min(i * kGroup + thread_index(), rows - 1u);
    values[i] = InputWords(column.source).at[row * column.words + word];
  }
  barrier();
  uint rank = found.rank;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (is_build) {
      scratch[kStage + places[i]] = values[i];
    } else if (found.matches[i] != 0u) {
      scratch[kStage + rank++] = values[i];
    }
  }
  barrier();
}

// Marks the build rows whose key has kMarked where its rows begin. Called by all, after the look-ups and a barrier.
void mark_build_rows(JoinTask task, bool is_listed) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    bool is_marked = false;
    if (row < task.build_rows) {
      uint first = is_listed ? look_up(chunk_key(row), is_listed) & kRowMask12 : row;
      is_marked = (scratch[first] & kMarked) != 0u;
    }
    set_marks(marks().source, task.build_begin + i * kGroup, is_marked);
  }
}

// Called by all, after a barrier.
void join(JoinTask task) {
  uint thread = thread_index();
  // All that is read of most joins, before anything waits for it.
  uvec2 keys[kItems];
  uvec2 build_values[kItems];
  uvec2 probe_values[kItems];
  load_values(push.probe_keys, kWords, task.probe_begin, task.probe_rows, keys);
  load_values(push.build.source, kBuildWords, task.build_begin, task.build_rows, build_values);
  load_values(push.probe.source, kProbeWords, task.probe_begin, task.probe_rows, probe_values);
  load_chunk(push.build_keys, task.build_begin, task.build_rows);
  if (kMarksBuild) {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) scratch[i * kGroup + thread] = 0u;
  }
  if (thread == 0u) num_pairs = 0u;
  barrier();
  uint places[kItems];
  bool is_listed = build_table(task.build_rows, places);
  uint matches[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    matches[i] = i * kGroup + thread < task.probe_rows ? look_up(keys[i], is_listed) : 0u;
    if (kMarksBuild && matches[i] != 0u) atomicOr(scratch[matches[i] & kRowMask12], kMarked);
  }
  if (kMarksProbe) mark_probe_rows(task, matches);
  if (kMarksBuild) {
    barrier();
    mark_build_rows(task, is_listed);
  }
  Found found;
  number_pairs(matches, found);
  uint before = 0u;  // pairs of the task that go before the subgroup's
  if (subgroupElect()) before = atomicAdd(num_pairs, found.total);
  before = subgroupBroadcastFirst(before);
  barrier();
  if (num_pairs == 0u) return;
  if (thread == 0u) first_row = take_places(num_pairs);
  uint rank = found.rank;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    share_value(kBuildValues, kBuildWords, places[i], build_values[i]);
    if (matches[i] == 0u) continue;
    scratch[kStarts + rank] = (matches[i] & kRowMask12) - found.pairs[i];
    share_value(kPairKeys, kKeysOut, rank, keys[i]);
    share_value(kProbeValues, kProbeWords, rank, probe_values[i]);
    ++rank;
  }
  barrier();
  if (first_row == kNoPlace) return;
  uint first = first_row + before;
  write_first(first, found);
  for (uint c = 0u; c < push.num_columns; ++c) {
    JoinedColumn column = Columns(push.columns).at[c];
    for (uint word = 0u; word < column.words; ++word) {
      stage(column, word, task, found, places);
      write_staged(column, word, first, found);
    }
  }
}

void main() {
  uint num_tasks = Words(push.dispatch).at[3];
  uint first = begin_of_share(push.first_share, push.shares, num_tasks);
  uint end = begin_of_share(push.end_share, push.shares, num_tasks);
  for (uint number = first + group_index(); number < end; number += gl_NumWorkGroups.x * gl_NumWorkGroups.y) {
    barrier();
    join(Tasks(push.tasks).at[number]);
  }
}
