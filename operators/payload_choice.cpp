#include "operators/payload_choice.hpp"

#include <algorithm>
#include <bit>

namespace garuda::operators {
namespace {

constexpr double kLineBytes = 64;
/// A column of so many bytes stays in the last-level cache while a result is gathered from it.
constexpr double kCachedBytes = 8 << 20;

}  // namespace

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

bool carrying_pays(PayloadShape const& shape, std::uint32_t width) noexcept {
  auto const rows = static_cast<double>(shape.rows);
  auto const carried = rows * (2.0 * width + shape.key_bytes / 2.0) + shape.matches * width;
  auto const is_cached = rows * width <= kCachedBytes;
  auto const gathered = shape.matches * (is_cached ? 2.0 * width : kLineBytes);
  return carried < gathered;
}

std::vector<std::size_t> carried_columns(TableView table, ResolvedJoin const& columns, Side side,
                                         PayloadShape const& shape, Payload payload) {
  std::vector<std::size_t> carried;
  auto const key = side == Side::left ? columns.left_key : columns.right_key;
  for (auto const& output : columns.output) {
    if (output.side != side || output.column == key || payload == Payload::gather) continue;
    if (std::ranges::find(carried, output.column) != carried.end() || !is_plain(table, output.column)) continue;
    auto const width = static_cast<std::uint32_t>(byte_width(table.schema()[output.column].type));
    if (payload == Payload::carry || carrying_pays(shape, width)) carried.push_back(output.column);
  }
  return carried;
}

std::uint64_t row_bytes_of(TableView table, std::vector<std::size_t> const& columns) {
  std::uint64_t bytes = 0;
  for (auto const column : columns) bytes += static_cast<std::uint64_t>(byte_width(table.schema()[column].type));
  return bytes;
}

}  // namespace garuda::operators
