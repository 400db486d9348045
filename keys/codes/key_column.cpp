#include "keys/codes/key_column.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <utility>

#include "core/dictionary.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"

namespace garuda::keys {
namespace {

KeyColumn plain_column(TableView table, std::size_t column) {
  KeyColumn result;
  result.field = table.schema()[column];
  result.type = result.field.type;
  for (std::size_t b = 0; b < table.num_batches(); ++b) result.arrays.push_back(table.batch(b).columns[column]);
  return result;
}

/// Values of `from` are read as those of `as` by whoever knows both types.
bool is_read_as(DataType const& from, DataType const& as) {
  auto const is_bytes = [](DataType const& type) {
    return has_bytes(type.id == TypeId::dictionary ? *type.value : type);
  };
  return from == as || extends_to(from, as) || (is_bytes(from) && is_bytes(as));
}

}  // namespace

bool has_bytes(DataType const& type) noexcept { return type_row(type.id).family == TypeFamily::bytes; }

Result<KeyColumn> open_key_column(TableView table, std::size_t column, DataType const& as, Control const& control) {
  GARUDA_EXPECTS(column < table.num_columns());
  auto result = plain_column(table, column);
  std::vector<std::uint64_t> first_rows{0};
  for (auto const& array : result.arrays) {
    if (array.location.kind == Location::Kind::device)
      return fail(ErrorCode::invalid_input,
                  fmt::format("key column is in device memory, not in the host's: '{}'", result.field.name));
    first_rows.push_back(first_rows.back() + static_cast<std::uint64_t>(array.length));
  }
  if (is_read_as(result.type, as)) return result;
  result.owned.resize(result.arrays.size());
  std::mutex mutex;
  std::optional<Error> failure;
  GARUDA_TRY(for_each_block(result.arrays.size(), &control, [&](std::size_t b) {
    auto wide = widen(result.arrays[b], result.type, as, first_rows[b]);
    if (wide) {
      result.owned[b] = std::move(*wide);
      result.arrays[b] = result.owned[b].view;
      return;
    }
    std::lock_guard const lock(mutex);
    failure = std::move(wide).error();
  }));
  if (failure)
    return tl::unexpected(
        std::move(*failure).wrap(fmt::format("key column '{}' cannot be compared", result.field.name)));
  result.type = as;
  return result;
}

Result<std::vector<std::uint64_t>> add_values(KeyColumn const& column, ValueBytes& values) {
  std::vector<std::uint64_t> first_value;
  if (column.type.id != TypeId::dictionary) {
    GARUDA_TRY(values.add(column.arrays, column.type));
    return first_value;
  }
  auto const distinct = distinct_dictionaries(column.arrays);
  std::vector<std::uint64_t> starts{values.size()};
  for (auto const& dictionary : distinct.dictionaries)
    starts.push_back(starts.back() + static_cast<std::uint64_t>(dictionary.length));
  for (auto const which : distinct.of_array) first_value.push_back(starts[which]);
  GARUDA_TRY(values.add(distinct.dictionaries, *column.type.value));
  return first_value;
}

Result<ColumnValues> values_of(TableView table, std::size_t column) {
  ColumnValues values;
  auto const plain = plain_column(table, column);
  if (plain.type.id == TypeId::decimal256) {
    GARUDA_TRY(values.bytes.add_in_order(plain.arrays));
    return values;
  }
  GARUDA_TRY_ASSIGN(values.first_value, add_values(plain, values.bytes));
  return values;
}

}  // namespace garuda::keys
