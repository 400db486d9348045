#version 450
#extension GL_GOOGLE_include_directive : require
// The bytes of the strings of rows behind one another: a gather by row.
//
// Buffers: CopyStringsPush, by address. Invocation: kItems words of the target, kGroup apart, so that neither long
// strings nor many empty ones fall to one of them; it finds the rows of a word by binary search, between those of the
// workgroup's first and last byte. Writes: target, zeros behind the last byte of its last word.

#include "strings_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "strings.glsl"

layout(push_constant) uniform Push { CopyStringsPush push; };

shared uint tile_rows[2];

uint offset_of(uint row) { return InputWords(push.offsets).at[row]; }

// The row from `low` to `high` that has this byte.
uint row_of(uint byte, uint low, uint high) { return last_at_or_before(push.offsets, low, high, byte); }

uint target_word(uint first, uint last_row) {
  uint end = min(first + 4u, push.num_bytes);
  uint row = row_of(first, tile_rows[0], last_row);
  uint word = 0u;
  for (uint byte = first; byte < end;) {
    uint begin = offset_of(row);
    uint taken = min(end, offset_of(row + 1u)) - byte;
    Text text = text_of(push.strings, InputWords(push.numbers).at[row]);
    word |= leading_bytes(four_bytes(text, byte - begin), taken) << (byte - first) * 8u;
    byte += taken;
    if (byte < end) row = row_of(byte, row + 1u, last_row);
  }
  return word;
}

void main() {
  uint first_word = group_index() * kGroup * kItems;
  uint num_words = (push.num_bytes - 1u) / 4u + 1u;
  if (first_word >= num_words) return;
  if (thread_index() < 2u) {
    uint last_word = min(first_word + kGroup * kItems, num_words) - 1u;
    uint byte = thread_index() == 0u ? 4u * first_word : min(4u * last_word + 3u, push.num_bytes - 1u);
    tile_rows[thread_index()] = row_of(byte, 0u, push.num_rows - 1u);
  }
  barrier();
  for (uint i = 0u; i < kItems; ++i) {
    uint word = first_word + thread_index() + i * kGroup;
    if (word < num_words) Words(push.target).at[word] = target_word(4u * word, tile_rows[1]);
  }
}
