// Strings in device memory: where they lie, for the passes that read them; words that are equal just where the strings
// are, by one encoder for all that compares them on a device; and the strings of rows brought together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/contract/offers/costs.hpp"
#include "shaders/compute/strings/strings_layout.h"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Strings that lie together.
struct StringPiece {
  VkDeviceAddress offsets = 0;  ///< (strings + 1) × u32, not decreasing
  VkDeviceAddress bytes = 0;    ///< that they count, and a word more
  VkDeviceAddress valid = 0;    ///< a bit a string: rows may have it; 0: they may have all
  std::uint64_t strings = 0;
  std::uint64_t target = 0;  ///< of its first string, the number among those of several columns
};

/// Most pieces of a column, and most strings: their numbers are u32.
inline constexpr std::size_t kMostStringPieces = 2048;
inline constexpr std::uint64_t kMostStrings = std::uint64_t{1} << 31;

/// The strings of a column, those of one piece after another, by number. What the pieces view stays in place while
/// passes run.
class DeviceStrings {
 public:
  /// For at most kMostStringPieces pieces of kMostStrings strings in all. Errors: limit_exceeded, out_of_memory.
  static Result<DeviceStrings> create(ComputeContext& context, std::span<StringPiece const> pieces);

  std::uint64_t size() const noexcept { return view_.num_strings; }
  shaders::StringsView const& view() const noexcept { return view_; }

 private:
  vk::Buffer pieces_;
  shaders::StringsView view_{};
};

/// Bits of a string's hash; a tuning that keeps fewer changes speed, never numbers.
inline constexpr std::uint32_t kStringHashBits = 32;

/// Records numbers[i] = the number of a string that is equal to string i, the same one for all that are. Strings enter
/// a hash table, and are compared by their bytes with those of their slots. `strings`: of one column, or those of
/// several behind one another. `hash_bits`: lowest bits of the hash that are kept. `numbers`: a u32 a string. Errors:
/// limit_exceeded, out_of_memory.
Result<void> record_string_numbers(ComputeContext& context, DeviceStrings const& strings, std::uint32_t hash_bits,
                                   vk::Buffer const& numbers);

/// A column's rows, and the numbers of its strings among several columns'.
struct StringKeys {
  std::uint64_t num_rows = 0;
  VkDeviceAddress rows = 0;     ///< u32 a row: number of its string; 0: strings are those of one row after another
  VkDeviceAddress numbers = 0;  ///< as record_string_numbers() wrote them; 0: strings keep their own
};

/// Records a u32 a row to `keys`: equal where the strings are. Rows with numbers beyond the strings, as null ones may
/// have, get some string's.
Result<void> record_string_keys(ComputeContext& context, DeviceStrings const& strings, StringKeys const& rows,
                                VkDeviceAddress keys);

/// Device bytes that numbering so many strings takes beside the numbers.
std::uint64_t string_numbers_scratch_bytes(std::uint64_t strings) noexcept;

/// Strings that a query's keys are.
struct NumberedStrings {
  double strings = 0;  ///< of all columns that are compared; 0: keys are no strings
  double bytes = 0;
  double rows = 0;        ///< that get the numbers of their strings
  bool are_kept = false;  ///< the numbers are
};

/// Each string is read, entered into a table, and compared with one that lies elsewhere; each row reads a number.
contract::PhaseCosts string_number_costs(NumberedStrings const& strings, rates::DeviceRates const& rates);

/// Rows of strings: numbers of these, and which rows are null, whose numbers may be any.
struct StringRows {
  std::uint64_t rows = 0;  ///< 1 to kMaxScanElements
  VkDeviceAddress numbers = 0;
  std::optional<NullFlags> nulls{};
};

/// Scratch memory of such gathers, used by one after another.
class StringGather {
 public:
  /// Makes room for gathers of up to `rows` rows. Errors: limit_exceeded, out_of_memory.
  static Result<StringGather> create(ComputeContext& context, std::uint64_t rows);

  /// Writes where the bytes of each row begin, (rows + 1) × u32 modulo 2^32, to `offsets`, 16-byte aligned; waits, and
  /// returns the exact number of bytes. Errors: device_failure, cancelled.
  Result<std::uint64_t> measure(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                                VkDeviceAddress offsets);
  /// Records the copying of the bytes, fewer than 2^32 and at least one, in whole words to `target`.
  Result<void> record_copy(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                           VkDeviceAddress offsets, std::uint64_t bytes, VkDeviceAddress target);

 private:
  DeviceScan scan_;
  vk::Buffer lengths_;
  vk::Buffer sums_;
};

/// Every pipeline of the passes over strings, with this tuning.
std::vector<vk::ComputePipelineSpec> string_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
