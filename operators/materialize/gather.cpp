#include "operators/materialize/gather.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/nested/nested_take.hpp"
#include "core/variable_value.hpp"
#include "operators/materialize/gather_column.hpp"
#include "operators/materialize/gather_rows.hpp"

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

namespace {

constexpr ViewBuffers kNoViewBuffers;

/// Memory that a result keeps alive.
struct GatheredMemory {
  std::vector<AlignedBuffer> buffers;
  std::deque<ViewedBytes> viewed;
  std::vector<std::shared_ptr<ReferredBytes const>> referred;
  std::vector<std::unique_ptr<NestedArray>> nested;
  std::vector<std::shared_ptr<Batch const>> dictionaries;
};

/// Buffers that views of a column refer to.
ViewBuffers const* view_buffers(GatherOutput& output, GatheredMemory& memory) {
  if (output.referred) return &memory.referred.emplace_back(std::move(output.referred))->list;
  if (output.viewed.size_bytes() == 0) return &kNoViewBuffers;
  auto const& bytes = memory.buffers.emplace_back(std::move(output.viewed));
  return &memory.viewed.emplace_back(bytes.data(), bytes.size_bytes()).list;
}

/// Moves the buffers of a filled column into `memory` and returns the view of them.
ArrayView finish(GatherColumn const& column, std::int64_t num_rows, GatherOutput& output, GatheredMemory& memory) {
  ArrayView view;
  view.length = num_rows;
  view.null_count = output.num_nulls.load();
  view.offsets = is_view(column.type) ? view_buffers(output, memory) : output.offsets.as<void>();
  view.values = output.values.data();
  memory.buffers.push_back(std::move(output.offsets));
  memory.buffers.push_back(std::move(output.values));
  if (view.null_count > 0) {
    view.validity = output.validity.as<std::uint8_t>();
    memory.buffers.push_back(std::move(output.validity));
  }
  if (column.dictionary) {
    view.dictionary = column.dictionary->columns.data();
    memory.dictionaries.push_back(column.dictionary);
  }
  return view;
}

/// Fills every column in parallel over columns and blocks of rows.
template <class RowId>
void fill(std::span<GatherColumn const> columns, RowSelection<RowId> const& rows, std::int64_t num_rows,
          std::span<GatherOutput> outputs) {
  auto const num_blocks = num_gather_blocks(num_rows);
  auto const num_tasks = num_blocks * static_cast<std::int64_t>(columns.size());
  tbb::parallel_for(std::int64_t{0}, num_tasks, [&](std::int64_t task) {
    auto const column = static_cast<std::size_t>(task / num_blocks);
    auto const begin = task % num_blocks * kGatherBlockRows;
    fill_block(columns[column], rows, begin, std::min(begin + kGatherBlockRows, num_rows), outputs[column]);
  });
}

/// Gathers a column of a nested type: rows are found in parallel over blocks, values are copied on the calling thread.
template <class RowId>
Result<ArrayView> gather_nested(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                                GatheredMemory& memory) {
  std::vector<ArrowArray const*> parts;
  for (auto const& part : column.parts) parts.push_back(static_cast<ArrowArray const*>(part.values));
  std::vector<NestedRow> taken(static_cast<std::size_t>(num_rows));
  RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
    rows.visit(
        begin, end,
        [&](std::int64_t i, std::uint32_t batch, std::int64_t row) {
          taken[static_cast<std::size_t>(i)] = {batch, column.parts[batch].offset + row};
        },
        [](std::int64_t) {});
  });
  GARUDA_TRY_ASSIGN(auto array, take_nested(*column.type.nested, parts, taken));
  ArrayView view;
  view.length = num_rows;
  view.values = &array->array;
  view.null_count = array->array.null_count;
  if (view.null_count > 0 && !array->buffers.empty())
    view.validity = static_cast<std::uint8_t const*>(array->buffers[0]);
  memory.nested.push_back(std::move(array));
  return view;
}

/// The arrays of a column of the host, those of batches without rows included.
std::vector<ArrayView> arrays_of(TableView const& table, std::size_t position) {
  auto arrays = column_arrays(table, position);
  std::erase_if(arrays, [](ArrayView const& array) { return array.location.kind == Location::Kind::device; });
  return arrays;
}

}  // namespace

template <class RowId>
Result<GatherResult> gather_columns(std::span<GatherColumn const> columns, std::span<std::int64_t const> first_rows,
                                    std::span<RowId const> row_ids, GatherLimits limits) {
  GARUDA_TRY_ASSIGN(auto const rows, RowSelection<RowId>::resolve(row_ids, first_rows));
  std::vector<GatherOutput> outputs(columns.size());
  auto num_rows = rows.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!is_string(columns[i].type)) continue;
    auto const max_bytes = has_large_offsets(columns[i].type)
                               ? limits.max_variable_bytes
                               : std::min(limits.max_variable_bytes, limits.max_offset_32);
    GARUDA_TRY_ASSIGN(num_rows, gather_strings(columns[i], rows, num_rows, max_bytes, outputs[i]));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    GARUDA_TRY(reserve(columns[i], rows, num_rows, outputs[i]));
  }
  fill<RowId>(columns, rows, num_rows, outputs);

  auto const memory = std::make_shared<GatheredMemory>();
  Batch batch{num_rows, {}, memory};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type.id == TypeId::nested) {
      GARUDA_TRY_ASSIGN(auto const nested, gather_nested(columns[i], rows, num_rows, *memory));
      batch.columns.push_back(nested);
      continue;
    }
    batch.columns.push_back(finish(columns[i], num_rows, outputs[i], *memory));
  }
  return GatherResult{std::move(batch), num_rows};
}

template Result<GatherResult> gather_columns(std::span<GatherColumn const>, std::span<std::int64_t const>,
                                             std::span<std::int64_t const>, GatherLimits);
template Result<GatherResult> gather_columns(std::span<GatherColumn const>, std::span<std::int64_t const>,
                                             std::span<std::uint32_t const>, GatherLimits);

Gatherer::Gatherer() = default;
Gatherer::Gatherer(Gatherer&&) noexcept = default;
Gatherer& Gatherer::operator=(Gatherer&&) noexcept = default;
Gatherer::~Gatherer() = default;

Result<Gatherer> Gatherer::create(TableView const& table, std::span<std::size_t const> columns, StringForm strings,
                                  GatherLimits limits) {
  Gatherer gatherer;
  gatherer.limits_ = limits;
  gatherer.first_rows_.push_back(0);
  std::vector<std::shared_ptr<void const>> owners;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    if (table.batch(b).num_rows == 0) continue;
    gatherer.first_rows_.push_back(gatherer.first_rows_.back() + table.batch(b).num_rows);
    owners.push_back(table.batch(b).owner);
  }
  for (auto const position : columns) {
    GARUDA_EXPECTS(position < table.num_columns());
    auto field = table.schema()[position];
    GatherColumn column;
    column.source_type = field.type;
    column.type = field.type;
    for (std::size_t b = 0; b < table.num_batches(); ++b) {
      if (table.batch(b).num_rows > 0) column.add_part(table.batch(b).columns[position]);
    }
    if (strings == StringForm::view && is_string(column.type)) {
      column.type = in_form(column.type, strings);
      column.referred = referred_bytes(column.parts, column.strings, value_layout(column.source_type), owners);
    }
    // A table without rows may have dictionaries, which results of null rows have, too.
    bool const may_have_dictionary = field.type.id == TypeId::dictionary || field.type.id == TypeId::nested;
    if (may_have_dictionary && column.parts.empty()) column.parts = arrays_of(table, position);
    if (field.type.id == TypeId::dictionary) {
      // The owner of the first batch keeps the dictionary of all where they share one.
      auto const owner = owners.empty() ? nullptr : owners.front();
      GARUDA_TRY(unify_dictionaries(column, limits, strings, owner));
    }
    field.type = column.type;
    gatherer.schema_.push_back(std::move(field));
    gatherer.columns_.push_back(std::move(column));
  }
  return gatherer;
}

Result<GatherResult> Gatherer::gather(std::span<std::int64_t const> row_ids) const {
  return gather_columns(std::span<GatherColumn const>(columns_), std::span<std::int64_t const>(first_rows_), row_ids,
                        limits_);
}

Result<GatherResult> Gatherer::gather(std::span<std::uint32_t const> row_ids) const {
  return gather_columns(std::span<GatherColumn const>(columns_), std::span<std::int64_t const>(first_rows_), row_ids,
                        limits_);
}

}  // namespace garuda
