// The encoder of keys: key columns of one table, or of two that are compared, → words on which equality is theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/key_layout.hpp"

namespace garuda::keys {

/// Key columns of a table.
struct KeyColumns {
  TableView table;
  std::vector<std::size_t> columns;
};

/// Key columns that are open. Borrows the table.
struct OpenKeys {
  TableView table;
  std::vector<std::size_t> columns;
  std::vector<AttributeReader> readers;  ///< a column each
  std::vector<RowBlock> blocks;          ///< all rows
};

/// Opens the key columns of each table, so that column i of every table has codes of one type. Types without integers
/// get theirs here, for both tables: of short strings and binary those of a ByteCoding, else numbers from a dictionary.
/// In parallel on the threads of the calling task arena.
/// Requires: one table or two, as many columns of each, at least one, and they exist.
/// `hash_bits`: of hashes of values, as number_values takes them.
/// Errors: those of common_key_type when there are two tables, and of open_key_column and encode_values; cancelled.
/// Throws std::bad_alloc.
Result<std::vector<OpenKeys>> open_keys(std::span<KeyColumns const> tables, Control const& control,
                                        std::uint32_t hash_bits = 64);

/// The treatment of a row with a null in one of its key columns.
enum class NullKeys : std::uint8_t {
  kept,      ///< null is a key like any other
  left_out,  ///< it has no word: it matches nothing
};

/// How the words of rows lie whose keys take several.
enum class WordOrder : std::uint8_t {
  columns,  ///< word by word, each in a buffer of its own, the first one folded (fold_words)
  rows,     ///< row by row, all in one buffer
};

/// The keys of one table, in the form that the layout says.
struct EncodedTable {
  EncodedKeys packed;                ///< words form: what it says of rows alone
  std::vector<WordPart> parts;       ///< where packed words lie in several batches: `packed` refers to none then
  std::vector<AlignedBuffer> words;  ///< words form: u64, packed.num_rows of each word of the layout's RowPlaces
};

/// Sets what `keys` say of their words, of 32 bits. Runs on the threads of the calling task arena. Errors: cancelled.
Result<void> measure_words(EncodedKeys& keys, Control const& control);

/// The findings of a first pass over the keys of a table.
struct KeyScan {
  std::vector<CodeRange> ranges;          ///< an attribute each
  std::vector<std::uint64_t> first_keys;  ///< of each block: rows before it that get words, then the number of all
  std::uint64_t num_keys() const noexcept { return first_keys.back(); }
};

/// Scans, then writes; both in parallel on the threads of the calling task arena. Throws std::bad_alloc.
class KeyEncoder {
 public:
  /// Borrows all three.
  KeyEncoder(std::span<OpenKeys const> tables, NullKeys nulls, Control const& control)
      : tables_(tables), nulls_(nulls), control_(control) {}

  /// Finds the ranges of all codes. Call first. Errors: cancelled.
  Result<void> scan();

  /// Chooses the layout: attributes are packed when their ranges together fit 64 bits, unless `form` asks for words (or
  /// row ids, which compare words too). A table whose only attribute has the layout already is borrowed, then it must
  /// outlive the words; `signs_in_place`: also when keys of 64 bits have both signs, so that only bounds of the words
  /// are known; `in_parts`: also from several batches. Errors: usage when `form` is packed and the keys do not fit.
  Result<void> choose_layout(KeyForm form, bool signs_in_place, bool in_parts = false);
  KeyLayout const& layout() const noexcept { return layout_; }

  /// The words of a table of at most kFewRows rows in the layout of other tables' keys, in one pass, without scan() and
  /// take_layout(): where its only key column holds integers, none of them null. nullopt: it is otherwise.
  /// Errors: out_of_memory.
  Result<std::optional<EncodedKeys>> encode_few(std::size_t table, KeyLayout const& layout) const;
  static constexpr std::uint64_t kFewRows = std::uint64_t{1} << 17;

  /// Takes a layout that was made of other tables' keys, in place of choose_layout: rows whose keys it has no word for
  /// get none. Errors: cancelled.
  Result<void> take_layout(KeyLayout layout);

  /// Writes the words of a table; `order`: of keys that are not packed. Errors: out_of_memory, cancelled.
  Result<EncodedTable> encode(std::size_t table, WordOrder order = WordOrder::columns) const;

 private:
  static CodeRange codes_of_words(KeyLayout const& layout, std::size_t attribute);
  std::vector<WordPart> words_in_place(std::size_t table) const;
  std::uint32_t const* indices_in_place(std::size_t table) const;
  std::optional<std::uint64_t> zero_in_place(bool signs_in_place) const;

  std::span<OpenKeys const> tables_;
  NullKeys nulls_;
  Control const& control_;
  std::vector<KeyScan> scans_;                  // a table each
  std::vector<std::vector<CodeRange>> limits_;  // a table each: of the codes that have words; none: all have
  KeyLayout layout_;
  bool in_parts_ = false;
};

}  // namespace garuda::keys
