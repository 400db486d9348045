// Accumulator pixels of the windows of groups. Declares binding kBindFirstPixels; needs values.glsl.
#ifndef GARUDA_GROUP_BY_SUM_PIXELS_GLSL
#define GARUDA_GROUP_BY_SUM_PIXELS_GLSL

#include "spans.glsl"

layout(set = 0, binding = kBindFirstPixels, std430) readonly buffer FirstPixels { uint first_pixels[]; };

// Windows of `group`, consecutive from `lowest`; window w has `lanes` pixels from first + (w - lowest) · lanes.
struct GroupWindows {
  uint first;
  uint lanes;
  uint lowest;
  uint windows;
};

GroupWindows windows_of(uint group) {
  GroupWindows found;
  found.first = first_pixels[group];
  found.lowest = 0u;
  found.windows = kValueKind == kKindInt128 ? 2u : 1u;
  if (kFloats) {
    uvec2 span = spans[group];
    found.lowest = lowest_window(span);
    found.windows = num_windows(span);
  }
  found.lanes = found.windows == 0u ? 1u : (first_pixels[group + 1u] - found.first) / found.windows;
  return found;
}

#endif
