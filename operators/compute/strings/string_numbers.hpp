// Strings as words that are equal just where the strings are: one encoder for all that compares them on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/strings/device_strings.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

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

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> string_number_pipelines(ComputeTuning const& tuning);

/// Device bytes that numbering so many strings takes beside the numbers.
std::uint64_t string_numbers_scratch_bytes(std::uint64_t strings) noexcept;

}  // namespace garuda::compute
