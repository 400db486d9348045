// The columns that the tables of a join on a device send along, their places among the stored columns of its result,
// and the unmatched rows there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expr/sides.hpp"
#include "garuda/error.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// Columns that one side sends along: each of its stored columns that the result needs, once.
class MovedSide {
 public:
  /// Keys are the values of the column `keys` names, or of several are composed, when they are joined.
  MovedSide(DeviceTableState const& table, std::vector<std::size_t> keys, bool are_composed);

  /// `keeps_key_nulls`: rows whose key is null may be in the result. Codes of a dictionary are not known from the key.
  void add(std::size_t column, bool keeps_key_nulls);
  /// The key's null words once more, for a key column of both sides, of composed keys a bit each. Requires of others
  /// key_nulls().
  void add_key_nulls();
  /// The values of one of composed keys, for a key column of both sides.
  void add_key_values(std::size_t key, std::uint32_t words);

  /// Sets the width in which keys will be compared that are not composed yet.
  void compare_in(std::uint32_t key_words) noexcept { rows_.keys.words = key_words; }

  compute::DeviceRows const& rows() const noexcept { return rows_; }
  Field const& key_field() const { return table_.schema[key_column()]; }
  DeviceTableState::Column const& key() const { return table_.columns[key_column()]; }
  /// Null flags of the key; nullopt without nulls, or for composed keys.
  std::optional<compute::NullFlags> const& key_nulls() const noexcept { return key_nulls_; }
  std::size_t key_column() const noexcept { return keys_.front(); }  ///< of the table
  DeviceTableState const& table() const noexcept { return table_; }
  std::size_t num_moved() const noexcept { return moved_.size(); }
  bool is_null_words(std::size_t moved) const { return moved_[moved].is_nulls; }
  /// Position among the payload; nothing for what comes with the key.
  std::optional<std::size_t> position(std::size_t stored) const;
  std::optional<std::size_t> key_nulls_position() const;
  std::optional<std::size_t> key_values_position(std::size_t key) const;
  bool is_key(std::size_t column) const;
  /// A column that add_key_values() or add_key_nulls() added is given by composed keys where they are joined.
  std::optional<std::size_t> key_of(std::size_t moved) const { return moved_[moved].key; }
  bool is_key_nulls(std::size_t moved) const { return moved == key_nulls_position(); }
  /// The index of the keys, where one of so many words a key is kept.
  compute::KeyIndex const* index(std::uint32_t key_words) const;
  std::uint64_t payload_words() const noexcept;

 private:
  struct Moved {
    std::optional<std::size_t> stored;  ///< none: the key's null words, once more, or
    bool is_nulls = false;
    std::optional<std::size_t> key{};  ///< the values of this one of composed keys

    friend bool operator==(Moved const&, Moved const&) = default;
  };

  compute::DeviceColumn at(std::size_t stored) const;
  void add_stored(std::size_t stored, bool is_nulls);
  std::optional<std::size_t> find(Moved const& moved) const;

  DeviceTableState const& table_;
  std::vector<std::size_t> keys_;
  bool are_composed_ = false;
  std::optional<compute::NullFlags> key_nulls_;
  compute::DeviceRows rows_;
  std::vector<Moved> moved_;
};

/// A stored column of the result behind key and payload.
struct AddedColumn {
  enum class Kind : std::uint8_t {
    left_absent,   ///< bit 0: the row has no left row
    right_absent,  ///< likewise
    mark,          ///< of a mark join
    keys,          ///< the keys in `words` words
  };
  Kind kind = Kind::mark;
  std::uint32_t words = 1;

  friend bool operator==(AddedColumn const&, AddedColumn const&) = default;
};

/// Both sides, and the stored columns of the result in their order: the key, the left side's payload, the right's, what
/// is added. A join without pairs has no payload of the right side.
struct MovedSides {
  MovedSide left;
  MovedSide right;
  contract::JoinParts parts;
  std::uint32_t key_words = 1;  ///< in which keys are compared, and come out of the join
  bool nulls_equal = false;     ///< and both sides have null keys, which are not composed
  /// The strings of both sides' keys, by whose numbers keys are compared and come out of the join.
  std::shared_ptr<Strings const> key_strings{};
  std::optional<KeyComposition> composed{};  ///< of keys that are not words of one column
  bool by_pairs = false;  ///< pairs of row numbers, those of the tables, come first: a condition is tested on
                          ///< them, or unmatched left rows find their places among them
  std::vector<AddedColumn> added{};

  MovedSide& of(Side side) noexcept { return side == Side::left ? left : right; }
  MovedSide const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  /// Whether rows come without one of this side.
  bool may_lack(Side side) const noexcept {
    return parts.pairs && parts.rows(other_side(side)) != contract::SideRows::none;
  }
  /// Whether rows of the result may have a null key of this side.
  bool keeps_null_keys(Side side) const noexcept {
    return nulls_equal || (composed && composed->nulls_are_keys) || by_pairs || parts.gives_unmatched(side);
  }
  /// Whether rows may have a key that is null, and so matches nothing, but where nulls are equal.
  bool has_null_keys(Side side) const noexcept {
    return composed ? composed->has_flags(side) : of(side).key_nulls().has_value();
  }
  std::size_t first_added() const noexcept { return 1 + left.num_moved() + right.num_moved(); }
  std::size_t first_of(Side side) const noexcept { return side == Side::left ? 1 : 1 + left.num_moved(); }
  /// The position of a stored column of the result.
  std::size_t position(AddedColumn const& column);
  std::size_t key_position(std::uint32_t words) {
    return words == key_words ? 0 : position({AddedColumn::Kind::keys, words});
  }
  std::uint64_t result_row_bytes() const noexcept;
};

/// The columns of both tables that the result needs; a count needs keys alone. Looks at the values of keys that are
/// composed, see compose_keys(). Errors: limit_exceeded for a side beyond 2^31 rows, those of compose_keys().
Result<MovedSides> moved_sides(resolve::JoinRequest const& request, bool counts);

/// Names, types and places of the result's columns.
void place_columns(MovedSides& sides, resolve::JoinRequest const& request, DeviceTableState& result);

/// The columns that unmatched rows of `side` put into the stored columns of the result, but for keys of other widths.
/// `rows`: the side. `targets`: these columns.
std::vector<shaders::UnmatchedColumn> unmatched_columns(MovedSides const& sides, Side side,
                                                        compute::MarkedRows const& rows,
                                                        std::vector<DeviceTableState::Stored> const& targets);

/// The rows of one side that the result has without a row of the other side.
struct UnmatchedPart {
  Side side = Side::left;
  compute::UnmatchedRows unmatched;
  std::uint64_t rows = 0;
  VkDeviceAddress places = 0;  ///< u32 a row: among pairs; 0: behind what comes before
};

/// Finds the rows of marked sides that `parts` names, and waits for their number. Errors: limit_exceeded,
/// out_of_memory, device_failure, cancelled.
Result<std::vector<UnmatchedPart>> find_unmatched(compute::ComputeContext& context, contract::JoinParts const& parts,
                                                  std::vector<std::pair<Side, compute::MarkedRows>> sides);

std::uint64_t rows_of(std::span<UnmatchedPart const> parts);

/// Takes the columns of a result of so many rows: its key, then the payload of both sides. Errors: out_of_memory.
Result<void> take_moved(MovedSides const& sides, std::uint64_t rows, DeviceTableState& result);

/// Takes what is added behind key and payload, of result.rows rows, writes the rows of `parts` behind `first`, or at
/// their places, then the keys of other widths; waits. Errors: out_of_memory, device_failure, cancelled.
Result<void> write_rest(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart> parts,
                        std::uint64_t first, DeviceTableState& result);

}  // namespace garuda::device
