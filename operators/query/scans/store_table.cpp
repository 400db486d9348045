#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/task_threads.hpp"
#include "core/type_rows.hpp"
#include "garuda/stored_table.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/numbering/value_dictionary.hpp"
#include "keys/samples/key_counts.hpp"

namespace garuda {
namespace {

/// Rows a value that make codes pay: a dictionary's values are read where codes are not enough.
constexpr std::uint64_t kRowsForValue = 4;
constexpr std::uint64_t kSampledRows = std::uint64_t{1} << 16;

/// A column in its smaller form.
struct StoredColumn {
  DataType type;
  AlignedBuffer rows;                   ///< codes, or values, of all batches
  std::vector<AlignedBuffer> validity;  ///< a batch each; empty: none has nulls
  AlignedBuffer offsets, bytes;         ///< of the dictionary
  ArrayView dictionary{};
};

/// Bitmaps of a column's batches that begin with their first row. Errors: out_of_memory.
Result<std::vector<AlignedBuffer>> validity_of(std::span<ArrayView const> arrays) {
  std::vector<AlignedBuffer> copies;
  if (std::ranges::all_of(arrays, [](ArrayView const& array) { return count_nulls(array) == 0; })) return copies;
  for (auto const& array : arrays) {
    GARUDA_TRY_ASSIGN(auto bits, AlignedBuffer::allocate((array.length + 7) / 8));
    write_bits(bits.as<std::uint8_t>(), array.length, [&](std::int64_t i) { return !array.is_null(i); });
    copies.push_back(std::move(bits));
  }
  return copies;
}

/// Whether a sample lets expect so few values that codes pay.
bool has_few_values(keys::ValueBytes const& values) {
  if (values.size() <= kSampledRows) return true;  // they are counted
  std::vector<std::uint64_t> hashes(kSampledRows);
  for (std::uint64_t i = 0; i < kSampledRows; ++i)
    hashes[i] = keys::hash_bytes(values[i * (values.size() / kSampledRows)]);
  auto const expected = keys::KeyCounts<std::uint64_t>(hashes).frequencies().drawn_from();
  return expected <= static_cast<double>(values.size() / kRowsForValue);
}

/// The dictionary of codes that ascend with their values, of which `heads` are one each. Errors: out_of_memory.
Result<void> write_dictionary(keys::ValueBytes const& values, std::span<std::uint64_t const> heads,
                              StoredColumn& column) {
  std::uint64_t size = 0;
  for (auto const head : heads) size += values[head].size();
  auto const write = [&]<class Offset>(Offset*) -> Result<void> {
    GARUDA_TRY_ASSIGN(column.offsets,
                      AlignedBuffer::allocate(static_cast<std::int64_t>((heads.size() + 1) * sizeof(Offset))));
    GARUDA_TRY_ASSIGN(column.bytes, AlignedBuffer::allocate(static_cast<std::int64_t>(size)));
    auto* const offsets = column.offsets.as<Offset>();
    auto* const bytes = column.bytes.as<char>();
    std::uint64_t at = 0;
    for (std::size_t code = 0; code < heads.size(); ++code) {
      auto const value = values[heads[code]];
      offsets[code] = static_cast<Offset>(at);
      if (!value.empty()) std::memcpy(bytes + at, value.data(), value.size());
      at += value.size();
    }
    offsets[heads.size()] = static_cast<Offset>(at);
    return {};
  };
  auto value_type = *column.type.value;
  bool const is_large = size > std::numeric_limits<std::int32_t>::max();
  bool const has_text = is_text(value_type.id);
  value_type.id = is_large ? large_bytes(value_type.id) : has_text ? TypeId::utf8 : TypeId::binary;
  GARUDA_TRY(is_large ? write(static_cast<std::int64_t*>(nullptr)) : write(static_cast<std::int32_t*>(nullptr)));
  column.dictionary = {.length = static_cast<std::int64_t>(heads.size()),
                       .null_count = 0,
                       .offsets = column.offsets.data(),
                       .values = column.bytes.data(),
                       .ascends = true};
  column.type.value = std::make_shared<DataType const>(std::move(value_type));
  return {};
}

/// Codes of a column of strings or binary; nullopt: it has too many values for these to pay. Throws std::bad_alloc.
Result<std::optional<StoredColumn>> as_codes(TableView table, std::size_t c, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const column, keys::open_key_column(table, c, table.schema()[c].type, control));
  GARUDA_TRY_ASSIGN(auto const values, keys::values_of(table, c));
  if (!has_few_values(values.bytes)) return std::nullopt;
  auto encoded = keys::encode_values({&column, 1}, control, 64, keys::CodeOrder::ascending);
  if (!encoded && encoded.error().code() == ErrorCode::limit_exceeded) return std::nullopt;
  if (!encoded) return propagate(std::move(encoded));
  auto const& codes = encoded->front();
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  if (codes.num_codes == 0 ||
      codes.num_codes > std::min<std::uint64_t>(rows / kRowsForValue, std::numeric_limits<std::int32_t>::max()))
    return std::nullopt;
  StoredColumn stored;
  stored.type.id = TypeId::dictionary;
  stored.type.value = std::make_shared<DataType const>(column.type);
  GARUDA_TRY_ASSIGN(stored.rows, AlignedBuffer::allocate(static_cast<std::int64_t>(rows * sizeof(std::int32_t))));
  auto* const written = stored.rows.as<std::uint32_t>();
  GARUDA_TRY(for_each_range(rows, &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto row = begin; row < end; ++row) written[row] = codes.codes[row] == keys::kNullCode ? 0 : codes.codes[row];
  }));
  GARUDA_TRY_ASSIGN(auto const heads, keys::heads_of({codes.codes, rows}, codes.num_codes, control));
  GARUDA_TRY(write_dictionary(values.bytes, heads, stored));
  GARUDA_TRY_ASSIGN(stored.validity, validity_of(column.arrays));
  return stored;
}

/// Decimals of 128 bits in fewer; nullopt: their type has too many digits for these, or a value has. Nulls become 0.
template <class Narrow>
Result<std::optional<StoredColumn>> as_narrow_decimals(TableView table, std::size_t c, TypeId narrow,
                                                       Control const& control) {
  GARUDA_TRY_ASSIGN(auto const column, keys::open_key_column(table, c, table.schema()[c].type, control));
  StoredColumn stored;
  stored.type = column.type;
  stored.type.id = narrow;
  GARUDA_TRY_ASSIGN(stored.rows, AlignedBuffer::allocate(table.num_rows() * static_cast<std::int64_t>(sizeof(Narrow))));
  auto* const written = stored.rows.as<Narrow>();
  auto const beyond = static_cast<Int128>(power_of_ten(column.type.precision));
  std::atomic<bool> fits{true};
  GARUDA_TRY(keys::for_array_rows(column.arrays, control,
                                  [&](std::size_t b, std::int64_t begin, std::int64_t end, std::uint64_t row) {
                                    auto const& array = column.arrays[b];
                                    auto const* const words = static_cast<std::byte const*>(array.values);
                                    bool all_fit = true;
                                    for (auto i = begin; i < end; ++i) {
                                      Int128 value = 0;
                                      if (!array.is_null(i))
                                        std::memcpy(&value, words + (array.offset + i) * 16, sizeof(value));
                                      all_fit = all_fit && value < beyond && value > -beyond;
                                      written[row + static_cast<std::uint64_t>(i - begin)] = static_cast<Narrow>(value);
                                    }
                                    if (!all_fit) fits = false;
                                  }));
  if (!fits) return std::nullopt;
  GARUDA_TRY_ASSIGN(stored.validity, validity_of(column.arrays));
  return stored;
}

/// nullopt: the column stays as it is.
Result<std::optional<StoredColumn>> stored_column(TableView table, std::size_t c, Control const& control) {
  auto const& type = table.schema()[c].type;
  if (keys::has_bytes(type)) return as_codes(table, c, control);
  if (type.id != TypeId::decimal128) return std::nullopt;
  if (type.precision <= type_row(TypeId::decimal32).digits)
    return as_narrow_decimals<std::int32_t>(table, c, TypeId::decimal32, control);
  if (type.precision <= type_row(TypeId::decimal64).digits)
    return as_narrow_decimals<std::int64_t>(table, c, TypeId::decimal64, control);
  return std::nullopt;
}

/// The memory that the batches of a stored table refer to.
struct Kept {
  std::vector<std::optional<StoredColumn>> columns;
  std::vector<std::shared_ptr<void const>> batches;  ///< whatever owns the columns that stay as they are
};

Result<StoredTable> store_columns(TableView table, Control const& control) {
  auto const kept = std::make_shared<Kept>();
  StoredTable stored;
  stored.fields = table.schema();
  auto schema = table.schema();
  for (std::size_t c = 0; c < schema.size(); ++c) {
    GARUDA_TRY_ASSIGN(auto column, stored_column(table, c, control));
    if (column) schema[c].type = column->type;
    kept->columns.push_back(std::move(column));
  }
  std::vector<Batch> batches;
  std::int64_t first_row = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& from = table.batch(b);
    kept->batches.push_back(from.owner);
    Batch batch{from.num_rows, {from.columns.begin(), from.columns.end()}, kept};
    for (std::size_t c = 0; c < schema.size(); ++c) {
      auto const& column = kept->columns[c];
      if (!column) continue;
      bool const has_dictionary = column->type.id == TypeId::dictionary;
      batch.columns[c] = {.length = from.num_rows,
                          .null_count = column->validity.empty() ? 0 : count_nulls(from.columns[c]),
                          .validity = column->validity.empty() ? nullptr : column->validity[b].as<std::uint8_t>(),
                          .values = column->rows.data() + first_row * byte_width(column->type),
                          .dictionary = has_dictionary ? &column->dictionary : nullptr};
    }
    first_row += from.num_rows;
    batches.push_back(std::move(batch));
  }
  stored.table = Table(std::move(schema), std::move(batches));
  return stored;
}

}  // namespace

Result<StoredTable> store(TableView table, StoreOptions const& options) {
  GARUDA_TRY(check_threads(options.threads));
  if (table.resident() != nullptr) return fail(ErrorCode::usage, "a table on a device is not stored: download it");
  return on_threads(options.threads, [&]() -> Result<StoredTable> {
    try {
      return store_columns(table, options.control);
    } catch (std::bad_alloc const&) {
      return fail(ErrorCode::out_of_memory, "no memory for the dictionary of a column");
    }
  });
}

}  // namespace garuda
