#include "core/dictionary.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/variable_value.hpp"

namespace garuda {
namespace {

struct SameMemory {
  bool operator()(ArrayView const& a, ArrayView const& b) const noexcept {
    return a.length == b.length && a.offset == b.offset && a.validity == b.validity && a.offsets == b.offsets &&
           a.values == b.values;
  }
};

struct HashOfMemory {
  std::size_t operator()(ArrayView const& array) const noexcept {
    // Dictionaries of one value each may lie in one buffer, behind different offsets.
    return std::hash<void const*>{}(array.offsets == nullptr ? array.values : array.offsets) * 31 +
           static_cast<std::size_t>(array.offset);
  }
};

/// The dictionary of all arrays; nullptr: there are several, or no arrays.
ArrayView const* one_dictionary(std::span<ArrayView const> arrays) {
  if (arrays.empty()) return nullptr;
  auto const* const first = arrays.front().dictionary;
  bool const is_one = std::ranges::all_of(arrays, [&](ArrayView const& array) {
    return array.dictionary == first || SameMemory{}(*array.dictionary, *first);
  });
  return is_one ? first : nullptr;
}

}  // namespace

std::vector<ArrayView> column_arrays(TableView const& table, std::size_t column) {
  std::vector<ArrayView> arrays;
  for (std::size_t b = 0; b < table.num_batches(); ++b) arrays.push_back(table.batch(b).columns[column]);
  return arrays;
}

DistinctDictionaries distinct_dictionaries(std::span<ArrayView const> arrays) {
  DistinctDictionaries distinct;
  std::unordered_map<ArrayView, std::size_t, HashOfMemory, SameMemory> positions;
  for (auto const& array : arrays) {
    GARUDA_EXPECTS(array.dictionary != nullptr);
    auto const [position, is_new] = positions.try_emplace(*array.dictionary, distinct.dictionaries.size());
    if (is_new) distinct.dictionaries.push_back(*array.dictionary);
    distinct.of_array.push_back(position->second);
  }
  return distinct;
}

ArrayView const* one_ascending_dictionary(std::span<ArrayView const> arrays) {
  auto const* const one = one_dictionary(arrays);
  return one != nullptr && one->ascends ? one : nullptr;
}

bool have_one_distinct_dictionary(std::span<ArrayView const> arrays, DataType const& value_type) {
  constexpr std::int64_t kMostValues = std::int64_t{1} << 12;
  auto const* const one = one_dictionary(arrays);
  if (one == nullptr || one->ascends) return one != nullptr;
  if (type_row(value_type.id).family != TypeFamily::bytes || one->length > kMostValues || count_nulls(*one) > 0)
    return false;
  std::unordered_set<std::string_view> seen;
  for (std::int64_t i = 0; i < one->length; ++i)
    if (!seen.insert(bytes_at(*one, value_type, one->offset + i)).second) return false;
  return true;
}

}  // namespace garuda
