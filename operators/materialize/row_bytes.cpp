#include "operators/materialize/row_bytes.hpp"

#include <algorithm>

#include "garuda/types.hpp"

namespace garuda::materialize {
namespace {

/// A view, and about as much of what it may refer to; of nested types, and of strings on a device, nothing is known.
constexpr std::uint64_t kViewRowBytes = 32;

}  // namespace

double mean_value_bytes(TableView table, std::size_t column) {
  bool const large = has_large_offsets(table.schema()[column].type);
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length == 0) continue;
    auto const total = [&](auto const* offsets) {
      return static_cast<std::uint64_t>(offsets[array.offset + array.length] - offsets[array.offset]);
    };
    bytes += large ? total(static_cast<std::int64_t const*>(array.offsets))
                   : total(static_cast<std::int32_t const*>(array.offsets));
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(table.num_rows(), 1));
}

std::uint64_t column_row_bytes(TableView table, std::size_t column) {
  auto const& type = table.schema()[column].type;
  if (is_view(type) || type.id == TypeId::nested) return kViewRowBytes;
  if (is_variable_width(type) && table.resident() != nullptr) return kViewRowBytes;
  if (!is_variable_width(type)) return static_cast<std::uint64_t>(std::max(byte_width(type), 1));
  auto const large = has_large_offsets(type);
  return static_cast<std::uint64_t>(mean_value_bytes(table, column)) + 1 + (large ? 8 : 4);
}

}  // namespace garuda::materialize
