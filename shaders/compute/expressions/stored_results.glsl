// Results of expressions, written to memory. Included behind run_expression.glsl.

void keep_result(ExpressionStep step, uvec4 value, bool has_value, uint row, inout uint null_bits) {
  if (step.function == kStore) {
    uint words = step.numbers.x & 0xffu;
    uvec2 address = element_at(step.value.xy, words, row);
    for (uint w = 0u; w < words; ++w) Words(address).at[w] = value[w];
  }
  if (step.function == kStoreTrue) Words(step.value.xy).at[row] = has_value ? value.x : 0u;
  if (step.function == kMarkNull && !has_value) null_bits |= 1u << step.numbers.x;
  if (step.function == kStoreNulls) {
    Words(step.value.xy).at[row] = null_bits;
    null_bits = 0u;
  }
}
