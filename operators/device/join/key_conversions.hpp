// Which conversions make key columns of two types comparable on a device.
#pragma once

#include <optional>

#include "garuda/types.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/key_conversion.hpp"

namespace garuda::device {

/// How values of a key column become values of `common`, the type of a column with the keys of both sides: integers,
/// decimals, dates and times by a factor, numbers as floats. nullopt: in no way that a device has.
std::optional<compute::KeyConversion> key_conversion(DataType const& from, DataType const& common);

/// The images of a column's converted values. nullopt: some do not fit 64 bits.
std::optional<compute::ValueRange> converted_range(compute::ValueRange const& range, compute::DeviceValueKind from,
                                                   compute::KeyConversion const& conversion);

/// One value, in its own words, as words of the kind that it becomes. nullopt: it does not fit.
std::optional<std::uint64_t> converted_word(std::uint64_t word, compute::DeviceValueKind from,
                                            compute::KeyConversion const& conversion);

}  // namespace garuda::device
