// The columns of a join's result: which, from where, under what name.
#pragma once

#include <cstddef>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/types.hpp"

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
  std::vector<std::string> names;    ///< of the result's columns
};

/// Resolves names. Result columns keep their names; a right column whose name an earlier column has gets the suffix
/// `_right`, repeated until it is free.
/// Errors: usage (not exactly one key pair, an empty column list), invalid_input (unknown or ambiguous column).
Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec);

}  // namespace garuda::resolve
