// Tables with a column of every kind that can be compared, for tests of conditions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "garuda/condition.hpp"
#include "garuda/table.hpp"

namespace garuda::testing {

struct MixedTable {
  std::uint64_t rows = 0;
  std::uint64_t batch_rows = 0;  ///< 0: one batch
  std::uint64_t keys = 8;        ///< different ones; an eighth of the rows has none
  std::uint64_t nulls_in_8 = 1;  ///< so many of eight values are null; 0: no column but the key has nulls

  /// Columns: `k`, the key, `n`, the number of the row, and mixed_columns(), whose values are few, so that equal ones
  /// are frequent, and of both signs, with the ends of their types among them.
  Table build(std::uint64_t seed) const;
};

/// Tables without rows, of one, of one batch and of several, of many keys and of one, of nulls alone.
std::vector<MixedTable> mixed_shapes();

/// Names of the columns of a mixed table beside `k` and `n`.
std::vector<std::string> mixed_columns();

/// Constants that a column compares with: some of its values, some between two, some beyond all.
std::vector<Constant> mixed_constants(std::string const& column);

/// A condition of up to `comparisons` comparisons, of any columns and constants that compare, with and, or and not.
Condition mixed_condition(Schema const& schema, std::size_t comparisons, std::uint64_t seed);

}  // namespace garuda::testing
