#include "keys/value_dictionary.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "core/dictionary.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/attribute_reader.hpp"
#include "keys/column_values.hpp"
#include "keys/value_numbering.hpp"

namespace garuda::keys {
namespace {

/// Row codes of a dictionary column from the codes of its dictionaries' values.
Result<AlignedBuffer> look_up(TableView table, std::size_t column, ColumnValues const& values,
                              AlignedBuffer const& value_codes, Control const& control) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(table.num_rows() * 4));
  auto const* const codes_of_values = value_codes.as<std::uint32_t>();
  auto const blocks = cut_row_blocks(table);
  GARUDA_TRY(for_each_block(blocks.size(), &control, [&](std::size_t b) {
    auto const& block = blocks[b];
    auto const array = slice(table.batch(block.batch).columns[column], block.begin, block.length);
    auto const* const of_dictionary = codes_of_values + values.first_value[block.batch];
    auto* const codes = buffer.as<std::uint32_t>() + block.first_row;
    visit_index_type(table.schema()[column].type.index, [&]<class Index>(Index*) {
      for (std::int64_t i = 0; i < array.length; ++i)
        codes[i] = array.is_null(i) ? kNullCode : of_dictionary[array.data<Index>()[i]];
    });
  }));
  return buffer;
}

Result<ColumnCodes> encode(TableView table, std::size_t column, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const values, values_of(table, column));
  GARUDA_TRY_ASSIGN(auto list, number_values(values.bytes, control));
  if (list.num_codes >= kNullCode)
    return fail(ErrorCode::limit_exceeded, fmt::format("column '{}' has too many distinct values: {}",
                                                       table.schema()[column].name, list.num_codes));
  if (!values.first_value.empty()) {
    GARUDA_TRY_ASSIGN(list.codes, look_up(table, column, values, list.codes, control));
  }
  return ColumnCodes{std::move(list.codes), static_cast<std::uint32_t>(list.num_codes)};
}

}  // namespace

Result<ColumnCodes> encode_values(TableView table, std::size_t column, Control const& control) {
  try {
    return encode(table, column, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the dictionary of a column");
  }
}

}  // namespace garuda::keys
