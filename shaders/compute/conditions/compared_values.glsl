// Operands of a condition that are compared by more than two words: numbers in their scale, strings and binary by their
// bytes. Included behind conditions_layout.h, words.glsl, wide_numbers.glsl and strings.glsl.

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer NumberOperands {
  NumberOperand at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer TextOperands {
  TextOperand at[];
};

Number number_of(uvec2 address, uint row) {
  NumberOperand from = NumberOperands(address).at[0];
  Number factor = Number(from.factor);
  if (from.values == uvec2(0u)) return factor;
  Number stored = stored_number(from.values, from.num_words, from.is_signed != 0u, row);
  return from.is_scaled != 0u ? product(stored, factor) : stored;
}

Text compared_text(uvec2 address, uint row) {
  TextOperand from = TextOperands(address).at[0];
  if (from.num_words != 0u) return Text(element_at(from.values, from.num_words, row), 0u, from.num_bytes);
  return text_of(from.strings, from.values == uvec2(0u) ? from.number : InputWords(from.values).at[row]);
}

bool is_in_order(uint comparator, int order) {
  if (comparator == kEqual) return order == 0;
  if (comparator == kNotEqual) return order != 0;
  if (comparator == kLess) return order < 0;
  if (comparator == kLessEqual) return order <= 0;
  if (comparator == kGreater) return order > 0;
  return order >= 0;
}

// `kind`: of the step. Rows are those of the operands' sides.
bool compare_values(uint kind, uint comparator, uvec2 a, uint row_a, uvec2 b, uint row_b) {
  if (kind == kStepCompareNumbers) return is_in_order(comparator, order_of(number_of(a, row_a), number_of(b, row_b)));
  Text text_a = compared_text(a, row_a);
  Text text_b = compared_text(b, row_b);
  // Equality reads nothing of texts whose lengths differ.
  if (comparator == kEqual || comparator == kNotEqual) return are_equal(text_a, text_b) == (comparator == kEqual);
  return is_in_order(comparator, order_of(text_a, text_b));
}
