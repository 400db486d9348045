#include "partition/value_dictionary.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>

#include "partition/parallel_blocks.hpp"
#include "partition/value_bytes.hpp"
#include "partition/value_numbering.hpp"

namespace garuda::partition {
namespace {

/// Calls visit(first row of the table, array) for the column's arrays that have rows.
template <class Visitor>
void for_each_array(TableView table, std::size_t column, Visitor const& visit) {
  std::uint64_t first = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length > 0) visit(first, array);
    first += static_cast<std::uint64_t>(array.length);
  }
}

/// The values that a column's rows refer to: its own, or those of its dictionaries, each distinct one once.
struct ColumnValues {
  DataType type;
  std::vector<ArrayView> parts;
  std::vector<std::uint64_t> first_value;  ///< dictionaries: per array with rows, first value of its dictionary
};

ColumnValues values_of(TableView table, std::size_t column) {
  ColumnValues result;
  auto const& type = table.schema()[column].type;
  auto const is_dictionary = type.id == TypeId::dictionary;
  result.type = is_dictionary ? *type.value : type;
  std::vector<std::uint64_t> starts;
  std::uint64_t num_values = 0;
  for_each_array(table, column, [&](std::uint64_t, ArrayView const& array) {
    if (!is_dictionary) return result.parts.push_back(array);
    auto const& dictionary = *array.dictionary;
    auto const known = std::find_if(result.parts.begin(), result.parts.end(), [&](ArrayView const& part) {
      return part.values == dictionary.values && part.offsets == dictionary.offsets &&
             part.offset == dictionary.offset && part.length == dictionary.length &&
             part.validity == dictionary.validity;
    });
    if (known != result.parts.end())
      return result.first_value.push_back(starts[static_cast<std::size_t>(known - result.parts.begin())]);
    result.parts.push_back(dictionary);
    starts.push_back(num_values);
    result.first_value.push_back(num_values);
    num_values += static_cast<std::uint64_t>(dictionary.length);
  });
  return result;
}

/// Calls visit with a null pointer to the C++ type of a dictionary's indices.
template <class Visitor>
void visit_index_type(TypeId id, Visitor const& visit) {
  switch (id) {
    case TypeId::int8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case TypeId::int16:
      return visit(static_cast<std::int16_t*>(nullptr));
    case TypeId::int32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case TypeId::int64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case TypeId::uint8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case TypeId::uint16:
      return visit(static_cast<std::uint16_t*>(nullptr));
    case TypeId::uint32:
      return visit(static_cast<std::uint32_t*>(nullptr));
    default:
      return visit(static_cast<std::uint64_t*>(nullptr));
  }
}

/// Row codes of a dictionary column from the codes of its dictionaries' values.
Result<AlignedBuffer> look_up(TableView table, std::size_t column, ColumnValues const& values,
                              AlignedBuffer const& value_codes, Control const& control) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(table.num_rows() * 4));
  auto* const codes = buffer.as<std::uint32_t>();
  auto const* const codes_of_values = value_codes.as<std::uint32_t>();
  std::size_t next = 0;
  for_each_array(table, column, [&](std::uint64_t first, ArrayView const& array) {
    auto const first_value = values.first_value[next++];
    if (is_cancelled(&control)) return;
    visit_index_type(table.schema()[column].type.index, [&]<class Index>(Index*) {
      for (std::int64_t i = 0; i < array.length; ++i) {
        auto const index = array.is_null(i) ? Index{0} : array.data<Index>()[i];
        codes[first + static_cast<std::uint64_t>(i)] =
            array.is_null(i) ? kNullCode : codes_of_values[first_value + static_cast<std::uint64_t>(index)];
      }
    });
  });
  GARUDA_TRY(check_cancelled(&control));
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

Result<ColumnRanks> rank(TableView table, std::size_t column, Control const& control) {
  auto source = values_of(table, column);
  GARUDA_TRY_ASSIGN(auto const values, ValueBytes::create(source.parts, source.type));
  GARUDA_TRY_ASSIGN(auto encoded, encode(table, column, source, values, control));
  auto const num_codes = encoded.codes.num_codes;
  std::vector<std::uint32_t> order(num_codes);
  std::iota(order.begin(), order.end(), 0U);
  oneapi::tbb::parallel_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return values[encoded.heads[a]] < values[encoded.heads[b]];
  });
  std::vector<std::uint32_t> rank_of(num_codes);
  for (std::uint32_t r = 0; r < num_codes; ++r) rank_of[order[r]] = r;
  constexpr auto kNoRow = std::numeric_limits<std::uint64_t>::max();
  ColumnRanks ranks{std::move(encoded.codes.codes), std::vector<std::uint64_t>(num_codes, kNoRow)};
  auto const num_rows = static_cast<std::uint64_t>(table.num_rows());
  auto* const words = ranks.ranks.as<std::uint32_t>();
  GARUDA_TRY(for_each_block((num_rows + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    auto const end = std::min(num_rows, (block + 1) * kBlockRows);
    for (auto row = block * kBlockRows; row < end; ++row)
      if (words[row] != kNullCode) words[row] = rank_of[words[row]];
  }));
  if (table.schema()[column].type.id != TypeId::dictionary) {
    for (std::uint32_t r = 0; r < num_codes; ++r) ranks.rows[r] = encoded.heads[order[r]];
    return ranks;
  }
  for (std::uint64_t row = 0; row < num_rows; ++row)
    if (words[row] != kNullCode && ranks.rows[words[row]] == kNoRow) ranks.rows[words[row]] = row;
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

}  // namespace garuda::partition
