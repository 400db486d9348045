// Values of columns for rows of a result: target[i] = source[rows[i]], kItems rows an invocation, kGroup apart from `first`
// on. Included behind partitioned_join_layout.h, words.glsl and block.glsl.

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { JoinedColumn at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer InputPairs { uvec2 at[]; };

void gather_word(JoinedColumn column, uint word, uint rows[kItems], uint first, uint num_rows) {
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    values[i] = InputWords(advanced(column.source, word)).at[rows[i] * column.words];
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < num_rows) Words(advanced(column.target, word)).at[row * column.words] = values[i];
  }
}

void gather_pair(JoinedColumn column, uint rows[kItems], uint first, uint num_rows) {
  uvec2 values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = InputPairs(column.source).at[rows[i]];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < num_rows) Pairs(column.target).at[row] = values[i];
  }
}

void write_numbers(uvec2 target, uint rows[kItems], uint first, uint num_rows) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first + i * kGroup;
    if (row < num_rows) Words(target).at[row] = rows[i];
  }
}

/// Rows from num_rows on have no target; their sources are legal all the same.
void gather(JoinedColumn column, uint rows[kItems], uint first, uint num_rows) {
  if (column.words == 0u) {
    write_numbers(column.target, rows, first, num_rows);
  } else if (column.words == 2u) {
    gather_pair(column, rows, first, num_rows);
  } else {
    for (uint word = 0u; word < column.words; ++word) gather_word(column, word, rows, first, num_rows);
  }
}
