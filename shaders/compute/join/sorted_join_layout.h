// The layout on which the passes of the join with a sorted build side and the C++ that records them agree.
#ifndef GARUDA_SHADERS_SORTED_JOIN_LAYOUT_H
#define GARUDA_SHADERS_SORTED_JOIN_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

/// A sorted build side and the index over its keys. All keys agree in the bits above `shift + index_bits`; entry p of
/// the index is the first row whose next index_bits bits are p or more.
struct SortedBuild {
  device_address keys;   // num_rows, ascending
  device_address index;  // (2^index_bits + 1) × u32
  uint num_rows;
  uint shift;
  uint index_bits;
  uint top_low;  // the bits above, of any key
  uint top_high;
};

/// Fills the index.
struct KeyIndexPush {
  SortedBuild build;
};

/// Finds the matches of every probe row: rows [first, first + count) of the sorted build side.
struct MatchRunsPush {
  SortedBuild build;
  device_address probe_keys;
  device_address firsts;  // num_probe × u32
  device_address counts;  // num_probe × u32
  uint num_probe;
};

/// Writes the columns of all pairs, if they fit.
struct ExpandRowsPush {
  device_address offsets;     // num_probe × u32: first pair of each probe row, modulo 2^32
  device_address total;       // (low, high): pairs there are
  device_address firsts;      // num_probe × u32
  device_address build_rows;  // row numbers in the order of the keys
  device_address probe_keys;
  device_address keys_out;  // where kSpecKeysOut says so
  device_address columns;   // num_columns × JoinedColumn, their sources in the order of the sides' rows
  uint num_probe;
  uint num_columns;
  uint capacity;  // rows that the columns hold
};

/// Marks rows that have a match. The build side takes two passes: the first rows of their keys, then all rows of these.
struct SortedMarksPush {
  device_address build_keys;  // ascending
  device_address firsts;
  device_address counts;
  device_address heads;  // bitmap over the sorted build rows
  device_address rows;   // row numbers of the side that is marked, or 0
  device_address marks;  // bitmap over row numbers
  uint num_rows;         // that the pass looks at
};

GARUDA_SHADER_END

#endif
