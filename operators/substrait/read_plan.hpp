// Plans of Substrait as queries.
#pragma once

#include <cstddef>
#include <span>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/substrait.hpp"

namespace garuda::substrait {

/// The query of a plan, a binary message `substrait.Plan` of versions 0.20 to 0.x with one relation, its columns named
/// as the plan's root names them. The tables that `find` gives must outlive the query.
/// Errors: usage for a version, relation, expression, function or type that queries do not have, naming it;
/// invalid_input for bytes that are no plan, or that are nested more than 256 levels deep, an unknown table or column,
/// or a column of another type than the plan reads.
Result<Query> read_plan(std::span<std::byte const> plan, FindTable const& find);

}  // namespace garuda::substrait
