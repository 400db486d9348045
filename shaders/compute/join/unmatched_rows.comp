#version 450
#extension GL_GOOGLE_include_directive : require
// Unmatched rows of one side of a join, or its matched ones, or all, in their order. COUNT: how many there are in each
// block. WRITE: their columns, behind those of the blocks before.
//
// Buffers: UnmatchedRowsPush, by address. Invocation: kItems rows of a block, kGroup apart. Writes: counts (COUNT), the
// columns' targets (WRITE), which have room for all of them.

#include "marked_rows_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { UnmatchedRowsPush push; };

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { UnmatchedColumn at[]; };

const uint kBlockRows = kGroup * kItems;
const uint kBlockWords = (kBlockRows + 31u) / 32u;

shared uint chosen[kBlockWords];  // a bit a row of the block
shared uint before[kBlockWords];  // rows that come before those of a word

bool is_marked(uint row) { return (InputWords(push.marks).at[row / 32u] >> row % 32u & 1u) != 0u; }

// A word of the rows that are chosen by the bitmap, or of all; no rows past the end.
uint chosen_word(uint begin) {
  if (begin >= push.num_rows) return 0u;
  uint bits = push.rows == kRowsAll ? 0xffffffffu : InputWords(push.marks).at[begin / 32u];
  if (push.rows == kRowsUnmarked) bits = ~bits;
  uint rest = push.num_rows - begin;
  return rest < 32u ? bits & ((1u << rest) - 1u) : bits;
}

// Finds the block's rows; returns how many. Called by all; a barrier follows.
uint choose_rows(uint begin) {
  uint sum = 0u;
  for (uint first = 0u; first < kBlockWords; first += kGroup) {
    uint word = first + thread_index();
    uint bits = word < kBlockWords ? chosen_word(begin + word * 32u) : 0u;
    uint total;
    uint rows = block_exclusive_add(bitCount(bits), total);
    if (word < kBlockWords) {
      chosen[word] = bits;
      before[word] = sum + rows;
    }
    sum += total;
  }
  return sum;
}

#ifdef WRITE
void write_copy(UnmatchedColumn column, uint word, uint rows[kItems], uint targets[kItems]) {
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (targets[i] == 0xffffffffu) continue;
    uint row = rows[i];
    if (column.by_number != 0u) row = InputWords(push.numbers).at[row];
    values[i] = InputWords(advanced(column.source, word)).at[row * column.words];
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (targets[i] == 0xffffffffu) continue;
    uint value = column.operation == kUnmatchedBit ? (values[i] >> column.value & 1u) << column.to_bit : values[i];
    Words(advanced(column.target, word)).at[targets[i] * column.words] = value;
  }
}

void write_made(UnmatchedColumn column, uint word, uint rows[kItems], uint targets[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    if (targets[i] == 0xffffffffu) continue;
    uint value = column.value;
    if (column.operation == kUnmatchedMark) value = is_marked(rows[i]) ? 1u : 0u;
    if (column.operation == kUnmatchedRow) value = rows[i];
    Words(advanced(column.target, word)).at[targets[i] * column.words] = value;
  }
}
#endif

void main() {
  uint block = group_index();
  uint num_blocks = (push.num_rows - 1u) / kBlockRows + 1u;
  if (block >= num_blocks) return;
  uint begin = block * kBlockRows;
  uint count = choose_rows(begin);
#ifdef COUNT
  if (thread_index() == 0u) Words(push.counts).at[block] = count;
#else
  if (count == 0u) return;
  barrier();
  uint first = InputWords(push.firsts).at[block];
  uint rows[kItems];
  uint targets[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint at = i * kGroup + thread_index();
    uint word = chosen[at / 32u];
    rows[i] = begin + at;
    bool comes = (word >> at % 32u & 1u) != 0u;
    targets[i] = 0xffffffffu;
    if (!comes) continue;
    uint place = first + before[at / 32u] + bitCount(word & ((1u << at % 32u) - 1u));
    if (push.places != uvec2(0u)) place = InputWords(push.places).at[place];
    targets[i] = push.first_row + place;
  }
  for (uint c = 0u; c < push.num_columns; ++c) {
    UnmatchedColumn column = Columns(push.columns).at[c];
    bool has_source = column.operation == kUnmatchedCopy || column.operation == kUnmatchedBit;
    for (uint word = 0u; word < column.words; ++word) {
      if (has_source) {
        write_copy(column, word, rows, targets);
      } else {
        write_made(column, word, rows, targets);
      }
    }
  }
#endif
}
