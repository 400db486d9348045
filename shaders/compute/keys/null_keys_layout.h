// What the pass that gives null keys a value and the C++ that records it agree on.
#ifndef GARUDA_SHADERS_NULL_KEYS_LAYOUT_H
#define GARUDA_SHADERS_NULL_KEYS_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

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
