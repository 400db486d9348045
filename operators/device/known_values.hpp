// Facts of the values of tables that live on a device: read there when it is asked for first, or indexed when a
// caller wants that, then kept with the table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/device/device_table.hpp"

namespace garuda::device {

/// The least and greatest ordered image of a column's values that are not null, of kind device_key_kind(). nullopt: no
/// such values of up to 64 bits. Blocks; thread-safe. Errors: those of device memory, device_failure, cancelled.
Result<std::optional<compute::ValueRange>> image_range(DeviceTableState const& table, std::size_t column,
                                                       Control const& control);

/// The range of a column's values that are not null. nullopt: no integers, nor stored as such, of up to 64 bits.
/// Without values any range. As above.
Result<std::optional<compute::KeyRange>> value_range(DeviceTableState const& table, std::size_t column,
                                                     Control const& control);

/// Whether no two of them are the same. Requires a range of at most kMostBitmapSpan. As above.
Result<bool> has_unique_values(DeviceTableState const& table, std::size_t column, Control const& control);
/// The least and greatest of a column's values that are not null, as numbers of 256 bits: of integers, decimals, dates
/// and times. Of others it has no values. As above.
Result<compute::WideRange> number_range(DeviceTableState const& table, std::size_t column, Control const& control);
/// Whether some of them takes more than 64 bits. As above.
Result<bool> has_wide_values(DeviceTableState const& table, std::size_t column, Control const& control);
/// Whether it is known that they are unique; reads nothing.
bool is_known_unique(DeviceTableState const& table, std::size_t column);

/// See DeviceTable::build_index.
Result<void> build_index(DeviceTableState& table, std::string const& column, Control const& control);

/// The index of a column, or of another one of the same values; nullptr: none is kept.
DeviceTableState::Index const* find_index(DeviceTableState const& table, DeviceTableState::Column const& column);

}  // namespace garuda::device
