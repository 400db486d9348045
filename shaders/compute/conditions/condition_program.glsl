// Whether a pair of rows leaves the program of a condition true: comparisons of words whose order is that of the values.
// With READ_VALUES operands are columns and constants as a device keeps them, whose words are made as they are read, or
// that are compared by more than two of them (compared_values.glsl).
// Includers declare kManyWords, whether there are any, and `condition` as a macro for what has `program` and `num_steps`.

uvec2 load_word(uvec2 address, uint words, uint row) {
  return words == 1u ? uvec2(InputWords(address).at[row], 0u) : Pairs(address).at[row];
}

bool compare(uint comparator, uint words, uvec2 a, uvec2 b) {
  if (words == 1u) {
    if (comparator == kEqual) return a.x == b.x;
    if (comparator == kNotEqual) return a.x != b.x;
    if (comparator == kLess) return a.x < b.x;
    if (comparator == kLessEqual) return a.x <= b.x;
    if (comparator == kGreater) return a.x > b.x;
    return a.x >= b.x;
  }
  if (comparator == kEqual) return a == b;
  if (comparator == kNotEqual) return a != b;
  bool is_turned = comparator == kGreater || comparator == kLessEqual;
  uvec2 low = is_turned ? b : a;
  uvec2 high = is_turned ? a : b;
  bool is_below = low.y < high.y || (low.y == high.y && low.x < high.x);
  return is_below == (comparator == kLess || comparator == kGreater);
}

uint step_word(uint index) { return InputWords(condition.program).at[index]; }

#ifdef READ_VALUES
// As kOperandWords and those behind it say.
uvec2 value_read(uint form, uint words, uvec2 value) {
  if ((form & kOperandNulls) != 0u) return uvec2(~(value.x >> (form >> kOperandBitShift)) & 1u, 0u);
  bool is_narrow = words == 2u && (form & kOperandWide) == 0u;
  if (is_narrow) value.y = (form & kOperandSigned) != 0u && value.x >> 31 != 0u ? 0xffffffffu : 0u;
  return ordered_image(form & kOperandKind, value);
}

uvec2 operand(uint index, uint words, uint probe_row, uint build_row) {
  uint source = step_word(index) & kOperandSource;
  uint form = step_word(index) >> kOperandFormShift;
  uvec2 value = uvec2(step_word(index + 1u), step_word(index + 2u));
  if (source == kConstantOperand) return ordered_image(form & kOperandKind, value);
  uint stored = (form & kOperandWide) != 0u ? 2u : 1u;
  return value_read(form, words, load_word(value, stored, source == kProbeOperand ? probe_row : build_row));
}
#else
uvec2 operand(uint index, uint words, uint probe_row, uint build_row) {
  uint source = step_word(index);
  uvec2 value = uvec2(step_word(index + 1u), step_word(index + 2u));
  if (source == kConstantOperand) return value;
  return load_word(value, words, source == kProbeOperand ? probe_row : build_row);
}
#endif

// Results are bits, the last one lowest. Without steps every pair passes.
bool program_holds(uint probe_row, uint build_row) {
  uint results = condition.num_steps == 0u ? 1u : 0u;
  for (uint s = 0u; s < condition.num_steps; ++s) {
    uint index = s * kStepWords;
    uint kind = step_word(index);
    if (kind == kStepCompare) {
      uint words = step_word(index + 2u);
      uvec2 a = operand(index + 3u, words, probe_row, build_row);
      uvec2 b = operand(index + 6u, words, probe_row, build_row);
      results = results << 1 | (compare(step_word(index + 1u), words, a, b) ? 1u : 0u);
#ifdef READ_VALUES
    } else if (kManyWords != 0u && (kind == kStepCompareNumbers || kind == kStepCompareTexts)) {
      uvec2 a = uvec2(step_word(index + 4u), step_word(index + 5u));
      uvec2 b = uvec2(step_word(index + 7u), step_word(index + 8u));
      uint row_a = step_word(index + 3u) == kProbeOperand ? probe_row : build_row;
      uint row_b = step_word(index + 6u) == kProbeOperand ? probe_row : build_row;
      bool holds = compare_values(kind, step_word(index + 1u), a, row_a, b, row_b);
      results = results << 1 | (holds ? 1u : 0u);
#endif
    } else {
      uint last = results & 1u;
      results >>= 1;
      results = kind == kStepAll ? results & (last | ~1u) : results | last;
    }
  }
  return (results & 1u) != 0u;
}
