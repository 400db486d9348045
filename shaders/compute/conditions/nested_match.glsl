// Whether a build row and a probe row match: by one or two comparisons that the pipeline is made for, or by a program
// that all invocations step through together. Includers declare `condition` as a macro for the NestedCondition.

#include "condition_program.glsl"

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

RowWords row_words(uvec2 first, uvec2 second, uint is_same, uint row) {
  RowWords words = RowWords(uvec2(0u), uvec2(0u));
  if (kComparisons == kProgram) return words;
  words.first = load_word(first, kFirstWords, row);
  words.second = words.first;
  if (kComparisons == 2u && is_same == 0u) words.second = load_word(second, kSecondWords, row);
  return words;
}

RowWords probe_words(uint row) { return row_words(condition.probe_first, condition.probe_second, kSameProbe, row); }
RowWords build_words(uint row) { return row_words(condition.build_first, condition.build_second, kSameBuild, row); }

bool is_match(RowWords build, RowWords probe) {
  bool first = compare(kFirstComparator, kFirstWords, build.first, probe.first);
  if (kComparisons == 1u) return first;
  bool second = compare(kSecondComparator, kSecondWords, build.second, probe.second);
  return first && second;
}
