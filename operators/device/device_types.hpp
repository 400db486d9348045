// How values of types lie on a device, how they are read there, and which of them are compared with which.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/types.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/key_columns.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// Whether columns of a type go to a device as strings: strings and binary in any layout, and dictionaries of them.
bool is_stored_as_strings(DataType const& type) noexcept;

/// u32 words that a value takes on a device; nothing for a type of no fixed width there.
std::optional<std::uint32_t> device_words(DataType const& type) noexcept;

/// u32 words that a value takes in tables that live there, which hold strings by number.
std::optional<std::uint32_t> stored_words(DataType const& type) noexcept;

/// u32 words, 1 or 2, in which a join on a device compares keys of a type that stored_key_type() gave.
std::uint32_t device_key_words(DataType const& common) noexcept;

/// The type in which a join compares its keys where they are one column a side, whose words are compared as they are:
/// of integers or what is stored as such, or numbers of strings or binary; nothing of other keys.
std::optional<DataType> stored_key_type(Schema const& left, Schema const& right, resolve::ResolvedJoin const& columns);

/// The type in which keys are compared of tables whose probe side goes to a device in ranges: one column a side, of
/// integers or what is stored as such, whose digits 64 bits hold. Other keys have none.
std::optional<DataType> streamed_key_type(resolve::JoinRequest const& request);

/// How keys of a type are read; nothing for types that are equal in other ways than their bits say.
std::optional<compute::DeviceValueKind> device_key_kind(DataType const& type);

/// How values that are aggregated are read: as keys are, but for floats of 16 bits, of which there are keys alone.
std::optional<compute::DeviceValueKind> device_value_kind(DataType const& type);

/// The least ordered image of a kind's values that are not negative: an integer's image is this more than its value,
/// modulo 2^64.
std::uint64_t image_offset(compute::DeviceValueKind kind) noexcept;

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
