// Windows between the lowest and the highest one of a group. Declares binding kBindSpans.
#ifndef GARUDA_GROUP_BY_SPANS_GLSL
#define GARUDA_GROUP_BY_SPANS_GLSL

#include "../shared/group_by_layout.h"

layout(set = 0, binding = kBindSpans, std430) readonly buffer Spans { uvec2 spans[]; };

uint lowest_window(uvec2 span) { return span.x != 0u ? uint(findLSB(span.x)) : 32u; }

uint num_windows(uvec2 span) {
  bool top = (span.y & 1u) != 0u;
  if (span.x == 0u) return top ? 1u : 0u;
  return (top ? 32u : uint(findMSB(span.x))) + 1u - lowest_window(span);
}

#endif
