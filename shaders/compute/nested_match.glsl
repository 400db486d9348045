// Whether a build row and a probe row match: by one or two comparisons that the pipeline is made for, or by a program
// that all invocations step through together. Includers declare `condition` as a macro for the NestedCondition.

layout(constant_id = 24) const uint kComparisons = 1u;
layout(constant_id = 25) const uint kFirstComparator = 0u;
layout(constant_id = 26) const uint kSecondComparator = 0u;
layout(constant_id = 27) const uint kFirstWords = 1u;
layout(constant_id = 28) const uint kSecondWords = 1u;
layout(constant_id = 29) const uint kSameProbe = 0u;
layout(constant_id = 30) const uint kSameBuild = 0u;

// Words of the two columns of a row that its comparisons read.
struct RowWords {
  uvec2 first;
  uvec2 second;
};

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

RowWords probe_words(uint row) {
  RowWords words = RowWords(uvec2(0u), uvec2(0u));
  if (kComparisons == kProgram) return words;
  words.first = load_word(condition.probe_first, kFirstWords, row);
  words.second = words.first;
  if (kComparisons == 2u && kSameProbe == 0u) words.second = load_word(condition.probe_second, kSecondWords, row);
  return words;
}

RowWords build_words(uint row) {
  RowWords words = RowWords(uvec2(0u), uvec2(0u));
  if (kComparisons == kProgram) return words;
  words.first = load_word(condition.build_first, kFirstWords, row);
  words.second = words.first;
  if (kComparisons == 2u && kSameBuild == 0u) words.second = load_word(condition.build_second, kSecondWords, row);
  return words;
}

bool is_match(RowWords build, RowWords probe) {
  bool first = compare(kFirstComparator, kFirstWords, build.first, probe.first);
  if (kComparisons == 1u) return first;
  bool second = compare(kSecondComparator, kSecondWords, build.second, probe.second);
  return first && second;
}

uint step_word(uint index) { return InputWords(condition.program).at[index]; }

uvec2 operand(uint index, uint words, uint probe_row, uint build_row) {
  uint source = step_word(index);
  uvec2 value = uvec2(step_word(index + 1u), step_word(index + 2u));
  if (source == kConstantOperand) return value;
  return load_word(value, words, source == kProbeOperand ? probe_row : build_row);
}

// Results are bits, the last one lowest.
bool program_holds(uint probe_row, uint build_row) {
  uint results = 0u;
  for (uint s = 0u; s < condition.num_steps; ++s) {
    uint index = s * kStepWords;
    uint kind = step_word(index);
    if (kind == kStepCompare) {
      uint words = step_word(index + 2u);
      uvec2 a = operand(index + 3u, words, probe_row, build_row);
      uvec2 b = operand(index + 6u, words, probe_row, build_row);
      results = results << 1 | (compare(step_word(index + 1u), words, a, b) ? 1u : 0u);
    } else {
      uint last = results & 1u;
      results >>= 1;
      results = kind == kStepAll ? results & (last | ~1u) : results | last;
    }
  }
  return (results & 1u) != 0u;
}
