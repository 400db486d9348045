// Unsigned 64-bit sums as (low, high) pairs.
#ifndef GARUDA_POINTS_WIDE_GLSL
#define GARUDA_POINTS_WIDE_GLSL

uvec2 wide_add(uvec2 a, uvec2 b) {
  uint low = a.x + b.x;
  return uvec2(low, a.y + b.y + (low < a.x ? 1u : 0u));
}

uvec2 wide_subtract(uvec2 a, uvec2 b) {
  return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}

bool wide_less_equal(uvec2 a, uvec2 b) {
  return a.y < b.y || (a.y == b.y && a.x <= b.x);
}

#endif
