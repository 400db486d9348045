// What the pass that changes the width of keys and the C++ that records it agree on.
#ifndef GARUDA_SHADERS_KEY_WIDTH_LAYOUT_H
#define GARUDA_SHADERS_KEY_WIDTH_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

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

GARUDA_SHADER_END

#endif
