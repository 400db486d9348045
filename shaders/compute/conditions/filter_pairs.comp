#version 450
#extension GL_GOOGLE_include_directive : require
// Tests a condition on pairs of rows, before anything of them is written.
//
// Buffers: FilterPairsPush, by address. Invocation: a pair each. Writes: marks of pairs, and of the rows of those that
// pass.

#include "conditions_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "../keys/column_values.glsl"
#include "../strings/strings.glsl"
#include "../keys/wide_numbers.glsl"
#include "compared_values.glsl"

layout(constant_id = 31) const uint kManyWords = 1u;
layout(push_constant) uniform Push { FilterPairsPush push; };
#define condition push
#define READ_VALUES
#include "condition_program.glsl"

void mark_row(uvec2 bitmap, uint row) {
  if (bitmap == uvec2(0u) || (Words(bitmap).at[row / 32u] >> row % 32u & 1u) != 0u) return;
  atomicOr(Words(bitmap).at[row / 32u], 1u << row % 32u);
}

void main() {
  uint pair = group_index() * kGroup + thread_index();
  bool is_pair = pair < push.num_pairs;
  uint left = is_pair ? InputWords(push.left_rows).at[pair] : 0u;
  uint right = is_pair ? InputWords(push.right_rows).at[pair] : 0u;
  bool passes = is_pair && program_holds(left, right);
  if (passes) {
    mark_row(push.left_marks, left);
    mark_row(push.right_marks, right);
  }
  uvec4 passing = subgroupBallot(passes);
  if (subgroupElect()) {
    uint first = group_index() * kGroup + gl_SubgroupID * kSubgroup;
    [[unroll]] for (uint word = 0u; word < (kSubgroup + 31u) / 32u; ++word) {
      if (passing[word] != 0u) atomicOr(Words(push.marks).at[first / 32u + word], passing[word] << first % 32u);
    }
  }
}
