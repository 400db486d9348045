// The layout on which the passes that test conditions on pairs of rows and the C++ that records them agree.
#ifndef GARUDA_SHADERS_CONDITIONS_LAYOUT_H
#define GARUDA_SHADERS_CONDITIONS_LAYOUT_H

#include "../keys/column_values_layout.h"
#include "../strings/strings_layout.h"

GARUDA_SHADER_BEGIN

// Specialisation constants: the comparisons of a condition that is one or two of them, or kProgram.
const uint kSpecComparisons = 24u;
const uint kSpecFirstComparator = 25u;
const uint kSpecSecondComparator = 26u;
const uint kSpecFirstWords = 27u;   // u32 words of the columns of the first comparison
const uint kSpecSecondWords = 28u;  // of the second
const uint kSpecSameProbe = 29u;    // both comparisons read one column of the probe side (1)
const uint kSpecSameBuild = 30u;    // of the build side
const uint kProgram = 3u;

// Comparators: build word, comparator, probe word. In the order of garuda::Comparator.
const uint kEqual = 0u;
const uint kNotEqual = 1u;
const uint kLess = 2u;
const uint kLessEqual = 3u;
const uint kGreater = 4u;
const uint kGreaterEqual = 5u;

// Kinds of a step of a program, and what an operand is.
const uint kStepCompare = 0u;
const uint kStepAll = 1u;
const uint kStepAny = 2u;
const uint kProbeOperand = 0u;
const uint kBuildOperand = 1u;
const uint kConstantOperand = 2u;

/// Results that a program has at a time, at most: the bits of a word.
const uint kMostProgramDepth = 32u;

// A step is kStepWords u32: kind, comparator, words of the compared values; source, low and high word of the first
// operand's address or constant; the same of the second.
const uint kStepWords = 9u;

/// The condition by which rows are compared. Columns have 1 or 2 u32 a row.
struct NestedCondition {
  device_address probe_first;  // the first comparison's column of the probe side
  device_address probe_second;
  device_address build_first;
  device_address build_second;
  device_address program;  // num_steps × kStepWords
  uint num_steps;
  uint num_probe;
};

/// Adds to the counts of all probe rows the build rows [first_build, end_build) that match each. A workgroup takes
/// kGroup × kItems probe rows and chunk_rows build rows; workgroups of the same build rows follow each other.
struct NestedCountPush {
  NestedCondition condition;
  device_address counts;  // num_probe × u32
  uint first_build;
  uint end_build;
  uint chunk_rows;
  uint probe_groups;  // workgroups that take all probe rows
};

/// Writes the pairs of probe rows that have some, by probe row, then build row.
struct NestedPairsPush {
  NestedCondition condition;
  device_address rows;   // num_rows × (probe row, place of its first pair as i32, pairs): what is listed
  device_address probe;  // capacity × u32: probe rows of pairs
  device_address build;  // capacity × u32: their build rows
  uint num_rows;
  uint num_build;
  uint capacity;  // pairs that are kept; places below 0 or from here on are not
};

// Steps of filtered pairs are the above, left rows on the probe side. An operand's source has its form above it: how
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
