// Dictionary columns: the types of their indices, and which dictionaries the batches of a column have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// Calls visit with a null pointer to the C++ type of a dictionary's indices, an integer type; returns what it returns.
template <class Visitor>
auto visit_index_type(TypeId id, Visitor const& visit) {
  return visit_integers(type_row(id).width, type_row(id).is_signed, visit);
}

/// The arrays of a column, a batch each.
std::vector<ArrayView> column_arrays(TableView const& table, std::size_t column);

/// The dictionaries of a column without repetition, in the order of their first arrays, and for each array which one it
/// has.
struct DistinctDictionaries {
  std::vector<ArrayView> dictionaries;
  std::vector<std::size_t> of_array;
};

/// Compares dictionaries by the memory that they refer to, not by their values: batches of one producer share one or
/// bring their own. Linear in the number of arrays. Requires: `arrays` are of a dictionary type.
DistinctDictionaries distinct_dictionaries(std::span<ArrayView const> arrays);

/// The dictionary of all arrays, whose values ascend: then their indices are equal, or less, when their values are.
/// nullptr: there is none such. Requires: `arrays` are of a dictionary type.
ArrayView const* one_ascending_dictionary(std::span<ArrayView const> arrays);

/// Whether all arrays have one dictionary whose values differ, so that their indices are equal where their values are:
/// it ascends, or has a few thousand texts or binaries at most, which are looked at. Requires: `arrays` are of a
/// dictionary type with such values.
bool have_one_distinct_dictionary(std::span<ArrayView const> arrays, DataType const& value_type);

}  // namespace garuda
