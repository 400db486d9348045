// Key columns of any type, read as integers of the same order (dictionary codes where the type has no such integers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "keys/codes/byte_coding.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/numbering/mix.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {

/// Consecutive rows of one batch, at most kBlockRows.
struct RowBlock {
  std::size_t batch = 0;
  std::int64_t begin = 0;  ///< counted from the arrays' offsets
  std::int64_t length = 0;
  std::uint64_t first_row = 0;  ///< row of the table
};

/// Cuts the rows of `table` into blocks, in order.
std::vector<RowBlock> cut_row_blocks(TableView table);

/// Hash of a null key.
inline constexpr std::uint64_t kNullHash = 0x6A09'E667'F3BC'C908;

/// Codes of the rows of a block; what stands at null rows is 0.
struct AttributeCodes {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;  ///< of types wider than 64 bits; else empty
  std::vector<std::uint8_t> valid;  ///< 1 or 0 a row

  UInt128 wide(std::size_t i) const noexcept { return (UInt128{high[i]} << 64) | low[i]; }

  /// A hash of row i's code; nulls hash to one value, which no other has to be different from.
  std::uint64_t hash(std::size_t i) const noexcept {
    if (valid[i] == 0) return kNullHash;
    return high.empty() ? mix(low[i]) : mix(mix(low[i]) ^ high[i]);
  }
};

/// Integers of `width` bytes as they lie in the column, or among the numbers of its values; not necessarily aligned.
struct NativeIntegers {
  std::byte const* values = nullptr;
  std::int32_t width = 0;
  bool is_signed = false;
  std::uint64_t zero = 0;                  ///< code of the value 0: code(v) = v, sign-extended, + zero modulo 2^64
  std::uint8_t const* validity = nullptr;  ///< nullptr: no nulls among these rows
  std::int64_t first_bit = 0;              ///< of the bitmap: that of the first row
};

/// The code of an integer: signed ones, sign-extended, with the sign bit flipped.
template <class T>
constexpr std::uint64_t integer_code(T value) noexcept {
  constexpr std::uint64_t kFlip = std::is_signed_v<T> ? std::uint64_t{1} << 63 : 0;
  return static_cast<std::uint64_t>(value) ^ kFlip;
}

/// Whether values of a type have codes of their own; others get theirs from what values there are.
bool has_codes(DataType const& type) noexcept;

/// How the values of a key column are got back from their codes.
enum class CodeInverse : std::uint8_t {
  none,  ///< not from the code alone: dictionaries, and the types that are only compared
  signed_integer,
  unsigned_integer,
  float32,
  float64,
  bytes,  ///< by the column's ByteCoding
};

/// Codes of a column's bytes.
struct ByteCodes {
  std::shared_ptr<ByteCoding const> coding;
  /// The coding is that of other values; each of the column's that is not of their shape has the code behind the last.
  bool has_others = false;
};

/// Codes of a column whose type has none: none, a number of each row, or those of its bytes.
using GivenCodes = std::variant<std::monostate, ColumnCodes, ByteCodes>;

/// One key column. Safe to use from several threads.
class AttributeReader {
 public:
  /// The column's codes are those of type `as`: its own, or one of common_key_type; where it has none, those `given`.
  /// Requires: `column` was opened to be compared as `as`.
  AttributeReader(KeyColumn column, DataType const& as, GivenCodes given = {});

  Field const& field() const noexcept { return column_.field; }
  /// The column, without its codes.
  KeyColumn take_column() && { return std::move(column_); }
  /// True when codes take more than 64 bits.
  bool is_wide() const noexcept { return wide_; }
  bool is_dictionary() const noexcept { return std::holds_alternative<ColumnCodes>(given_); }
  /// The numbers of all rows of the table, if its rows are numbered and none is null; else nullptr.
  ColumnCodes const* plain_numbers() const noexcept {
    auto const* const numbered = std::get_if<ColumnCodes>(&given_);
    return numbered == nullptr || numbered->has_nulls ? nullptr : numbered;
  }
  /// nullptr: codes are not those of bytes.
  std::shared_ptr<ByteCoding const> byte_coding() const noexcept {
    auto const* const codes = std::get_if<ByteCodes>(&given_);
    return codes == nullptr ? nullptr : codes->coding;
  }

  /// Reads the codes of a block into `out`. Two rows have equal codes, and are equally valid, exactly when their keys
  /// are equal, or neither is of the shape of its ByteCodes.
  void read(RowBlock const& block, AttributeCodes& out) const;

  /// The values of a block as they lie in the column, or their numbers where none is null; nullopt when their codes are
  /// no integers of at most 64 bits.
  std::optional<NativeIntegers> native_integers(RowBlock const& block) const noexcept;

  /// The greatest of given codes. nullopt: codes are the type's.
  std::optional<std::uint64_t> last_code() const noexcept;
  /// Nulls among the rows of a block.
  std::int64_t num_nulls(RowBlock const& block) const noexcept;

  /// Sets keep[i] to 0 where row i of the block is null. False, with nothing set: none is, as far as its column says.
  bool mark_nulls(RowBlock const& block, std::uint8_t* keep) const noexcept;

  CodeInverse inverse() const noexcept;

  /// The low 64 bits of the code of the value 0 of integers and decimals.
  std::uint64_t code_of_zero() const noexcept { return wide_ ? 0 : zero_; }
  /// code_of_zero() for an integer type that can be read as words; nullopt for others.
  std::optional<std::uint64_t> zero_in_place() const noexcept;
  /// Whether codes are values of the table's column, extended by their sign, + that of 0.
  bool has_integers_of_table() const noexcept { return column_.owned.empty() && is_integer_; }

 private:
  ArrayView const& array(RowBlock const& block) const noexcept { return column_.arrays[block.batch]; }

  KeyColumn column_;
  bool wide_ = false;
  bool is_integer_ = false;
  std::uint64_t zero_ = 0;  ///< code of the value 0 of integers; its upper half where codes are wide
  GivenCodes given_;
};

/// Codes of columns of one or two tables, compared as `type`, a column each: none where the type has its own, those of
/// their bytes if there are few, else numbers of their values. Of two columns of which one has by far fewer rows,
/// values that only the other has may share one code. Runs on the threads of the calling task arena. `hash_bits`: as
/// number_values takes them. Errors: cancelled, out_of_memory. Throws std::bad_alloc.
Result<std::vector<GivenCodes>> give_codes(std::span<KeyColumn const> columns, DataType const& type,
                                           Control const& control, std::uint32_t hash_bits);

/// How the keys of other columns get the codes that those of a join's build side have: by the type, where both are
/// null.
struct BuildCodes {
  std::shared_ptr<ByteCoding const> bytes;
  std::shared_ptr<ValueNumbers const> numbers;
};

/// Codes of a build side's key column, compared as `type`, and how those of other columns follow; `of_bytes`: the
/// columns that it is compared with are no dictionaries. Borrows the column. Runs on the threads of the calling task
/// arena. Errors: those of number_column. Throws std::bad_alloc.
struct GivenBuildCodes {
  GivenCodes given;
  BuildCodes kept;
};
Result<GivenBuildCodes> give_build_codes(KeyColumn const& column, DataType const& type, bool of_bytes,
                                         Control const& control);

/// Codes of a column that is compared with a build side's: those of equal keys are equal, keys that the build side does
/// not have may share the code behind the last. Errors: those of look_up_values. Throws std::bad_alloc.
Result<GivenCodes> give_probe_codes(KeyColumn const& column, BuildCodes const& build, Control const& control);

/// Hashes the keys of a column, one a row. Keys that are equal as values of type `as` have equal hashes: that is the
/// type as which both columns of a join are compared (CommonKeyType), or the column's own. Nulls are equal. Runs on the
/// calling thread.
/// Requires: as many hashes as rows; `as` is no dictionary. Errors: those of open_key_column; out_of_memory.
Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes);

/// The hash of a row's keys up to one column, and that column's key.
constexpr std::uint64_t add_key_hash(std::uint64_t row, std::uint64_t key) noexcept { return mix(row ^ key); }

}  // namespace garuda::keys
