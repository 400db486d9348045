// Columns as words: what passes on a device take and give, to and from Arrow arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::materialize {

/// Calls visit(array, first row of it, rows, row of the request) for the parts of the rows [first, first + rows) of a
/// column, in their order.
template <class Visit>
void visit_parts(TableView table, std::size_t column, std::uint64_t first, std::uint64_t rows, Visit const& visit) {
  std::uint64_t begin = 0;
  for (std::size_t b = 0; b < table.num_batches() && begin < first + rows; ++b) {
    auto const& array = table.batch(b).columns[column];
    auto const length = static_cast<std::uint64_t>(array.length);
    auto const from = std::max(begin, first);
    auto const to = std::min(begin + length, first + rows);
    if (from < to)
      visit(array, static_cast<std::int64_t>(from - begin), static_cast<std::int64_t>(to - from), from - first);
    begin += length;
  }
}

/// Bytes of a word, in which columns are counted.
inline constexpr std::uint64_t kWordBytes = 4;

/// Columns whose null bits share a word.
inline constexpr std::uint32_t kNullBitsOfWord = 32;

/// Whether values are words as they lie in memory: of fixed width, a multiple of 4 bytes.
bool is_whole_words(DataType const& type) noexcept;

/// Writes the rows [first, first + rows) of a column of fixed width: `words` u32 words a value, at least as many as it
/// takes. Signed integers and decimals keep their sign, booleans are 0 or 1, other values end in zeros. Values of null
/// rows are whatever the column holds.
void read_words(TableView table, std::size_t column, std::uint32_t words, std::uint64_t first, std::uint64_t rows,
                std::byte* out);

/// Reads a column of decimals of 128 bits, cut to 64. Returns the first of the rows, counted from the table's,
/// whose value is not null and another one then.
std::optional<std::uint64_t> read_cut_decimals(TableView table, std::size_t column, std::uint64_t first,
                                               std::uint64_t rows, std::byte* out);

/// Writes one u32 a row: bit i says that column `columns[i]` (32 at most) is null.
void read_null_words(TableView table, std::span<std::size_t const> columns, std::uint64_t first, std::uint64_t rows,
                     std::byte* out);

/// A column's words, as a device has them.
struct ColumnWords {
  std::uint32_t const* values = nullptr;
  std::uint32_t words = 1;  ///< of a value
  std::uint32_t const* nulls = nullptr;
  std::uint32_t null_bit = 0;
};

/// The inverse of read_words and read_null_words, for `rows` rows. Words that are values of the type stay where they
/// are; what is made of others is added to `made`: values cut to the type's width, or continued to it by their sign,
/// booleans and validity as bitmaps. Errors: out_of_memory.
Result<ArrayView> array_of_words(ColumnWords const& column, std::uint64_t rows, DataType const& type,
                                 std::vector<AlignedBuffer>& made);

/// The nulls of an array of `rows` rows alone, as above: its validity, and their number.
Result<void> set_nulls(ColumnWords const& column, std::uint64_t rows, ArrayView& array,
                       std::vector<AlignedBuffer>& made);

}  // namespace garuda::materialize
