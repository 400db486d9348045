// Tests of rows that files may answer by their statistics, before their rows are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/expression.hpp"

namespace garuda {

/// Values between two constants, in the order of comparisons: NaN is the greatest float, strings are ordered by bytes.
/// A bound that is not there lets every value pass on its side.
struct ValueRange {
  std::optional<Literal> least{};
  std::optional<Literal> greatest{};
  bool without_least = false;     ///< `least` itself does not lie in the range.
  bool without_greatest = false;  ///< `greatest` itself does not lie in the range.
};

/// A condition on the rows of one table: rows for which it is not true are not needed. A test that has no parts lets
/// every row pass where all of them must hold, and none where any of them must.
struct RowTest {
  enum class Kind : std::uint8_t {
    all,     ///< All of the parts hold.
    any,     ///< Any of the parts holds.
    column,  ///< The value of a column lies in one of the ranges, or is null where nulls pass.
  };

  Kind kind = Kind::all;
  std::vector<RowTest> parts{};
  std::string column{};
  std::vector<ValueRange> ranges{};
  bool or_null = false;

  /// Whether every row passes, whatever its values.
  bool passes_all() const noexcept { return kind == Kind::all && parts.empty(); }
};

/// How much of the files of a table was read: row groups, and bytes of them, where their format has row groups.
struct FilesRead {
  std::uint64_t row_groups = 0;
  std::uint64_t all_row_groups = 0;
  std::uint64_t bytes = 0;
  std::uint64_t all_bytes = 0;  ///< The columns that were not read count, too.
};

}  // namespace garuda
