// The columns of a join's result with their sides and names, and the resolved join that drivers take.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/condition_columns.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/resolve/built_side.hpp"

namespace garuda::resolve {

struct OutputColumn {
  Side side = Side::left;
  std::size_t column = 0;  ///< position in that side's schema
};

/// Columns that must be equal.
struct KeyPair {
  std::size_t left = 0;
  std::size_t right = 0;
  DataType type;             ///< of a column with the keys of both
  bool has_strings = false;  ///< both columns are of strings or binary, or views of them

  std::size_t of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// Most pairs of key columns.
inline constexpr std::size_t kMostKeys = 16;

/// A JoinSpec resolved against two schemas.
struct ResolvedJoin {
  std::vector<KeyPair> keys;         ///< no column in two of them; none: rows match by a condition alone
  std::vector<OutputColumn> output;  ///< in the order of the result
  bool has_mark = false;             ///< behind them stands the boolean of a mark join
  std::vector<std::string> names;    ///< of the result's columns
  contract::JoinParts parts;
  /// The keys of both sides are one column, in the common type: the left key, or the right one in rows without a left
  /// row. False: key columns are those of their tables.
  bool shares_keys = false;
  StringForm strings = StringForm::utf8;  ///< of the result
  std::optional<expr::ResolvedCondition> condition{};

  /// Position of the key pair that has a column of the result; nullopt: none has it.
  std::optional<std::size_t> key_of(OutputColumn const& column) const noexcept {
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (keys[k].of(column.side) == column.column) return k;
    return std::nullopt;
  }
  /// key_of() where the keys of both sides are one column; else nullopt.
  std::optional<std::size_t> shared_key(OutputColumn const& column) const noexcept {
    return shares_keys && column.side == Side::left ? key_of(column) : std::nullopt;
  }
  /// Type of the column with the keys of both sides. Keys that become strings only there, as dictionaries do, are no
  /// views yet.
  DataType shared_key_type(std::size_t key) const {
    return keys[key].has_strings ? in_form(keys[key].type, strings) : keys[key].type;
  }
  std::vector<std::size_t> key_columns(Side side) const {
    std::vector<std::size_t> columns;
    for (auto const& pair : keys) columns.push_back(pair.of(side));
    return columns;
  }
};

/// Positions of a build side's key columns. Errors: usage (none, more than kMostKeys, one twice), invalid_input
/// (unknown or ambiguous column, a type that is no key).
Result<std::vector<std::size_t>> resolve_build_keys(Schema const& schema, std::vector<std::string> const& names);

/// Checks that there are keys, a condition, or leave to do without. Errors: usage.
Result<void> check_matching(JoinSpec const& spec);

/// Checks that no right column is asked for where the result of this kind of join has none. Errors: usage.
Result<void> check_sides(JoinSpec const& spec);

/// Resolves names. Result columns keep their names; a right column whose name an earlier column has gets the suffix
/// `_right`, repeated until it is free; the column `mark` counts as a right one.
/// Errors: usage (no key pair, nor a condition, nor leave to do without; more than kMostKeys, a column in two of them,
/// an empty column list), invalid_input (unknown or ambiguous column), those of check_sides, common_key_type and
/// resolve_condition.
Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec);

/// A join resolved against its tables, and the devices that it may run on. The views and `devices` refer to objects
/// that outlive every result.
struct JoinRequest {
  TableView left;
  TableView right;
  JoinSpec spec;
  ResolvedJoin columns;
  JoinOptions options;
  contract::DeviceSet* devices = nullptr;
  std::vector<std::string> notes{};  ///< for the plan: what was decided before
  /// The right side, where it was made before; it has the key columns in the order of `columns`.
  std::shared_ptr<BuiltSide const> build{};

  TableView const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The columns of a side that the join reads, each once, ascending: resolved against them alone, it is the same join.
/// Errors: invalid_input, for names of the condition.
Result<std::vector<std::size_t>> columns_read(JoinRequest const& request, Side side);

}  // namespace garuda::resolve
