// The layout on which the passes that mark rows with a key, and that take marked or other rows, agree with their C++.
#ifndef GARUDA_SHADERS_MARKED_ROWS_LAYOUT_H
#define GARUDA_SHADERS_MARKED_ROWS_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

const uint kNoSlot = 0xffffffffu;
const uint kSpecRepeats = 23u;  // whether two rows have a key is asked for (1)

/// A bit for each value from the least key to the greatest, and one for null behind all others. Sets those of the rows,
/// or marks the rows whose bit is set. The bit of a key is (key - least + base) & mask.
struct KeyBitmapPush {
  device_address keys;     // num_rows × kSpecWords
  device_address nulls;    // as is_null_row has them; 0: there are none
  device_address bitmap;   // null_slot + 1 bits
  device_address marks;    // TEST: a bit a row
  device_address chunks;   // PIECES: num_chunks × PartitionChunk, each of keys that have their bits in one piece
  device_address repeats;  // SET: u32, zeroed: 1 where two rows have a key
  uint null_mask;
  uint null_slot;  // kNoSlot: null is no key
  uint least_low;
  uint least_high;
  uint span;  // greatest - least, below kNoSlot - 1
  uint num_rows;
  uint base;
  uint mask;
  uint num_chunks;
};

// The rows that are written.
const uint kRowsMarked = 0u;
const uint kRowsUnmarked = 1u;
const uint kRowsAll = 2u;

// The values that a column of them gets.
const uint kUnmatchedCopy = 0u;  // the row's value
const uint kUnmatchedFill = 1u;  // every word `value`
const uint kUnmatchedBit = 2u;   // bit `value` of the row's word, as bit to_bit of a word that is else 0
const uint kUnmatchedMark = 3u;  // 1 where the row is marked, else 0
const uint kUnmatchedRow = 4u;   // the row

struct UnmatchedColumn {
  device_address source;  // of kUnmatchedCopy and kUnmatchedBit
  device_address target;
  uint words;
  uint operation;
  uint value;
  uint to_bit;
  uint by_number;  // 1: the source is in the order of the rows' numbers
  uint padding;
};

/// One block of kGroup × kItems rows a workgroup: counts the rows that come, or writes them.
struct UnmatchedRowsPush {
  device_address marks;    // a bit a row
  device_address numbers;  // num_rows × u32, or 0
  device_address counts;   // a block
  device_address firsts;   // their exclusive sums
  device_address columns;  // num_columns × UnmatchedColumn
  device_address places;   // u32 a row that comes: where in the columns, behind first_row; 0: one behind the other
  uint num_rows;
  uint num_columns;
  uint rows;       // which
  uint first_row;  // of the columns, for the first one
};

/// The places of the elements of one ascending list among those of another one, which has none of them.
struct MergedPlacesPush {
  device_address elements;  // num_elements × u32
  device_address others;    // num_others × u32
  device_address places;    // num_elements × u32
  uint num_elements;
  uint num_others;
};

GARUDA_SHADER_END

#endif
