// The columns of a join's result: which, from where, under what name.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/types.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::resolve {

struct OutputColumn {
  Side side = Side::left;
  std::size_t column = 0;  ///< position in that side's schema
};

/// A JoinSpec resolved against two schemas.
struct ResolvedJoin {
  std::size_t left_key = 0;
  std::size_t right_key = 0;
  std::vector<OutputColumn> output;  ///< in the order of the result
  bool has_mark = false;             ///< behind them stands the boolean of a mark join
  std::vector<std::string> names;    ///< of the result's columns
  contract::JoinParts parts;
  /// The key is one column, in the common type: the left key, or the right one in rows without a left row. nullopt: key
  /// columns are those of their tables.
  std::optional<DataType> shared_key_type;

  bool is_shared_key(OutputColumn const& column) const noexcept {
    return shared_key_type && column.side == Side::left && column.column == left_key;
  }
};

/// Errors: usage, for right columns of a join whose result has none.
Result<void> check_sides(JoinSpec const& spec);

/// Resolves names. Result columns keep their names; a right column whose name an earlier column has gets the suffix
/// `_right`, repeated until it is free; the column `mark` counts as a right one.
/// Errors: usage (not exactly one key pair, an empty column list), invalid_input (unknown or ambiguous column), those
/// of check_sides and common_key_type.
Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec);

}  // namespace garuda::resolve
