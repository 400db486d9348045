// Key columns of a group-by on a device as one word of 32 or 64 bits a row, and back; rows numbered by their keys
// through one table in device memory, entered by compare-and-swap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/key_columns.hpp"

namespace garuda::compute {

/// How rows find their slots.
struct TableAddress {
  bool direct = false;      ///< (key - min) >> shift, else by the key's hash
  std::uint64_t min = 0;    ///< direct
  std::uint32_t shift = 0;  ///< direct
  std::uint64_t slots = 0;  ///< hash: a power of two
};

/// Slots of the table for `rows` rows, each of which may be a group: between a quarter and a half stay free.
std::uint64_t hash_table_slots(std::uint64_t rows) noexcept;

/// Keys of rows on the device: packed, or word by word.
struct RowKeys {
  VkDeviceAddress address = 0;
  std::uint32_t rows = 0;
  std::uint32_t key_words = 0;  ///< of packed keys, 1 or 2; 0: several words, each of all rows after the other
  std::uint32_t num_words = 0;  ///< of several
};

/// A slot holds the first row of its key, so groups are numbered in the order of their first rows by one prefix sum
/// over those rows. Keys that meet in too long a run of slots are hashed anew.
class RowGroups {
 public:
  RowGroups() = default;
  /// Takes memory. The keys stay in place while it runs; several words of all rows are less than 2^32 words.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<RowGroups> create(ComputeContext& context, RowKeys const& keys, TableAddress const& address);

  /// Numbers all rows; waits. `ids`: rows × u32; `head_rows`: the first row of each group, room for rows × u32.
  /// Returns the number of groups. Errors: limit_exceeded when no hash tells the keys apart.
  Result<std::uint64_t> run(ComputeContext& context, VkDeviceAddress ids, VkDeviceAddress head_rows);

  /// Every pipeline with this tuning.
  static std::vector<vk::ComputePipelineSpec> pipelines(ComputeTuning const& tuning);

 private:
  Result<void> enter_rows(ComputeContext& context);

  RowKeys keys_;
  TableAddress address_;
  vk::Buffer table_;
  vk::Buffer slots_;
  vk::Buffer heads_;
  vk::Buffer offsets_;
  vk::Buffer lost_;
  DeviceScan scan_;
};

/// How the keys of a row become one word. Each way is injective.
enum class DeviceKeyForm : std::uint8_t {
  none,      ///< there are no key columns
  plain,     ///< one column, taken as it is
  packed,    ///< distances from the columns' least values side by side, the first column's in the top bits; in their
             ///< order
  numbered,  ///< the numbers of distinct keys in the order of their first rows
};

/// Keys that do not fit 64 bits, of one table or of both sides of a join, as numbers in the order of their first rows:
/// equal keys, and only they, have one number. They are compared word by word.
class NumberedKeys {
 public:
  NumberedKeys() = default;
  /// Words of a key whose values take `value_words`, with a bit for each of `nullable` columns. Errors: limit_exceeded
  /// for more rows of such keys than passes number.
  static Result<std::uint32_t> words_of(std::uint32_t value_words, std::uint32_t nullable, std::uint64_t rows);
  /// Takes memory for at least one row of keys of so many words. Errors: limit_exceeded, out_of_memory.
  static Result<NumberedKeys> create(ComputeContext& context, std::uint64_t rows, std::uint32_t words);

  /// Zeroes the words; called before record() where keys have nulls.
  Result<void> clear(ComputeContext& context);
  /// Records the words of `rows` keys from `first` on.
  Result<void> record(ComputeContext& context, std::span<KeyWordColumn const> columns, std::uint64_t first,
                      std::uint64_t rows);
  /// Numbers all rows; waits. Returns how many numbers there are.
  Result<std::uint64_t> run(ComputeContext& context);

  /// u32 a row.
  vk::Buffer& numbers() noexcept { return numbers_; }
  vk::Buffer const& numbers() const noexcept { return numbers_; }
  /// By number: its first row.
  vk::Buffer const& head_rows() const noexcept { return head_rows_; }

 private:
  std::uint64_t rows_ = 0;
  vk::Buffer words_;
  vk::Buffer numbers_;
  vk::Buffer head_rows_;
  RowGroups row_groups_;
};

/// A key column of the groups, on the device.
struct KeyColumn {
  vk::Buffer values;
  std::optional<vk::Buffer> nulls;  ///< u32 a group: 1 where the key is null
  std::uint32_t words = 1;
};

class DeviceKeys {
 public:
  /// `ranges`: of the columns; without them keys are plain or numbered. The columns stay in place.
  /// Errors: limit_exceeded, for keys of several words also beyond 2^28 rows; out_of_memory.
  static Result<DeviceKeys> create(ComputeContext& context, std::vector<DeviceValues> columns, std::uint64_t rows,
                                   std::optional<std::vector<ValueRange>> const& ranges);

  /// Whether one column serves as it is when no order of the groups is wanted.
  static bool may_be_plain(std::vector<DeviceValues> const& columns) noexcept;
  /// Whether ranges tell how to pack the columns.
  static bool may_be_packed(std::vector<DeviceValues> const& columns) noexcept;

  /// Makes the words; waits where keys are numbered.
  Result<void> run(ComputeContext& context);

  DeviceKeyForm form() const noexcept { return form_; }
  /// The words of all rows; of no columns: 0 words.
  DeviceColumn words() const noexcept;
  /// Lowest bits of these in which they differ, at most.
  std::uint32_t key_bits() const noexcept { return key_bits_; }
  /// Groups of dictionary-encoded keys, after run().
  std::uint64_t num_groups() const noexcept { return num_groups_; }

  /// Records the key columns of `groups` groups from their packed words or numbers. Memory is kept while that is their
  /// number.
  Result<void> record_columns(ComputeContext& context, vk::Buffer const& words, std::uint64_t groups);
  /// The key columns that were recorded last.
  std::vector<KeyColumn> const& columns() const noexcept { return key_columns_; }

  /// Every pipeline with this tuning.
  static std::vector<vk::ComputePipelineSpec> pipelines(ComputeTuning const& tuning);

 private:
  Result<void> take_numbered(ComputeContext& context);
  Result<void> record_numbered(ComputeContext& context);
  Result<void> take_columns(ComputeContext& context, std::uint64_t groups);

  std::vector<DeviceValues> columns_;
  std::vector<KeyPlace> places_;  // of packed columns
  std::uint64_t rows_ = 0;
  DeviceKeyForm form_ = DeviceKeyForm::none;
  std::uint32_t key_bits_ = 0;
  std::uint64_t num_groups_ = 0;
  vk::Buffer table_;  // of columns
  vk::Buffer packed_;
  NumberedKeys numbered_;
  std::vector<KeyColumn> key_columns_;  // of so many groups:
  std::uint64_t column_groups_ = 0;
};

}  // namespace garuda::compute
