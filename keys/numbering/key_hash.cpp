#include "keys/numbering/key_hash.hpp"

#include <vector>

#include "core/dictionary.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/codes/value_bytes.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {
namespace {

/// Types without codes: by the bytes of their values, as their dictionary would compare them.
Result<void> hash_values(KeyColumn const& column, std::span<std::uint64_t> hashes) {
  ValueBytes values;
  GARUDA_TRY_ASSIGN(auto const first_value, add_values(column, values));
  bool const is_dictionary = column.type.id == TypeId::dictionary;
  std::vector<std::uint64_t> of_dictionaries(is_dictionary ? values.size() : 0);
  auto const of_values = is_dictionary ? std::span(of_dictionaries) : hashes;
  values.for_each(0, values.size(),
                  [&](std::uint64_t i, auto const& bytes) { of_values[i] = bytes ? hash_bytes(*bytes) : kNullHash; });
  if (!is_dictionary) return {};
  std::size_t row = 0;
  for (std::size_t b = 0; b < column.arrays.size(); ++b) {
    auto const& array = column.arrays[b];
    visit_index_type(column.type.index, [&]<class Index>(Index*) {
      for (std::int64_t i = 0; i < array.length; ++i)
        hashes[row++] = array.is_null(i)
                            ? kNullHash
                            : of_values[first_value[b] + static_cast<std::uint64_t>(array.data<Index>()[i])];
    });
  }
  return {};
}

}  // namespace

Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes) {
  GARUDA_EXPECTS(as.id != TypeId::dictionary && hashes.size() == static_cast<std::size_t>(table.num_rows()));
  GARUDA_TRY_ASSIGN(auto keys, open_key_column(table, column, as, {}));
  if (!has_codes(as)) return hash_values(keys, hashes);
  AttributeReader const reader(std::move(keys), as);
  AttributeCodes codes;
  for (auto const& block : cut_row_blocks(table)) {
    reader.read(block, codes);
    for (std::size_t i = 0; i < codes.low.size(); ++i) hashes[block.first_row + i] = codes.hash(i);
  }
  return {};
}

}  // namespace garuda::keys
