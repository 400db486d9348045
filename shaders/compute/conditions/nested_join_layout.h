// What the passes of joins without keys and the C++ that records them agree on.
#ifndef GARUDA_SHADERS_NESTED_JOIN_LAYOUT_H
#define GARUDA_SHADERS_NESTED_JOIN_LAYOUT_H

#include "../../primitives/primitives_layout.h"

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

GARUDA_SHADER_END

#endif
