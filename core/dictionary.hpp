// Dictionary columns: the types of their indices, and which dictionaries the batches of a column have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// Calls visit with a null pointer to the C++ type of a dictionary's indices; returns what it returns.
template <class Visitor>
auto visit_index_type(TypeId id, Visitor const& visit) {
  switch (id) {
    case TypeId::int8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case TypeId::int16:
      return visit(static_cast<std::int16_t*>(nullptr));
    case TypeId::int32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case TypeId::int64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case TypeId::uint8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case TypeId::uint16:
      return visit(static_cast<std::uint16_t*>(nullptr));
    case TypeId::uint32:
      return visit(static_cast<std::uint32_t*>(nullptr));
    case TypeId::uint64:
      return visit(static_cast<std::uint64_t*>(nullptr));
    default:
      throw LogicError("dictionary index type is not an integer");
  }
}

/// The dictionaries of a column without repetition, in the order of their first arrays, and for each array which one it
/// has.
struct DistinctDictionaries {
  std::vector<ArrayView> dictionaries;
  std::vector<std::size_t> of_array;
};

/// Compares dictionaries by the memory that they refer to, not by their values: batches of one producer share one or
/// bring their own. Linear in the number of arrays. Requires: `arrays` are of a dictionary type.
DistinctDictionaries distinct_dictionaries(std::span<ArrayView const> arrays);

}  // namespace garuda
