#include "operators/materialize/gather_column.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/variable_value.hpp"

namespace garuda {
namespace {

template <std::size_t kWidth, class RowId>
void fill_fixed(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                std::byte* values) {
  auto const* bases = column.bases.data();
  rows.visit_ahead(
      begin, end,
      [=](std::int64_t, std::uint32_t batch, std::int64_t row) {
        __builtin_prefetch(bases[batch] + row * std::int64_t{kWidth});
      },
      [=](std::int64_t i, std::uint32_t batch, std::int64_t row) {
        std::memcpy(values + i * std::int64_t{kWidth}, bases[batch] + row * std::int64_t{kWidth}, kWidth);
      },
      [=](std::int64_t i) { std::memset(values + i * std::int64_t{kWidth}, 0, kWidth); });
}

template <class RowId>
void fill_any_width(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                    std::byte* values) {
  auto const* bases = column.bases.data();
  auto const width = std::int64_t{byte_width(column.type)};
  auto const bytes = static_cast<std::size_t>(width);
  rows.visit_ahead(
      begin, end,
      [=](std::int64_t, std::uint32_t batch, std::int64_t row) { __builtin_prefetch(bases[batch] + row * width); },
      [=](std::int64_t i, std::uint32_t batch, std::int64_t row) {
        std::memcpy(values + i * width, bases[batch] + row * width, bytes);
      },
      [=](std::int64_t i) { std::memset(values + i * width, 0, bytes); });
}

/// Writes bits [begin, end), where begin is a multiple of 64: `bit_of(batch, row)`, and 0 for null rows. Whole words
/// are written, which the capacity of an AlignedBuffer always holds. Returns the number of ones.
template <class RowId, class BitOf>
std::int64_t fill_bits(RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end, AlignedBuffer& bitmap,
                       BitOf bit_of) {
  auto* bytes = bitmap.as<std::uint8_t>();
  std::int64_t ones = 0;
  for (auto first = begin; first < end; first += 64) {
    std::array<std::uint8_t, 8> word{};
    rows.visit(
        first, std::min(first + 64, end),
        [&](std::int64_t i, std::uint32_t batch, std::int64_t row) {
          auto const bit = static_cast<std::uint8_t>(bit_of(batch, row));
          word[static_cast<std::size_t>(i - first) >> 3] |= static_cast<std::uint8_t>(bit << (i & 7));
          ones += bit;
        },
        [](std::int64_t) {});
    std::memcpy(bytes + (first >> 3), word.data(), word.size());
  }
  return ones;
}

std::int64_t load_index(ArrayView const& part, TypeId type, std::int64_t row) {
  return visit_index_type(type,
                          [&]<class Index>(Index*) { return static_cast<std::int64_t>(part.data<Index>()[row]); });
}

/// Copies dictionary indices through the maps of their batches. Indices of nulls mean nothing and become 0.
template <class RowId>
void fill_mapped(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                 std::byte* values) {
  auto const width = std::int64_t{byte_width(column.type)};
  auto const store = [=](std::int64_t i, std::uint64_t index) {
    // Both sides are little-endian, so the low bytes come first.
    std::memcpy(values + i * width, &index, static_cast<std::size_t>(width));
  };
  rows.visit(
      begin, end,
      [&](std::int64_t i, std::uint32_t batch, std::int64_t row) {
        auto const& part = column.parts[batch];
        if (part.is_null(row)) return store(i, 0);
        auto const index = load_index(part, column.source_type.index, row);
        store(i, static_cast<std::uint64_t>((*column.maps[batch])[static_cast<std::size_t>(index)]));
      },
      [&](std::int64_t i) { store(i, 0); });
}

template <class RowId>
void fill_values(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                 std::byte* values) {
  if (!column.maps.empty()) return fill_mapped(column, rows, begin, end, values);
  auto const width = std::int64_t{byte_width(column.type)};
  if (auto const run = rows.run_from(begin, end)) {
    std::memcpy(values + begin * width, column.bases[run->first] + run->second * width,
                static_cast<std::size_t>((end - begin) * width));
    return;
  }
  auto const copy = [&](std::int64_t i, std::uint32_t batch, std::int64_t row, std::int64_t count) {
    auto const* const base = column.bases[batch];
    copy_run(values + i * width, values + end * width, base + row * width, base + column.parts[batch].length * width,
             count * width);
  };
  if (rows.visit_runs(begin, end, copy)) return;
  switch (width) {
    case 1:
      return fill_fixed<1>(column, rows, begin, end, values);
    case 2:
      return fill_fixed<2>(column, rows, begin, end, values);
    case 4:
      return fill_fixed<4>(column, rows, begin, end, values);
    case 8:
      return fill_fixed<8>(column, rows, begin, end, values);
    case 16:
      return fill_fixed<16>(column, rows, begin, end, values);
    default:
      return fill_any_width(column, rows, begin, end, values);
  }
}

}  // namespace

void GatherColumn::add_part(ArrayView const& part) {
  GARUDA_EXPECTS(part.length > 0 && part.location.kind != Location::Kind::device);
  parts.push_back(part);
  bases.push_back(static_cast<std::byte const*>(part.values) + part.offset * byte_width(source_type));
  if (is_string(source_type)) strings.emplace_back(part, value_layout(source_type));
  may_have_nulls = may_have_nulls || (part.validity != nullptr && part.null_count != 0);
}

template <class RowId>
Result<void> reserve(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                     GatherOutput& output) {
  if (column.type.id == TypeId::nested) return {};
  if (column.may_have_nulls || rows.has_null_rows()) {
    GARUDA_TRY_ASSIGN(output.validity, AlignedBuffer::allocate(bitmap_bytes(num_rows)));
  }
  if (is_string(column.type)) return {};
  auto num_bytes = num_rows * byte_width(column.type);
  if (column.type.id == TypeId::boolean) num_bytes = bitmap_bytes(num_rows);
  GARUDA_TRY_ASSIGN(output.values, AlignedBuffer::allocate(num_bytes));
  return {};
}

template <class RowId>
void fill_block(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                GatherOutput& output) {
  if (column.type.id == TypeId::nested) return;
  if (output.validity.size_bytes() > 0) {
    auto const valid =
        column.may_have_nulls
            ? fill_bits(rows, begin, end, output.validity,
                        [&](std::uint32_t batch, std::int64_t row) { return !column.parts[batch].is_null(row); })
            : rows.write_present(begin, end, output.validity.as<std::uint64_t>());
    output.num_nulls.fetch_add(end - begin - valid, std::memory_order_relaxed);
  }
  if (column.type.id == TypeId::boolean) {
    fill_bits(rows, begin, end, output.values, [&](std::uint32_t batch, std::int64_t row) {
      auto const& part = column.parts[batch];
      return get_bit(static_cast<std::uint8_t const*>(part.values), part.offset + row);
    });
  } else if (!is_string(column.type)) {
    fill_values(column, rows, begin, end, output.values.data());
  }
}

#define GARUDA_GATHER_INSTANTIATE(RowId)                                                                       \
  template Result<void> reserve(GatherColumn const&, RowSelection<RowId> const&, std::int64_t, GatherOutput&); \
  template void fill_block(GatherColumn const&, RowSelection<RowId> const&, std::int64_t, std::int64_t, GatherOutput&)

GARUDA_GATHER_INSTANTIATE(std::int64_t);
GARUDA_GATHER_INSTANTIATE(std::uint32_t);

}  // namespace garuda
