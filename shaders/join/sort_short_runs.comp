#version 450
#extension GL_GOOGLE_include_directive : require
// Sorts the runs of fewer than kMediumRun rows and lists the others.
//
// Bindings: offsets and bases of the runs, rows and keys of the runs, list of medium runs, list of long runs, sizes of
// the lists (zeroed before). Invocation: one per pixel; insertion sort, at most 31 entries. Writes: sorted runs; (begin,
// length, 0, 0) of medium runs and (begin, length) of long ones, in any order. Overflow: none, the lists have as many
// entries as the histogram of clashes says.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "run_entries.glsl"
#include "runs.glsl"

layout(push_constant) uniform Push { RunPush push; };
layout(set = 0, binding = kBindRunLists, std430) writeonly buffer MediumRuns { uvec4 medium_runs[]; };
layout(set = 0, binding = kBindLongRuns, std430) writeonly buffer LongRuns { uvec2 long_runs[]; };
layout(set = 0, binding = kBindListSizes, std430) buffer ListSizes { uint list_sizes[]; };  // medium, long, blocks

void insertion_sort(uint begin, uint end) {
  for (uint i = begin + 1u; i < end; ++i) {
    Entry entry = load_entry(i);
    uint hole = i;
    while (hole > begin) {
      Entry before = load_entry(hole - 1u);
      if (!entry_less(entry, before)) break;
      store_entry(hole, before);
      --hole;
    }
    if (hole != i) store_entry(hole, entry);
  }
}

void main() {
  uint pixel = linear_invocation();
  if (pixel >= push.num_pixels) return;
  uint begin = run_begin(pixel);
  uint end = run_end(pixel, push.num_pixels, push.num_rows);
  uint length = end - begin;
  if (length < kMediumRun) insertion_sort(begin, end);
  else if (length < kLongRun) medium_runs[atomicAdd(list_sizes[0], 1u)] = uvec4(begin, length, 0u, 0u);
  else long_runs[atomicAdd(list_sizes[1], 1u)] = uvec2(begin, length);
}
