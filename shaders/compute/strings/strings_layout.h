// The layout on which the passes over strings in device memory and the C++ that records them agree.
#ifndef GARUDA_SHADERS_STRINGS_LAYOUT_H
#define GARUDA_SHADERS_STRINGS_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

const uint kNoString = 0xffffffffu;

/// Strings that lie together. A column's strings are those of one piece after another, numbered from 0 on.
struct StringPiece {
  device_address offsets;  // a u32 a string, and where the last one ends
  device_address bytes;    // that the offsets count, and a word more
  device_address valid;    // a bit a string: it is a value, no null of a dictionary; 0: all are
  uint first;              // number of its first string
  uint target;             // the number that this string has among those of several columns
};

/// The strings of a column. Numbers from num_strings on, as null rows may have, stand for strings without bytes.
struct StringsView {
  device_address pieces;  // num_pieces × StringPiece
  uint num_pieces;
  uint num_strings;
};

/// Bytes of the strings of num_rows rows.
struct StringLengthsPush {
  StringsView strings;
  device_address numbers;  // num_rows × u32
  device_address nulls;    // num_rows × u32, of which null_mask says that there is no value; 0: each has one
  device_address lengths;  // num_rows × u32
  uint null_mask;
  uint num_rows;
};

/// The bytes of these strings behind one another.
struct CopyStringsPush {
  StringsView strings;
  device_address numbers;  // num_rows × u32
  device_address offsets;  // (num_rows + 1) × u32: sums of the lengths
  device_address target;   // the bytes, in whole words
  uint num_rows;
  uint num_bytes;  // at least 1
};

/// A hash a string, of which `mask` is kept.
struct HashStringsPush {
  StringsView strings;
  device_address hashes;  // num_strings × u32
  uint mask;
  uint padding;
};

/// The number of a string that is equal to each, one for all that are equal.
struct NumberStringsPush {
  StringsView strings;
  device_address hashes;   // num_strings × u32
  device_address slots;    // mask + 1 × u32, all kNoString; more than strings
  device_address numbers;  // num_strings × u32
  uint mask;
  uint padding;
};

/// The numbers that num_rows rows have among the strings of several columns: numbers[target], or target itself.
struct StringKeysPush {
  StringsView strings;     // of the column
  device_address rows;     // num_rows × u32: number of a row's string; 0: that of the row
  device_address numbers;  // u32 by target; 0: none
  device_address keys;     // num_rows × u32
  uint num_rows;
  uint padding;
};

GARUDA_SHADER_END

#endif
