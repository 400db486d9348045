// The layout shared by the passes that group the rows of a slice through one hash table and the C++ that records them.
#ifndef GARUDA_SHADERS_GROUPING_LAYOUT_H
#define GARUDA_SHADERS_GROUPING_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

// kSpecWords: words of packed keys, 1 or 2; 0: keys of several words, compared one by one.
const uint kSpecDirectSlots = 13u;  // 0: hash addresses, 1: direct addresses

// A slot of the table that no row has taken. Otherwise the first row seen of the slot's key.
const uint kFreeSlot = 0xffffffffu;

// Slots that a row looks at before it gives up. More than any cluster of evenly spread keys at the fill that tables
// have, and few enough for software drivers, which end loops.
const uint kMostProbes = 8192u;

/// Enters each row into the table.
struct EnterRowsPush {
  device_address keys;   // num_rows × kSpecWords u32, or num_words × num_rows u32, a word after another
  device_address table;  // slots × u32: kFreeSlot before
  device_address slots;  // num_rows × u32: slot of the row
  device_address lost;   // u32: 1 when a row found no slot
  uint num_rows;
  uint num_words;
  uint seed;     // of the hash
  uint mask;     // slots - 1; hash addresses
  uint min_low;  // direct addresses: slot = (key - minimum) >> shift
  uint min_high;
  uint shift;
};

/// Makes groups of slots: first rows, then dense numbers.
struct NumberRowsPush {
  device_address table;
  device_address slots;    // num_rows × u32: slot of the row, then the first row of its group
  device_address heads;    // num_rows × u32: 1 for first rows
  device_address offsets;  // exclusive sums of heads
  device_address ids;      // num_rows × u32: dense group ids
  device_address head_rows;
  uint num_rows;
};

GARUDA_SHADER_END

#endif
