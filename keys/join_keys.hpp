// Keys of a join: the key columns of two tables as words of one layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/key_encoder.hpp"
#include "keys/key_layout.hpp"

namespace garuda::keys {

struct EncodedJoinKeys {
  EncodedKeys left, right;
  /// Base of one key column of integers: word = key (sign-extended to 64 bits) - base, modulo 2^64; nullopt: words do
  /// not tell the keys' values.
  std::optional<std::uint64_t> base;
  bool has_nulls = false;    ///< of kept nulls, on either side; of one key column word 0 is null then, unless numbered
  bool is_numbered = false;  ///< keys of more than 64 bits: words are their numbers
};

/// Encodes the key columns of two tables, in parallel on the threads of the calling task arena. Words are exact:
/// those of the two tables are equal if and only if the keys are. Where the codes of all columns together fit 64 bits
/// they are packed into words of 32 bits when these suffice, 64 otherwise; else the distinct keys of both tables are
/// numbered, in words of 32 bits. Of one column of integers words are key - base, the base being the smallest key of
/// both sides; it is 0 when that lets a column be borrowed: one batch with rows, no nulls, a type as wide as the words,
/// aligned to them, and for words of 32 bits no negative key on either side. What is borrowed must outlive the result.
/// `nulls`: whether rows with a null in some key column have words, the same on both sides. `hash_bits`: of the hashes
/// that numbering looks values up by; what it gives does not depend on them.
/// Requires: as many columns of both tables, at least one, and they exist. Errors: those of common_key_type and
/// open_key_column; limit_exceeded for 2^32 - 1 distinct keys or more that have to be numbered; out_of_memory;
/// cancelled.
Result<EncodedJoinKeys> encode_join_keys(KeyColumns const& left, KeyColumns const& right, Control const& control,
                                         NullKeys nulls = NullKeys::left_out, std::uint32_t hash_bits = 64);

/// A key column as it is compared with others.
struct ComparedKey {
  DataType type;          ///< CommonKeyType::compared
  bool of_bytes = false;  ///< of strings or binary on both sides, none of them a dictionary

  friend bool operator==(ComparedKey const&, ComparedKey const&) = default;
};

/// The keys of a join's build side: encoded once, in a layout of their own, in which the keys of any probe side are
/// encoded later. Rows of a probe side whose keys the layout has no word for match nothing: they get none, as rows with
/// null keys. Immutable but for take_words. Borrows the table.
class BuildKeys {
 public:
  /// `compared`: a key column each. Parallel, requires and errors: as encode_join_keys.
  static Result<std::unique_ptr<BuildKeys>> create(KeyColumns const& build, std::vector<ComparedKey> compared,
                                                   NullKeys nulls, Control const& control);

  /// The build side's own words. Call once.
  EncodedKeys take_words() noexcept { return std::move(words_); }
  /// Host memory that encoding probe sides takes; its own words are not counted.
  std::uint64_t owned_bytes() const noexcept;

  /// `left`: the words of a probe side, whose key columns are compared as the build side's; `right` has none. Parallel,
  /// borrows and errors: as encode_join_keys.
  Result<EncodedJoinKeys> encode(KeyColumns const& probe, Control const& control) const;

 private:
  BuildKeys(NullKeys nulls, std::vector<ComparedKey> compared) : nulls_(nulls), compared_(std::move(compared)) {}
  Result<void> encode_build(KeyColumns const& build, Control const& control);

  NullKeys nulls_;
  std::vector<ComparedKey> compared_;
  std::vector<KeyColumn> columns_;  ///< hold what `codes_` refer to
  std::vector<BuildCodes> codes_;   ///< a key column each
  KeyLayout layout_;
  std::optional<std::uint64_t> base_;    ///< EncodedJoinKeys::base beside integers of a table
  AlignedBuffer rows_;                   ///< of keys that are not packed: their words, row by row
  std::optional<ValueNumbers> numbers_;  ///< of these
  EncodedKeys words_;
};

}  // namespace garuda::keys
