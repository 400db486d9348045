// Reads single cells of Arrow columns, for the oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "garuda/table.hpp"

namespace garuda::reference {

/// Row `row` of `array`, counted from its offset, as text; the forms are those of `Cell`. nullopt: null.
/// Throws std::runtime_error for types that have no text form here.
std::optional<std::string> read_cell(DataType const& type, ArrayView const& array, std::int64_t row);

/// The number of the column called `name`. Throws std::runtime_error where there is none.
std::size_t column_named(TableView table, std::string const& name);
std::size_t column_named(Schema const& schema, std::string const& name);

}  // namespace garuda::reference
