#include "keys/column_values.hpp"

#include <utility>

#include "core/dictionary.hpp"

namespace garuda::keys {

Result<ColumnValues> values_of(TableView table, std::size_t column) {
  ColumnValues values;
  auto const& type = table.schema()[column].type;
  auto const is_dictionary = type.id == TypeId::dictionary;
  std::vector<ArrayView> arrays;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (is_dictionary || array.length > 0) arrays.push_back(array);
  }
  if (is_dictionary) {
    auto distinct = distinct_dictionaries(arrays);
    std::vector<std::uint64_t> starts{0};
    for (auto const& dictionary : distinct.dictionaries)
      starts.push_back(starts.back() + static_cast<std::uint64_t>(dictionary.length));
    for (auto const which : distinct.of_array) values.first_value.push_back(starts[which]);
    arrays = std::move(distinct.dictionaries);
  }
  GARUDA_TRY_ASSIGN(values.bytes, ValueBytes::create(std::move(arrays), is_dictionary ? *type.value : type));
  return values;
}

}  // namespace garuda::keys
