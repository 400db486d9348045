#include "keys/given_codes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "keys/codes/byte_coding.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
namespace {

std::int64_t rows_of(KeyColumn const& column) {
  std::int64_t rows = 0;
  for (auto const& array : column.arrays) rows += array.length;
  return rows;
}

/// The columns whose values are coded: all, or the one with by far fewer rows; those of the other are then read once
/// instead of twice.
std::span<KeyColumn const> columns_to_code(std::span<KeyColumn const> columns) {
  constexpr std::int64_t kMany = 8;
  for (std::size_t c = 0; columns.size() == 2 && c < 2; ++c)
    if (rows_of(columns[1 - c]) / kMany >= rows_of(columns[c])) return columns.subspan(c, 1);
  return columns;
}

/// The codes of bytes of the columns, if there are few; else none.
Result<std::vector<GivenCodes>> give_byte_codes(std::span<KeyColumn const> columns, Control const& control) {
  auto const coded = columns_to_code(columns);
  GARUDA_TRY_ASSIGN(auto const coding, find_byte_coding(coded, control));
  std::vector<GivenCodes> given;
  bool const has_others = coded.size() < columns.size();
  if (coding == nullptr || (has_others && coding->last_code() == std::numeric_limits<std::uint64_t>::max()))
    return given;
  for (auto const& column : columns) given.emplace_back(ByteCodes{coding, has_others && &column != &coded.front()});
  return given;
}

}  // namespace

Result<std::vector<GivenCodes>> give_codes(std::span<KeyColumn const> columns, DataType const& type,
                                           Control const& control, std::uint32_t hash_bits) {
  std::vector<GivenCodes> given(columns.size());
  if (has_codes(type)) return given;
  if (std::ranges::all_of(columns, [](auto const& column) { return has_bytes(column.type); })) {
    GARUDA_TRY_ASSIGN(auto of_bytes, give_byte_codes(columns, control));
    if (!of_bytes.empty()) return of_bytes;
  }
  GARUDA_TRY_ASSIGN(auto numbers, encode_values(columns, control, hash_bits));
  std::ranges::move(numbers, given.begin());
  return given;
}

}  // namespace garuda::keys
