// The two sides of a join, and their columns by name.
#pragma once

#include <array>
#include <cstddef>

#include "garuda/column_ref.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda {

inline constexpr std::array kSides{Side::left, Side::right};
constexpr Side other_side(Side side) noexcept { return side == Side::left ? Side::right : Side::left; }
/// The place of a side in kSides.
constexpr std::size_t side_index(Side side) noexcept { return side == Side::left ? 0 : 1; }

/// Returns the position of the column that `reference` names in the schema of its side. Errors: those of find_column,
/// naming the side.
Result<std::size_t> find_on_side(Schema const& schema, ColumnRef const& reference);

}  // namespace garuda
