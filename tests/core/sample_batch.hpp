// A batch with a column of every kind of layout, for tests of import and export.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/foreign_arrow.hpp"

namespace garuda::testing {

/// Columns of sample_batch.
enum SampleColumn : std::size_t { kInt, kText, kFlag, kWord, kBlob, kDecimal, kFixed, kSampleColumns };

/// Five rows, each column at an offset of its own, with and without nulls.
inline ForeignBatch sample_batch() {
  using Text = std::vector<std::optional<std::string>>;
  return ForeignBatch(
      foreign_fixed<std::int64_t>("int", "l", {1, -2, 3, -4, 5}, {true, false, true, true, false}, 3),
      foreign_text<std::int32_t>("text", "u", Text{"x", std::nullopt, "", "four", "5"}, 2),
      foreign_booleans("flag", {true, false, true, true, false}, {true, true, false, true, true}, 9),
      foreign_dictionary(foreign_fixed<std::int8_t>("word", "c", {0, 2, 99, 1, 0}, {true, true, false, true, true}, 1),
                         foreign_text<std::int32_t>("", "u", Text{"red", "green", std::nullopt}, 1)),
      foreign_text<std::int64_t>("blob", "Z", Text{"a", "bc", "def", "", "g"}),
      foreign_fixed<std::array<std::int64_t, 2>>("decimal", "d:20,3", {{1, 0}, {2, 0}, {-3, -1}, {4, 0}, {5, 0}}),
      foreign_fixed<std::array<char, 3>>(
          "fixed", "w:3", {{'a', 'b', 'c'}, {'d', 'e', 'f'}, {'g', 'h', 'i'}, {'j', 'k', 'l'}, {'m', 'n', 'o'}}, {},
          4));
}

}  // namespace garuda::testing
