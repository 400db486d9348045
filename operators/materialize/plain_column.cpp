#include "operators/materialize/plain_column.hpp"

#include <bit>

namespace garuda::materialize {
bool is_plain(TableView table, std::size_t column) {
  auto const& type = table.schema()[column].type;
  if (type.id == TypeId::boolean || type.id == TypeId::dictionary || is_variable_width(type)) return false;
  auto const width = byte_width(type);
  if (width < 1 || width > 16 || !std::has_single_bit(static_cast<unsigned>(width))) return false;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.location.kind == Location::Kind::device) return false;
    if (array.length > 0 && array.validity != nullptr && count_nulls(array) != 0) return false;
  }
  return true;
}

partition::PayloadColumn payload_column(TableView table, std::size_t column) {
  partition::PayloadColumn payload;
  auto const width = byte_width(table.schema()[column].type);
  payload.width = static_cast<std::uint32_t>(width);
  std::uint64_t first = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length == 0) continue;
    payload.parts.push_back({first, static_cast<std::byte const*>(array.values) + array.offset * width});
    first += static_cast<std::uint64_t>(array.length);
  }
  return payload;
}

}  // namespace garuda::materialize
