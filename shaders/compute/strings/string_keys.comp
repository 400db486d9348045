#version 450
#extension GL_GOOGLE_include_directive : require
// Strings of rows as words that are equal just where the strings are.
//
// Buffers: StringKeysPush, by address. Invocation: a row each. Writes: keys; those of null rows are some string's.

#include "strings_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "strings.glsl"

layout(push_constant) uniform Push { StringKeysPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uint key = push.rows == uvec2(0u) ? row : InputWords(push.rows).at[row];
  if (push.strings.num_strings == 0u || key >= push.strings.num_strings) key = 0u;
  if (push.strings.num_strings != 0u && push.numbers != uvec2(0u)) {
    StringPiece piece = Pieces(push.strings.pieces).at[piece_of(push.strings, key)];
    key = InputWords(push.numbers).at[piece.target + (key - piece.first)];
  }
  Words(push.keys).at[row] = key;
}
