#include "operators/materialize/column_bytes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "core/load.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/parallel_blocks.hpp"
#include "core/variable_value.hpp"
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

/// Values that tell of all of a column what is likely.
constexpr std::int64_t kSampledValues = 1'024;

/// Whether all rows of the column have a value, and lie in the host's memory.
bool is_whole_on_host(TableView table, std::size_t column) {
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.location.kind == Location::Kind::device || count_nulls(array) != 0) return false;
  }
  return true;
}

/// Strings behind offsets, none of them null, on the host.
bool may_be_cells(TableView table, std::size_t column) {
  auto const& type = table.schema()[column].type;
  if (!is_variable_width(type) || is_view(type)) return false;
  return is_whole_on_host(table, column);
}

/// Calls use with the offsets of an array's values, one more than these.
template <class Use>
decltype(auto) with_offsets(ArrayView const& array, bool large, Use const& use) {
  return large ? use(static_cast<std::int64_t const*>(array.offsets) + array.offset)
               : use(static_cast<std::int32_t const*>(array.offsets) + array.offset);
}

/// The longest of `count` values from `first` on, each `step` behind the one before.
std::int64_t longest_of(ArrayView const& array, bool large, std::int64_t first, std::int64_t count, std::int64_t step) {
  return with_offsets(array, large, [=](auto const* offsets) {
    auto longest = offsets[first + 1] - offsets[first];
    for (std::int64_t i = 1; i < count; ++i) {
      auto const at = first + i * step;
      longest = std::max(longest, offsets[at + 1] - offsets[at]);
    }
    return static_cast<std::int64_t>(longest);
  });
}

/// The column's strings of one batch, from row `first_row` of the table on.
struct CellPart {
  std::uint64_t first_row = 0;
  std::uint64_t end_row = 0;
  ArrayView array;
};

/// A word of the `length` first bytes of one that was read, zeros behind them. Requires: length < 8.
std::uint64_t leading(std::uint64_t word, std::uint64_t length) noexcept {
  return word & ((std::uint64_t{1} << (8 * length)) - 1);
}

/// Little endian, as all values are: the first byte is the lowest one.
template <std::uint32_t kWidth>
void put_cell(std::byte const* bytes, std::uint64_t length, std::byte* to) noexcept {
  std::uint64_t words[kWidth / 8];
  std::memcpy(words, bytes, kWidth);
  if constexpr (kWidth == 8) {
    words[0] = leading(words[0], length) | length << 56;
  } else {
    bool const is_long = length >= 8;
    words[1] = (is_long ? leading(words[1], length - 8) : 0) | length << 56;
    words[0] = is_long ? words[0] : leading(words[0], length);
  }
  std::memcpy(to, words, kWidth);
}

template <std::uint32_t kWidth, class Offset>
void put_cells(Offset const* offsets, std::byte const* values, std::int64_t readable, std::size_t count,
               std::byte* to) {
  for (std::size_t i = 0; i < count; ++i, to += kWidth) {
    auto const begin = static_cast<std::int64_t>(offsets[i]);
    auto const length = static_cast<std::uint64_t>(offsets[i + 1] - offsets[i]);
    if (begin + std::int64_t{kWidth} <= readable) [[likely]] {
      put_cell<kWidth>(values + begin, length, to);
      continue;
    }
    // No byte is read behind the last value.
    std::byte last[kWidth] = {};
    if (length > 0) std::memcpy(last, values + begin, length);
    put_cell<kWidth>(last, length, to);
  }
}

/// Makes the cells of rows in the order of the table.
class CellMaker {
 public:
  CellMaker(TableView table, std::size_t column, std::uint32_t width)
      : width_(width), is_large_(has_large_offsets(table.schema()[column].type)) {
    std::uint64_t first = 0;
    for (std::size_t b = 0; b < table.num_batches(); ++b) {
      auto const& array = table.batch(b).columns[column];
      if (array.length == 0) continue;
      auto const end = first + static_cast<std::uint64_t>(array.length);
      parts_.push_back({std::exchange(first, end), end, array});
    }
  }

  void operator()(std::uint64_t first, std::size_t count, std::byte* to) const {
    auto part = std::ranges::upper_bound(parts_, first, {}, &CellPart::first_row) - 1;
    while (count > 0) {
      auto const taken = static_cast<std::size_t>(std::min<std::uint64_t>(count, part->end_row - first));
      make(*part, static_cast<std::int64_t>(first - part->first_row), taken, to);
      first += taken;
      to += taken * width_;
      count -= taken;
      ++part;
    }
  }

 private:
  void make(CellPart const& part, std::int64_t row, std::size_t count, std::byte* to) const {
    auto const* const values = static_cast<std::byte const*>(part.array.values);
    with_offsets(part.array, is_large_, [&](auto const* offsets) {
      auto const readable = static_cast<std::int64_t>(offsets[part.array.length]);
      if (width_ == 8)
        put_cells<8>(offsets + row, values, readable, count, to);
      else
        put_cells<16>(offsets + row, values, readable, count, to);
    });
  }

  std::vector<CellPart> parts_;
  std::uint32_t width_;
  bool is_large_;
};

}  // namespace

bool has_nulls(TableView table, std::size_t column) {
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    if (count_nulls(table.batch(b).columns[column]) > 0) return true;
  return false;
}

double mean_value_bytes(TableView table, std::size_t column) {
  bool const large = has_large_offsets(table.schema()[column].type);
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length == 0) continue;
    bytes += with_offsets(array, large, [&](auto const* offsets) {
      return static_cast<std::uint64_t>(offsets[array.length] - offsets[0]);
    });
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

bool is_plain(TableView table, std::size_t column) {
  auto const& type = table.schema()[column].type;
  if (type.id == TypeId::boolean || type.id == TypeId::dictionary || is_variable_width(type)) return false;
  auto const width = byte_width(type);
  if (width < 1 || width > 16 || !std::has_single_bit(static_cast<unsigned>(width))) return false;
  return is_whole_on_host(table, column);
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

std::uint32_t cell_width(std::int64_t longest) noexcept {
  if (longest < 8) return 8;
  return longest <= kLongestCellValue ? kLargestCellBytes : 0;
}

std::uint32_t expected_carried_bytes(TableView table, std::size_t column) {
  if (is_plain(table, column)) return static_cast<std::uint32_t>(byte_width(table.schema()[column].type));
  if (!may_be_cells(table, column)) return 0;
  auto const large = has_large_offsets(table.schema()[column].type);
  auto const step = std::max<std::int64_t>(table.num_rows() / kSampledValues, 1);
  std::int64_t longest = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length > 0)
      longest = std::max(longest, longest_of(array, large, 0, (array.length + step - 1) / step, step));
  }
  return cell_width(longest);
}

Result<std::uint32_t> carried_bytes(TableView table, std::size_t column, Control const& control) {
  auto const expected = expected_carried_bytes(table, column);
  if (expected == 0 || is_plain(table, column)) return expected;
  auto const large = has_large_offsets(table.schema()[column].type);
  std::atomic<std::int64_t> longest{0};
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    auto const rows = static_cast<std::uint64_t>(array.length);
    GARUDA_TRY(for_each_range(rows, &control, [&](std::uint64_t first, std::uint64_t end) {
      auto const found =
          longest_of(array, large, static_cast<std::int64_t>(first), static_cast<std::int64_t>(end - first), 1);
      for (auto known = longest.load(); known < found && !longest.compare_exchange_weak(known, found);) {
      }
    }));
  }
  return cell_width(longest);
}

partition::PayloadColumn carried_column(TableView table, std::size_t column, std::uint32_t width) {
  if (is_plain(table, column)) return payload_column(table, column);
  partition::PayloadColumn payload;
  payload.width = width;
  payload.make = CellMaker(table, column, width);
  return payload;
}

}  // namespace garuda::materialize
