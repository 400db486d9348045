#include "keys/column_order.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include "core/dictionary.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/codes/attribute_reader.hpp"

namespace garuda::keys {
namespace {

UInt128 entry_of(std::uint64_t key, std::uint64_t value) noexcept { return (UInt128{key} << 64) | value; }

/// The number of first bytes that two values share, at most `most`; neither value is shorter.
std::size_t agreement(std::string_view a, std::string_view b, std::size_t most) noexcept {
  if (a.substr(0, most) == b.substr(0, most)) return most;
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first - a.begin());
}

}  // namespace

/// The bytes behind the first `depth`, zeros behind the last.
std::uint64_t ColumnOrder::key_of(std::string_view bytes, std::size_t depth) noexcept {
  static_assert(std::endian::native == std::endian::little);
  auto const rest = bytes.size() > depth ? bytes.size() - depth : 0;
  std::uint64_t word = 0;
  if (rest > kKeyBytes) {
    std::memcpy(&word, bytes.data() + depth, sizeof(word));
    return (__builtin_bswap64(word) & ~std::uint64_t{0xFF}) | (kKeyBytes + 2);
  }
  if (rest > 0) std::memcpy(&word, bytes.data() + depth, rest);
  return __builtin_bswap64(word) | (rest + 1);
}

/// The number of bytes with which all values begin: they tell no value from another.
Result<std::size_t> ColumnOrder::common_bytes(Control const& control) const {
  auto const& values = values_.bytes;
  std::uint64_t first = 0;
  while (first < values.size() && values.is_null(first)) ++first;
  if (first == values.size()) return 0;
  auto const pattern = values[first];
  std::atomic<std::size_t> common{pattern.size()};
  GARUDA_TRY(for_each_range(values.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    auto least = common.load();
    if (least == 0) return;
    values.for_each(begin, end, [&](std::uint64_t, std::optional<std::string_view> bytes) {
      if (bytes) least = agreement(pattern, *bytes, std::min(least, bytes->size()));
    });
    auto seen = common.load();
    while (least < seen && !common.compare_exchange_weak(seen, least)) {
    }
  }));
  return common.load();
}

Result<void> ColumnOrder::enter_rows(std::size_t depth, Control const& control) {
  auto* const entries = entries_.as<UInt128>();
  return for_each_range(values_.bytes.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    values_.bytes.for_each(begin, end, [&](std::uint64_t row, std::optional<std::string_view> bytes) {
      entries[row] = entry_of(bytes ? key_of(*bytes, depth) : 0, row);
    });
  });
}

Result<void> ColumnOrder::enter_indices(TableView table, std::size_t column, std::size_t depth,
                                        Control const& control) {
  auto const num_values = values_.bytes.size();
  std::vector<std::uint64_t> keys(num_values);
  GARUDA_TRY(for_each_range(num_values, &control, [&](std::uint64_t begin, std::uint64_t end) {
    values_.bytes.for_each(begin, end, [&](std::uint64_t i, std::optional<std::string_view> bytes) {
      keys[i] = bytes ? key_of(*bytes, depth) : 0;
    });
  }));
  rows_ = std::make_unique<std::atomic<std::uint64_t>[]>(num_values);
  auto const blocks = cut_row_blocks(table);
  return for_each_block(blocks.size(), &control, [&](std::size_t b) {
    auto const& block = blocks[b];
    auto const array = slice(table.batch(block.batch).columns[column], block.begin, block.length);
    auto* const entries = entries_.as<UInt128>() + block.first_row;
    visit_index_type(table.schema()[column].type.index, [&]<class Index>(Index*) {
      for (std::int64_t i = 0; i < array.length; ++i) {
        if (array.is_null(i)) {
          entries[i] = 0;
          continue;
        }
        auto const value = values_.first_value[block.batch] + static_cast<std::uint64_t>(array.data<Index>()[i]);
        entries[i] = entry_of(keys[value], value);
        // Whichever row comes first: they all have the same value. Few values would be written by all threads at once.
        if (rows_[value].load(std::memory_order_relaxed) == 0)
          rows_[value].store(block.first_row + static_cast<std::uint64_t>(i) + 1, std::memory_order_relaxed);
      }
    });
  });
}

std::array<std::uint64_t, 4> ColumnOrder::wide_decimal(UInt128 entry) const noexcept {
  return decimal_of_order(values_.bytes[static_cast<std::uint64_t>(entry)]);
}

Result<ColumnOrder> ColumnOrder::create(TableView table, std::size_t column, Control const& control) {
  try {
    GARUDA_TRY_ASSIGN(auto values, values_of(table, column));
    ColumnOrder order(std::move(values));
    GARUDA_TRY_ASSIGN(auto const depth, order.common_bytes(control));
    GARUDA_TRY_ASSIGN(order.entries_, AlignedBuffer::allocate(table.num_rows() * std::int64_t{sizeof(UInt128)}));
    if (order.values_.first_value.empty())
      GARUDA_TRY(order.enter_rows(depth, control));
    else
      GARUDA_TRY(order.enter_indices(table, column, depth, control));
    return order;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the order of a column's values");
  }
}

}  // namespace garuda::keys
