// How values of columns on a device are read and made keys: the kinds and passes that shaders and C++ agree on.
#ifndef GARUDA_SHADERS_COLUMN_VALUES_LAYOUT_H
#define GARUDA_SHADERS_COLUMN_VALUES_LAYOUT_H

#include "../../primitives/primitives_layout.h"
#include "../../shared/float_flags.h"

GARUDA_SHADER_BEGIN

// Narrow integers lie in a word with their sign.
const uint kColumnI32 = 0u;
const uint kColumnU32 = 1u;
const uint kColumnI64 = 2u;
const uint kColumnU64 = 3u;
const uint kColumnI128 = 4u;
const uint kColumnF32 = 5u;
const uint kColumnF64 = 6u;
const uint kColumnBits = 7u;  // of any width; equal where the bits are
const uint kColumnF16 = 8u;   // in a word

const uint kSpecColumnKind = 20u;
const uint kSpecNullableColumn = 21u;  // there are nulls (1)

/// Least and greatest of a column's values that are not null, as far as a subgroup has seen them.
struct ColumnRange {
  uint min_low;  // ordered images
  uint min_high;
  uint max_low;
  uint max_high;
  uint values;      // 1: there are values
  uint lowest_bit;  // of floats that are not 0: least position of a bit that is set, and one past the greatest
  uint highest_bit;
  uint first_position;  // and the positions of their mantissas
  uint last_position;
  uint flags;    // of floats: kFloatNan and the others
  uint numbers;  // 1: there are floats that are not 0
  uint padding;
};

/// Most words of an integer.
const uint kNumberWords = 8u;

/// Least and greatest of a column's integers of more than 64 bits, as far as a subgroup has seen them.
struct WideRange {
  uint least[kNumberWords];  // in two's complement, low word first
  uint greatest[kNumberWords];
  uint values;  // 1: there are some
};

/// Finds it.
struct WideRangePush {
  device_address values;  // num_words × u32 a row
  device_address nulls;   // 0: there are none
  device_address ranges;  // WideRange, one a subgroup
  uint null_mask;
  uint num_words;  // at most kNumberWords
  uint num_rows;
  uint rows_each;  // of a workgroup
};

/// Finds the range of a column.
struct ColumnRangePush {
  device_address values;
  device_address nulls;
  device_address ranges;  // ColumnRange, one a subgroup
  uint null_mask;
  uint num_rows;
  uint rows_each;  // of a workgroup
};

/// A key column and its place in the packed word.
struct PackedColumn {
  device_address values;
  device_address nulls;  // 0: there are none
  uint null_mask;
  uint kind;
  uint wide;  // 1: values of two words
  uint shift;
  uint min_low;  // of the ordered images
  uint min_high;
  uint mask_low;  // of the code: ordered image - minimum, + 1 where there are nulls, whose code is 0
  uint mask_high;
};

/// keys[row] = the codes of all columns, in kSpecWords words.
struct PackKeysPush {
  device_address columns;  // num_columns × PackedColumn
  device_address keys;
  uint num_columns;
  uint num_rows;
};

/// words[(first + w) × stride + row] = word w of a column's canonical value, 0 where it is null.
struct KeyWordsPush {
  device_address values;
  device_address nulls;  // 0: there are none
  device_address words;
  uint null_mask;
  uint source_words;  // of a value; in num_words, if these are more, continued by its sign or zeros
  uint num_words;
  uint is_signed;
  uint first_word;
  uint null_word;  // that says where there are nulls, its bit null_bit
  uint null_bit;
  uint stride;  // rows of a word
  uint num_rows;
};

/// target[row] = a key's value in another kind, as_kind: kColumnF32, kColumnF64, or its 64 bits times a factor.
struct ConvertKeysPush {
  device_address source;
  device_address target;
  uint kind;
  uint as_kind;
  uint factor_low;
  uint factor_high;
  uint num_rows;
};

const uint kAnyNullBit = 31u;

/// The nulls of a key column, and the bit that says so of the key.
struct KeyNulls {
  device_address nulls;  // num_rows × u32
  uint null_mask;
  uint bit;
};

/// words[row] = the bits of the columns that are null, and kAnyNullBit where one is.
struct KeyNullsPush {
  device_address columns;  // num_columns × KeyNulls
  device_address words;
  uint num_columns;
  uint num_rows;
};

/// A key column of the groups: from the packed words, or from the groups' first rows.
struct KeyColumnPush {
  PackedColumn column;
  device_address keys;    // of the groups: packed, or their numbers
  device_address rows;    // by group number: its first row; 0 for packed keys
  device_address target;  // num_words u32 a group
  device_address nulls;   // u32 a group: 1 where it is null; 0: there are none
  uint num_words;
  uint num_groups;
};

/// Writes keys in another number of words, 1, 2 or 4: cut, or continued by their sign or zeros; or in 8, continued.
struct KeyWidthPush {
  device_address source;    // num_rows × source_words
  device_address target;    // num_rows × target_words
  device_address nulls;     // num_rows × u32, of which null_mask says that the key is null; or 0
  device_address wide_row;  // u32: least row with a key, not null, that is cut to another value; or 0
  uint source_words;
  uint target_words;
  uint null_mask;
  uint is_signed;
  uint num_rows;
};

/// Copies keys of kSpecWords words, a value in place of those that are null; or only looks whether a key has the value.
struct NullKeysPush {
  device_address source;  // num_rows × kSpecWords
  device_address target;  // the same; 0: nothing is copied
  device_address nulls;   // num_rows × u32, of which null_mask says that the key is null; 0: none is
  device_address taken;   // u32, zeroed: 1 where another key has the value
  uint value_low;
  uint value_high;
  uint null_mask;
  uint num_rows;
};

GARUDA_SHADER_END

#endif
