// The windows that a float touches, and its special value. Needs values.glsl.
#ifndef GARUDA_GROUP_BY_SPAN_ROWS_GLSL
#define GARUDA_GROUP_BY_SPAN_ROWS_GLSL

struct Touched {
  bool any;  // false for zeros and special values
  uint low;
  uint high;
  uint special;
};

Touched touched_windows(uint row) {
  Parts parts = float_parts(load_value(row));
  bool low = (parts.words.x | parts.words.y) != 0u;
  bool high = (parts.words.z | parts.words.w) != 0u;
  return Touched(low || high, low ? parts.window : parts.window + 1u, high ? parts.window + 1u : parts.window,
                 parts.special);
}

#endif
