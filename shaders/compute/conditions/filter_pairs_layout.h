// What the pass that tests a condition on pairs and the C++ that records it agree on.
#ifndef GARUDA_SHADERS_FILTER_PAIRS_LAYOUT_H
#define GARUDA_SHADERS_FILTER_PAIRS_LAYOUT_H

#include "../keys/column_values_layout.h"
#include "../strings/strings_layout.h"
#include "nested_join_layout.h"

GARUDA_SHADER_BEGIN

// Steps are those of nested_join_layout.h, left rows on the probe side. An operand's source has its form above it: how
// the words that are compared are made of those that are stored.
const uint kOperandSource = 3u;
const uint kOperandFormShift = 2u;
const uint kOperandKind = 7u;     // of column_values_layout.h, of the type in which values are compared
const uint kOperandWide = 8u;     // two words are stored, else one
const uint kOperandSigned = 16u;  // one word is continued by its sign where two are compared, else by zeros
const uint kOperandNulls = 32u;   // 1 where the bit is not set that stands from kOperandBitShift on, else 0
const uint kOperandBitShift = 6u;

// Specialisation constant: some step compares what takes more than two words (1).
const uint kSpecManyWords = 31u;

// Steps that do: of each operand the source, and the address of what says how it is read, a NumberOperand or a
// TextOperand.
const uint kStepCompareNumbers = 3u;
const uint kStepCompareTexts = 4u;

/// A column of integers of one width, or a constant.
struct NumberOperand {
  device_address values;  // num_words × u32 a row; 0: a constant
  uint num_words;
  uint is_signed;
  uint is_scaled;  // 1: values are multiplied by the factor
  uint padding;
  uint factor[kNumberWords];  // of a constant its value
};

/// A column of strings or binary, or a constant, compared by the bytes.
struct TextOperand {
  device_address values;  // u32 a row, the number of its string, 0: a constant; of binary of one size its words
  StringsView strings;
  uint number;     // of a constant
  uint num_words;  // of binary of one size; 0: of strings
  uint num_bytes;  // of binary of one size
  uint padding;
};

/// Marks the pairs that leave the condition true, and their rows.
struct FilterPairsPush {
  device_address left_rows;   // num_pairs × u32
  device_address right_rows;  // the same
  device_address program;     // num_steps × kStepWords
  device_address marks;       // a bit a pair, zeroed
  device_address left_marks;  // a bit a row of the left table, zeroed; 0: not wanted
  device_address right_marks;
  uint num_steps;
  uint num_pairs;
};

GARUDA_SHADER_END

#endif
