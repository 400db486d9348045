// What a row adds to which accumulator pixel. Needs ids, validity.glsl and values.glsl.
#ifndef GARUDA_GROUP_BY_SUM_ROWS_GLSL
#define GARUDA_GROUP_BY_SUM_ROWS_GLSL

#include "sum_pixels.glsl"

// The magnitude of window number `instance` (0 or 1) of the row's value. False when the row adds nothing there.
bool window_of(uint row, uint instance, out uint pixel, out uvec2 magnitude, out bool negative) {
  Parts parts = load_parts(row);
  magnitude = instance == 0u ? parts.words.xy : parts.words.zw;
  negative = parts.negative;
  pixel = 0u;
  if (!is_valid(row) || (magnitude.x | magnitude.y) == 0u) return false;
  GroupWindows windows = windows_of(ids[row]);
  pixel = windows.first + (parts.window + instance - windows.lowest) * windows.lanes + row % windows.lanes;
  return true;
}

#endif
