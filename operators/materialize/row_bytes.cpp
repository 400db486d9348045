#include "operators/materialize/row_bytes.hpp"

#include <algorithm>
#include <utility>

#include "core/load.hpp"
#include "core/nested/nested_layout.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/types.hpp"

namespace garuda::materialize {
namespace {

/// A view, and about as much of what it may refer to; nothing is known of the other types of nested values, and of
/// strings on a device.
constexpr std::uint64_t kViewRowBytes = 32;

/// First and last of the offsets of `rows` rows, of which there is one at least.
template <class T>
std::pair<std::int64_t, std::int64_t> ends(ArrowArray const& array, std::int64_t first, std::int64_t rows) {
  auto const* const offsets = static_cast<std::byte const*>(array.buffers[1]);
  return {load<T>(offsets, first), load<T>(offsets, first + rows)};
}

/// Bytes of `rows` rows from `first` on, counted from the array's offset. Lists, structs, strings behind offsets and
/// values of fixed width are measured, all else is kViewRowBytes a row.
double nested_bytes(ArrowArray const& array, NestedType const& type, std::int64_t first, std::int64_t rows) {
  auto const node = parse_node(type);
  if (!node || rows == 0) return 0.0;
  auto const at = array.offset + first;
  auto const count = static_cast<double>(rows);
  auto const of_child = [&](std::size_t c, std::int64_t begin, std::int64_t end) {
    return nested_bytes(*array.children[c], type.children[c], begin, end - begin);
  };
  bool const is_large = node->layout == NestedLayout::leaf ? has_large_offsets(node->leaf) : node->has_large_offsets();
  auto const offsets = [&] {
    return is_large ? ends<std::int64_t>(array, at, rows) : ends<std::int32_t>(array, at, rows);
  };
  auto const offset_bytes = count * (is_large ? 8 : 4);
  switch (node->layout) {
    case NestedLayout::leaf: {
      if (is_view(node->leaf)) return count * kViewRowBytes;
      if (!is_variable_width(node->leaf)) return count * std::max(byte_width(node->leaf), 1);
      auto const [begin, end] = offsets();
      return offset_bytes + static_cast<double>(end - begin);
    }
    case NestedLayout::list:
    case NestedLayout::large_list: {
      auto const [begin, end] = offsets();
      return offset_bytes + of_child(0, begin, end);
    }
    case NestedLayout::fixed_size_list:
      return of_child(0, at * node->list_size, (at + rows) * node->list_size);
    case NestedLayout::structure: {
      double bytes = 0.0;
      for (std::size_t c = 0; c < type.children.size(); ++c) bytes += of_child(c, at, at + rows);
      return bytes;
    }
    default:
      return count * kViewRowBytes;
  }
}

/// Bytes of a value of a column of a nested type, on average.
double mean_nested_bytes(TableView table, std::size_t column) {
  double bytes = 0.0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    auto const& nested = *static_cast<ArrowArray const*>(array.values);
    bytes += nested_bytes(nested, *table.schema()[column].type.nested, array.offset - nested.offset, array.length);
  }
  return bytes / static_cast<double>(std::max<std::int64_t>(table.num_rows(), 1));
}

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
  if (is_view(type)) return kViewRowBytes;
  if (type.id == TypeId::nested) return static_cast<std::uint64_t>(mean_nested_bytes(table, column)) + 1;
  if (is_variable_width(type) && table.resident() != nullptr) return kViewRowBytes;
  if (!is_variable_width(type)) return static_cast<std::uint64_t>(std::max(byte_width(type), 1));
  auto const large = has_large_offsets(type);
  return static_cast<std::uint64_t>(mean_value_bytes(table, column)) + 1 + (large ? 8 : 4);
}

}  // namespace garuda::materialize
