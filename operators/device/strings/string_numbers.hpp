// Strings of tables on a device as numbers that are equal just where the strings are: made there when they are wanted
// first, then kept with a table. With them every operator on words takes strings as keys.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/stored_strings.hpp"

namespace garuda::device {

/// For each string of one or two columns the number of one that is equal to it.
struct StringNumbers {
  std::vector<std::weak_ptr<StringBytes const>> pieces;  ///< of which they are, in this order
  std::unique_ptr<vk::MemoryArena> arena;                // before the buffer: destroyed after it
  vk::Buffer numbers;
};

/// The numbers of `strings`, kept with `table`. `hash_bits`: those that are made are made by, as
/// record_string_numbers() takes them. Blocks where they are not there yet; thread-safe. Errors: those of device
/// memory, device_failure, cancelled.
Result<std::shared_ptr<StringNumbers const>> string_numbers(DeviceTableState const& table, Strings const& strings,
                                                            Control const& control,
                                                            std::uint32_t hash_bits = compute::kStringHashBits);
/// The strings of a query's keys, for plans: whether their numbers are there, and of how many rows they are wanted.
compute::NumberedStrings numbered_strings(DeviceTableState const& table, Strings const& strings, std::uint64_t rows);
/// The strings of a key column; nothing for other types.
compute::NumberedStrings numbered_strings(DeviceTableState const& table, std::size_t column);

/// A column of strings as words on the device: a buffer of its rows' numbers.
struct StringKeyColumn {
  std::shared_ptr<StringNumbers const> numbers;
  compute::DeviceStrings strings;
  vk::Buffer keys;
};

/// Records the keys of a column's rows. `numbers`: of `among`, which has the column's strings. Errors: those of device
/// memory.
Result<StringKeyColumn> string_keys(compute::ComputeContext& context, DeviceTableState const& table, std::size_t column,
                                    Strings const& among, std::shared_ptr<StringNumbers const> numbers);

}  // namespace garuda::device
