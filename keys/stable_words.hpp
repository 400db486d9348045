// Key columns as words that mean the same in every table of the same columns, whatever values the others have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/numbering/value_table.hpp"

namespace garuda::keys {

/// Numbers of values of bytes, in the order in which they first come, with copies of these. Throws std::bad_alloc.
class GrowingDictionary {
 public:
  /// Adds the value's number to *word, no later than flush() returns; until then its bytes are read.
  void add(std::string_view value, std::uint64_t* word);
  void flush();

 private:
  ValueTable table_;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> bytes_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
  ValueBatch<std::uint64_t*> batch_;
};

/// Words of the keys of tables that come one after the other: rows of any of them are equal when their words are. The
/// first word is folded with a hash of the others, so that it tells nearly all rows apart. Nulls are keys. Used by one
/// thread at a time. Throws std::bad_alloc.
class StableWords {
 public:
  /// Whether values of the type have words of their own: not decimals of 256 bits, and of dictionaries one that
  /// all tables share, of less than 2^31 values that differ (have_one_distinct_dictionary).
  static bool can_write(DataType const& type, bool is_one_dictionary) noexcept;

  static constexpr std::size_t kMostColumns = 64;  ///< of keys: each has a bit for its null

  /// `types`: of the key columns; strings and binary may come in other forms. `one_word_columns`: a bit for each of
  /// these whose values are to have one word, which is for the best where few have more than kOneWordBytes bytes that
  /// two words would hold. Requires: 1 to kMostColumns, can_write of all.
  explicit StableWords(std::span<DataType const> types, std::uint64_t one_word_columns = 0);

  static constexpr std::size_t kOneWordBytes = 7;
  /// The columns of strings and binary for which one word is for the best, a bit each.
  static std::uint64_t one_word_columns_of(TableView table, std::span<std::size_t const> columns);

  /// Writes the words of all rows of a table, whose key columns are at `columns`. The table's strings need not outlive
  /// the call. Errors: those of open_key_column.
  Result<void> write(TableView table, std::span<std::size_t const> columns);

  /// The words of the rows that were written last, word by word.
  std::span<std::uint64_t const* const> words() const noexcept { return pointers_; }

 private:
  /// The words of a column: the first one, and how many there are. Indices of dictionaries take half of one.
  struct Place {
    std::size_t first = 0;
    std::size_t count = 1;
    std::uint32_t shift = 0;
  };

  void write_bytes(ArrayView const& array, DataType const& type, std::size_t column, std::uint64_t first_row);
  void write_one_word(ArrayView const& array, DataType const& type, std::size_t column, std::uint64_t first_row);
  void write_views(ArrayView const& array, std::size_t column, std::uint64_t first_row);
  void write_indices(ArrayView const& array, DataType const& type, std::size_t column, std::uint64_t first_row);
  void write_codes(RowBlock const& block, AttributeReader const& reader, std::size_t column);
  std::uint64_t* word(std::size_t i) noexcept { return words_[i].data(); }

  std::vector<Place> places_;  ///< a key column each
  std::size_t num_words_ = 0;
  std::size_t null_word_ = 0;  ///< a bit for each null key of a type whose words have no room for nulls
  bool has_null_word_ = false;
  std::vector<UnsetVector<std::uint64_t>> words_;
  std::vector<std::uint64_t const*> pointers_;
  std::vector<GrowingDictionary> long_values_;  ///< a key column each
  AttributeCodes codes_;
};

}  // namespace garuda::keys
