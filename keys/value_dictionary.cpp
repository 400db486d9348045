#include "keys/value_dictionary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "core/dictionary.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/attribute_reader.hpp"
#include "keys/value_bytes.hpp"
#include "keys/value_numbering.hpp"
#include "keys/value_order.hpp"

namespace garuda::keys {
namespace {

/// The values that a column's rows refer to: its own, or those of its dictionaries, each distinct one once.
struct ColumnValues {
  DataType type;
  std::vector<ArrayView> parts;
  std::vector<std::uint64_t> first_value;  ///< dictionaries: per batch, first value of its dictionary
};

ColumnValues values_of(TableView table, std::size_t column) {
  ColumnValues result;
  auto const& type = table.schema()[column].type;
  auto const is_dictionary = type.id == TypeId::dictionary;
  result.type = is_dictionary ? *type.value : type;
  std::vector<ArrayView> arrays;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (is_dictionary || array.length > 0) arrays.push_back(array);
  }
  if (!is_dictionary) {
    result.parts = std::move(arrays);
    return result;
  }
  auto distinct = distinct_dictionaries(arrays);
  std::vector<std::uint64_t> starts{0};
  for (auto const& dictionary : distinct.dictionaries)
    starts.push_back(starts.back() + static_cast<std::uint64_t>(dictionary.length));
  for (auto const which : distinct.of_array) result.first_value.push_back(starts[which]);
  result.parts = std::move(distinct.dictionaries);
  return result;
}

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

struct Encoded {
  ColumnCodes codes;
  std::vector<std::uint64_t> heads;  ///< of each code, the first value of `values` that has it
};

Result<Encoded> encode(TableView table, std::size_t column, ColumnValues const& source, ValueBytes const& values,
                       Control const& control) {
  GARUDA_TRY_ASSIGN(auto list, number_values(values, control));
  if (list.heads.size() >= kNullCode)
    return fail(ErrorCode::limit_exceeded, fmt::format("column '{}' has too many distinct values: {}",
                                                       table.schema()[column].name, list.heads.size()));
  Encoded encoded;
  encoded.codes.num_codes = static_cast<std::uint32_t>(list.heads.size());
  encoded.heads = std::move(list.heads);
  encoded.codes.codes = std::move(list.codes);
  if (table.schema()[column].type.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(encoded.codes.codes, look_up(table, column, source, encoded.codes.codes, control));
  }
  return encoded;
}

/// Calls body(begin, end) for blocks of the numbers below `count`.
template <class Body>
Result<void> for_blocks_of(std::uint64_t count, Control const& control, Body const& body) {
  return for_each_block((count + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    body(block * kBlockRows, std::min(count, (block + 1) * kBlockRows));
  });
}

/// Of each rank, the first row that has it.
Result<std::vector<std::uint64_t>> first_rows_of(AlignedBuffer const& ranks, std::uint64_t num_rows,
                                                 std::uint32_t num_ranks, Control const& control) {
  constexpr auto kNoRow = std::numeric_limits<std::uint64_t>::max();
  auto const* const words = ranks.as<std::uint32_t>();
  std::vector<std::uint64_t> rows(num_ranks, kNoRow);
  for (std::uint64_t begin = 0; begin < num_rows; begin += kBlockRows) {
    GARUDA_TRY(check_cancelled(&control));
    for (auto row = begin; row < std::min(num_rows, begin + kBlockRows); ++row)
      if (words[row] != kNullCode && rows[words[row]] == kNoRow) rows[words[row]] = row;
  }
  return rows;
}

Result<ColumnRanks> rank(TableView table, std::size_t column, Control const& control) {
  auto source = values_of(table, column);
  GARUDA_TRY_ASSIGN(auto const values, ValueBytes::create(source.parts, source.type));
  GARUDA_TRY_ASSIGN(auto encoded, encode(table, column, source, values, control));
  auto const num_codes = encoded.codes.num_codes;
  GARUDA_TRY_ASSIGN(auto const sorted, sort_values(values, encoded.heads, control));
  auto const* const order = sorted.as<std::uint32_t>();
  GARUDA_TRY_ASSIGN(auto rank_buffer, AlignedBuffer::allocate(std::int64_t{num_codes} * 4));
  auto* const rank_of = rank_buffer.as<std::uint32_t>();
  GARUDA_TRY(for_blocks_of(num_codes, control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto r = begin; r < end; ++r) rank_of[order[r]] = static_cast<std::uint32_t>(r);
  }));
  auto const num_rows = static_cast<std::uint64_t>(table.num_rows());
  ColumnRanks ranks{std::move(encoded.codes.codes), {}};
  auto* const words = ranks.ranks.as<std::uint32_t>();
  GARUDA_TRY(for_blocks_of(num_rows, control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto row = begin; row < end; ++row)
      if (words[row] != kNullCode) words[row] = rank_of[words[row]];
  }));
  if (table.schema()[column].type.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(ranks.rows, first_rows_of(ranks.ranks, num_rows, num_codes, control));
    return ranks;
  }
  ranks.rows.resize(num_codes);
  GARUDA_TRY(for_blocks_of(num_codes, control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto r = begin; r < end; ++r) ranks.rows[r] = encoded.heads[order[r]];
  }));
  return ranks;
}

/// Runs `body` and turns a failed allocation into an error.
template <class Body>
std::invoke_result_t<Body> or_out_of_memory(Body const& body) {
  try {
    return body();
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the dictionary of a column");
  }
}

}  // namespace

Result<ColumnCodes> encode_values(TableView table, std::size_t column, Control const& control) {
  return or_out_of_memory([&]() -> Result<ColumnCodes> {
    auto source = values_of(table, column);
    GARUDA_TRY_ASSIGN(auto const values, ValueBytes::create(source.parts, source.type));
    GARUDA_TRY_ASSIGN(auto encoded, encode(table, column, source, values, control));
    return std::move(encoded.codes);
  });
}

Result<ColumnRanks> rank_values(TableView table, std::size_t column, Control const& control) {
  return or_out_of_memory([&] { return rank(table, column, control); });
}

}  // namespace garuda::keys
