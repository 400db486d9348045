#include "keys/numbering/value_dictionary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/dictionary.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/numbering/value_numbering.hpp"
#include "keys/numbering/value_order.hpp"

namespace garuda::keys {
namespace {

/// Row codes of a dictionary column from the codes of its dictionaries' values, of which `first_value` are the first.
Result<AlignedBuffer> look_up(KeyColumn const& column, std::span<std::uint64_t const> first_value,
                              std::uint32_t const* codes_of_values, Control const& control) {
  std::vector<std::int64_t> first_rows{0};
  for (auto const& array : column.arrays) first_rows.push_back(first_rows.back() + array.length);
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(first_rows.back() * 4));
  auto const look_up_rows = [&](std::size_t b, std::int64_t begin, std::int64_t end) {
    auto const& array = column.arrays[b];
    auto const* const of_dictionary = codes_of_values + first_value[b];
    auto* const codes = buffer.as<std::uint32_t>() + first_rows[b];
    visit_index_type(column.type.index, [&]<class Index>(Index*) {
      for (auto i = begin; i < end; ++i)
        codes[i] = array.is_null(i) ? kNullCode : of_dictionary[array.data<Index>()[i]];
    });
  };
  constexpr auto kStep = static_cast<std::int64_t>(kBlockRows);
  GARUDA_TRY(for_each_block(
      static_cast<std::size_t>((first_rows.back() + kStep - 1) / kStep), &control, [&](std::size_t block) {
        auto row = static_cast<std::int64_t>(block) * kStep;
        auto const last = std::min(row + kStep, first_rows.back());
        auto b = static_cast<std::size_t>(std::ranges::upper_bound(first_rows, row) - first_rows.begin() - 1);
        for (; row < last; ++b) {
          auto const end = std::min(last, first_rows[b + 1]);
          look_up_rows(b, row - first_rows[b], end - first_rows[b]);
          row = end;
        }
      }));
  return buffer;
}

bool has_nulls(KeyColumn const& column) {
  return std::ranges::any_of(column.arrays, [](ArrayView const& array) {
    return count_nulls(array) > 0 || (array.dictionary != nullptr && count_nulls(*array.dictionary) > 0);
  });
}

/// The indices of a dictionary column without nulls, where they tell its values apart as codes of 32 bits do: one
/// array, whose dictionary has as many values as differ. nullptr: they do not.
std::uint32_t const* indices_as_codes(KeyColumn const& column, std::uint64_t num_values) {
  if (column.arrays.size() != 1 || type_row(column.type.index).width != 4) return nullptr;
  auto const& array = column.arrays.front();
  auto const* const indices = array.data<std::uint32_t>();
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(indices) % alignof(std::uint32_t) == 0;
  bool const is_injective = static_cast<std::uint64_t>(array.dictionary->length) == num_values;
  return array.length > 0 && is_aligned && is_injective ? indices : nullptr;
}

DataType const& type_of_values(KeyColumn const& column) {
  return column.type.id == TypeId::dictionary ? *column.type.value : column.type;
}

Result<std::vector<ColumnCodes>> encode(std::span<KeyColumn const> columns, Control const& control,
                                        std::uint32_t hash_bits, CodeOrder order) {
  ValueBytes values;
  std::vector<std::uint64_t> first;  // of each column: its own first value
  std::vector<std::vector<std::uint64_t>> of_dictionaries;
  for (auto const& column : columns) {
    first.push_back(values.size());
    GARUDA_TRY_ASSIGN(auto of_batches, add_values(column, values));
    of_dictionaries.push_back(std::move(of_batches));
  }
  GARUDA_TRY_ASSIGN(auto list, number_values(values, control, hash_bits));
  if (list.num_codes >= kNullCode)
    return fail(ErrorCode::limit_exceeded, fmt::format("column '{}' has too many distinct values: {}",
                                                       columns.front().field.name, list.num_codes));
  if (order == CodeOrder::ascending)
    GARUDA_TRY(order_codes(values, ValueOrder(type_of_values(columns.front())), list, control));
  auto const shared = std::make_shared<AlignedBuffer const>(std::move(list.codes));
  std::vector<ColumnCodes> codes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto& of_column = codes.emplace_back();
    of_column.num_codes = static_cast<std::uint32_t>(list.num_codes);
    of_column.memory = shared;
    of_column.codes = shared->as<std::uint32_t>() + first[c];
    of_column.has_nulls = has_nulls(columns[c]);
    if (columns[c].type.id != TypeId::dictionary) continue;
    bool const may_be_indices = columns.size() == 1 && order == CodeOrder::any && !of_column.has_nulls;
    if (auto const* const indices = may_be_indices ? indices_as_codes(columns[c], list.num_codes) : nullptr) {
      of_column.memory = nullptr;
      of_column.codes = indices;
      continue;
    }
    GARUDA_TRY_ASSIGN(auto of_rows, look_up(columns[c], of_dictionaries[c], shared->as<std::uint32_t>(), control));
    of_column.memory = std::make_shared<AlignedBuffer const>(std::move(of_rows));
    of_column.codes = of_column.memory->as<std::uint32_t>();
  }
  return codes;
}

}  // namespace

Result<std::vector<ColumnCodes>> encode_values(std::span<KeyColumn const> columns, Control const& control,
                                               std::uint32_t hash_bits, CodeOrder order) {
  try {
    return encode(columns, control, hash_bits, order);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the dictionary of a column");
  }
}

}  // namespace garuda::keys
