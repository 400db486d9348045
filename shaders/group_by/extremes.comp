#version 450
#extension GL_GOOGLE_include_directive : require
// Minima and maxima without blending: the pieces of extremes.vert by atomic maxima.
//
// Bindings: group ids, values, validity; pieces, zeroed before the first pass. Invocation: rows, all invocations
// apart. Writes: piece + 1 of the rows whose pieces above have not lost. Overflow: none.

#include "../shared/group_by_layout.h"
#include "../points/groups.glsl"
#include "local_words.glsl"
#include "group_pixels.glsl"
#include "validity.glsl"
#include "values.glsl"
#define PIECES_ACCESS
#include "extreme_pieces.glsl"

layout(push_constant) uniform Push { ExtremesPush push; };

void raise(uint group, bool is_max, uvec4 value) {
  uint first = first_piece(group, is_max);
  if (!is_candidate(value, push.piece, first)) return;
  uint piece = piece_of(value, push.piece) + 1u;
  if (kIsLocal) {
    uint word = 2u * group + (is_max ? 1u : 0u);
    if (piece > local_words[word]) atomicMax(local_words[word], piece);
  } else {
    atomicMax(pieces[first + push.piece], piece);
  }
}

void main() {
  if (kIsLocal) clear_local_words();
  if (kIsLocal) barrier();
  for (uint row = linear_invocation(); row < push.groups.num_rows; row += all_invocations()) {
    uint group;
    if (!is_valid(row) || !group_of(row, push.groups, group)) continue;
    uvec4 value = load_ordered(row);
    if ((push.sides & kSideMax) != 0u) raise(group, true, value);
    if ((push.sides & kSideMin) != 0u) raise(group, false, ~value);
  }
  if (!kIsLocal) return;
  barrier();
  for (uint word = gl_LocalInvocationID.x; word < 2u * push.groups.num_groups; word += kGroupSize) {
    if (local_words[word] != 0u) {
      atomicMax(pieces[first_piece(word / 2u, word % 2u != 0u) + push.piece], local_words[word]);
    }
  }
}
