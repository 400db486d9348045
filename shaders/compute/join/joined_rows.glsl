// The passes that write a join's rows have in common where a task's rows go, the columns that are read ahead, and
// the marks of rows that have a match.
// Included behind partitioned_join_layout.h, words.glsl, block.glsl, and the shared `scratch` of kChunk rows a column.

#include "task_shares.glsl"

layout(push_constant) uniform Push { JoinRowsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Tasks { JoinTask at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { JoinedColumn at[]; };

// Words of the columns that are read together with the keys, and of a key that is written.
layout(constant_id = 18) const uint kBuildWords = 0u;
layout(constant_id = 19) const uint kProbeWords = 0u;
layout(constant_id = 20) const uint kKeysOut = 1u;

layout(constant_id = 21) const uint kMarks = 0u;

const bool kMarksBuild = (kMarks & kMarkBuild) != 0u;
const bool kMarksProbe = (kMarks & kMarkProbe) != 0u;
const bool kMarksOnly = (kMarks & kMarkOnly) != 0u;
const uint kMarked = 0x80000000u;  // a row's bit in shared memory

const uint kNoPlace = 0xffffffffu;

shared uint num_pairs;
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

// Values of the rows begin + i · kGroup + thread_index(). Rows past the end repeat the last, so that loads need no
// branches; nothing uses them.
void load_values(uvec2 source, uint words, uint begin, uint rows, out uvec2 values[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = begin + min(i * kGroup + thread_index(), rows - 1u);
    values[i] = words == 2u ? Pairs(source).at[row] : words == 1u ? uvec2(InputWords(source).at[row], 0u) : uvec2(0u);
  }
}

uvec2 shared_value(uint first, uint words, uint at) {
  return uvec2(words > 0u ? scratch[first + at] : 0u, words > 1u ? scratch[first + kChunk + at] : 0u);
}

void write_value(uvec2 target, uint words, uint row, uvec2 value) {
  if (words == 2u) {
    Pairs(target).at[row] = value;
  } else if (words == 1u) {
    Words(target).at[row] = value.x;
  }
}

// The bitmaps: source of the build side's, target of the probe side's.
JoinedColumn marks() { return Columns(push.columns).at[push.num_columns]; }

// Marks rows `first` + thread_index() of a side. Called by all.
void set_marks(uvec2 bitmap, uint first, bool is_marked) {
  uvec4 marked = subgroupBallot(is_marked);
  if (subgroupElect()) {
    uint row = first + gl_SubgroupID * kSubgroup;
    [[unroll]] for (uint word = 0u; word < (kSubgroup + 31u) / 32u; ++word) {
      uint at = row / 32u + word;
      uint low = marked[word] << row % 32u;
      uint high = row % 32u == 0u ? 0u : marked[word] >> 32u - row % 32u;
      if (low != 0u) atomicOr(Words(bitmap).at[at], low);
      if (high != 0u) atomicOr(Words(bitmap).at[at + 1u], high);
    }
  }
}

// Called by all; `matches`: 0 for rows without one.
void mark_probe_rows(JoinTask task, uint matches[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    set_marks(marks().target, task.probe_begin + i * kGroup, matches[i] != 0u);
  }
}
