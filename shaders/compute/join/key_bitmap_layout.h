// What the passes over a bitmap of keys and the C++ that records them agree on.
#ifndef GARUDA_SHADERS_KEY_BITMAP_LAYOUT_H
#define GARUDA_SHADERS_KEY_BITMAP_LAYOUT_H

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

GARUDA_SHADER_END

#endif
