// Keys of several columns, or of one that is not compared by its words alone, as one word a row on both sides of a
// join.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "expr/sides.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/compute/primitives/key_columns.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// Refers to the tables of a join that live on one device, or to outlines of such.
class JoinedTables {
 public:
  /// Requires: both tables live there.
  explicit JoinedTables(resolve::JoinRequest const& request)
      : tables_{request.left.resident(), request.right.resident()} {}
  JoinedTables(DeviceTableState const& left, DeviceTableState const& right) : tables_{&left, &right} {}

  /// Whether values can be looked at: outlines have none.
  bool are_there() const noexcept { return tables_[0]->device.open.device != nullptr; }
  DeviceTableState const& of(Side side) const noexcept { return *tables_[side_index(side)]; }
  Field const& field(Side side, std::size_t column) const { return of(side).schema[column]; }

 private:
  std::array<DeviceTableState const*, 2> tables_;
};

/// A pair of key columns as they are compared: as images in one order where both have one, else by their words.
struct KeyPart {
  std::array<std::size_t, 2> columns{};                                ///< by side
  std::array<std::optional<compute::KeyConversion>, 2> conversions{};  ///< of values of another type; likewise
  std::array<compute::DeviceValueKind, 2> kinds{};                     ///< likewise
  std::array<bool, 2> has_nulls{};                                     ///< likewise
  std::uint32_t words = 1;                                             ///< in which values of both sides are
  std::shared_ptr<Strings const> strings{};   ///< of both sides: values are numbers among these
  std::array<compute::KeyPlace, 2> places{};  ///< of packed keys
};

/// How keys become words: packed side by side where the ranges of both sides' values fit 64 bits, else numbered, all
/// rows of both sides that are equal alike.
struct KeyComposition {
  std::vector<KeyPart> parts;
  std::uint32_t bits = 0;       ///< of packed keys; 0 of numbered ones
  std::uint32_t num_words = 0;  ///< of numbered keys, those of their nulls included
  std::uint64_t rows = 0;       ///< of both sides
  bool nulls_are_keys = false;  ///< null is a value of its own; else rows with one are told apart by a flag

  bool is_packed() const noexcept { return num_words == 0; }
  std::uint32_t words() const noexcept { return bits > compute::kWordBits ? 2 : 1; }
  /// Whether a key of the side is null, as a flag says.
  bool has_flags(Side side) const noexcept;
  bool has_nulls(Side side) const noexcept;
  /// The range of all words that keys become, or a wider one.
  compute::KeyRange range() const noexcept;
};

/// Whether a device joins tables that are brought there whole by their keys: by the types alone. Errors: invalid_input,
/// with what it compares.
Result<void> check_whole_keys(Schema const& left, Schema const& right, resolve::ResolvedJoin const& columns);

/// Reads the ranges of the key columns, where they are not known; outlines are taken to fit 64 bits. Requires: both
/// tables live on one device, or are outlines of which check_whole_keys() holds. Errors:
/// invalid_input for types that are not compared there, limit_exceeded for too many rows of keys that are numbered;
/// those of device memory, device_failure, cancelled.
Result<KeyComposition> compose_keys(resolve::JoinRequest const& request);

/// The cost of making these words, for plans.
compute::ComposedKeyShape shape_of(KeyComposition const& composition);

/// Both sides' keys as words. Owns them, and what the passes that make them read.
class ComposedKeys {
 public:
  /// Records the passes; waits where keys are numbered. Errors: limit_exceeded, out_of_memory, device_failure,
  /// cancelled.
  static Result<ComposedKeys> create(compute::ComputeContext& context, KeyComposition const& composition,
                                     JoinedTables const& tables, Control const& control);

  compute::DeviceColumn keys(Side side) const noexcept { return keys_[side_index(side)]; }
  /// Flags of rows that have a null key, where composition.has_flags().
  std::optional<compute::NullFlags> flags(Side side) const;
  /// A word a row, bit k: column k is null; as flags() reads. Recorded when it is wanted first.
  Result<VkDeviceAddress> null_words(compute::ComputeContext& context, Side side);
  /// The values of a key column in `words` words, as both sides have them: of strings their numbers among both. Records
  /// what has to be made.
  Result<VkDeviceAddress> values(compute::ComputeContext& context, Side side, std::size_t part, std::uint32_t words);

 private:
  ComposedKeys(KeyComposition const& composition, JoinedTables const& tables)
      : composition_(&composition), tables_(tables) {}

  compute::DeviceValues column(Side side, std::size_t part) const;
  bool continues_by_sign(Side side, std::size_t part) const;
  Result<void> convert(compute::ComputeContext& context, Side side);
  Result<void> number_strings(compute::ComputeContext& context, Control const& control);
  Result<void> pack(compute::ComputeContext& context, Side side);
  Result<void> number(compute::ComputeContext& context);

  KeyComposition const* composition_;
  JoinedTables tables_;
  std::array<compute::DeviceColumn, 2> keys_{};
  std::array<std::vector<std::optional<StringKeyColumn>>, 2> strings_;  // by part
  std::array<std::vector<vk::Buffer>, 2> converted_;                    // by part
  std::array<vk::Buffer, 2> null_words_;
  std::vector<vk::Buffer> buffers_;  // of keys, of values in other widths, and what passes read
};

}  // namespace garuda::device
