#version 450
#extension GL_GOOGLE_include_directive : require
// The pairs of listed probe rows, each of which has some.
//
// Buffers: NestedPairsPush, by address. Subgroup: kItems listed rows, the build rows side by side on its invocations.
// Writes: probe and build rows of pairs. Overflow: pairs whose place is outside the columns are left out.

#include "conditions_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { NestedPairsPush push; };
#define condition push.condition
#include "nested_match.glsl"

struct ListedRow {
  uint row;
  int place;  // of the next pair
  uint left;  // pairs to come
};

void main() {
  uint first = (group_index() * kSubgroups + gl_SubgroupID) * kItems;
  if (first >= push.num_rows) return;
  RowWords probe[kItems];
  ListedRow listed[kItems];
  uint left = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint entry = min(first + i, push.num_rows - 1u) * 3u;
    listed[i].row = InputWords(push.rows).at[entry];
    listed[i].place = int(InputWords(push.rows).at[entry + 1u]);
    listed[i].left = first + i < push.num_rows ? InputWords(push.rows).at[entry + 2u] : 0u;
    probe[i] = probe_words(listed[i].row);
    left += listed[i].left;
  }
  // `left` is the same in all invocations of a subgroup.
  for (uint begin = 0u; left > 0u && begin < push.num_build; begin += kSubgroup) {
    uint build_row = begin + gl_SubgroupInvocationID;
    bool is_row = build_row < push.num_build;
    RowWords build = build_words(min(build_row, push.num_build - 1u));
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      bool matches = is_row && listed[i].left > 0u;
      if (kComparisons == kProgram) {
        if (matches) matches = program_holds(listed[i].row, build_row);
      } else {
        matches = matches && is_match(build, probe[i]);
      }
      uvec4 ballot = subgroupBallot(matches);
      uint found = subgroupBallotBitCount(ballot);
      if (found == 0u) continue;
      int place = listed[i].place + int(subgroupBallotExclusiveBitCount(ballot));
      if (matches && place >= 0 && place < int(push.capacity)) {
        Words(push.probe).at[place] = listed[i].row;
        Words(push.build).at[place] = build_row;
      }
      listed[i].place += int(found);
      listed[i].left -= found;
      left -= found;
    }
  }
}
