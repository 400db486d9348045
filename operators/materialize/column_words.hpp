// Columns as words: what passes on a device take and give, to and from Arrow arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::materialize {

/// Columns whose null bits share a word.
inline constexpr std::uint32_t kNullBitsOfWord = 32;

/// Whether values are words as they lie in memory: of fixed width, a multiple of 4 bytes.
bool is_whole_words(DataType const& type) noexcept;

/// Whether wider values of the type continue with their sign: signed integers and decimals.
bool is_signed(TypeId id) noexcept;

/// Writes the rows [first, first + rows) of a column of fixed width: `words` u32 words a value, at least as many as it
/// takes. Signed integers and decimals keep their sign, booleans are 0 or 1, other values end in zeros. Values of null
/// rows are whatever the column holds.
void read_words(TableView table, std::size_t column, std::uint32_t words, std::uint64_t first, std::uint64_t rows,
                std::byte* out);

/// The same for a column of decimals of 128 bits, cut to 64. Returns the first of the rows, counted from the table's,
/// whose value is not null and another one then.
std::optional<std::uint64_t> read_cut_decimals(TableView table, std::size_t column, std::uint64_t first,
                                               std::uint64_t rows, std::byte* out);

/// Writes one u32 a row: bit i says that column `columns[i]` (32 at most) is null.
void read_null_words(TableView table, std::span<std::size_t const> columns, std::uint64_t first, std::uint64_t rows,
                     std::byte* out);

/// Whether some row of the column is null.
bool has_nulls(TableView table, std::size_t column);

/// The inverse of read_words: `words` words a value, cut to the type's width, or continued to it by their sign;
/// booleans become a bitmap. Errors: out_of_memory.
Result<AlignedBuffer> values_of_words(std::uint32_t const* values, std::uint64_t rows, std::uint32_t words,
                                      DataType const& type);

/// A validity bitmap of bit `bit` of null words.
struct ValidityBits {
  AlignedBuffer bits;
  std::int64_t nulls = 0;
};
/// Errors: out_of_memory.
Result<ValidityBits> validity_of(std::uint32_t const* null_words, std::uint64_t rows, std::uint32_t bit);

}  // namespace garuda::materialize
