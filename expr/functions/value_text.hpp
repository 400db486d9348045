// Single values as text, and text as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/numbers/wide_integer.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

/// Bytes of a number, a date or a time as text at most.
inline constexpr std::size_t kMostNumberBytes = 96;

/// These write to `to`, which has room for kMostNumberBytes, and return the end.
/// `-0.05`, all digits of the scale.
char* write_decimal(Int128 value, std::int32_t scale, char* to);
/// The shortest digits that are read as the same float: `1.0`, `0.1`, `1e+16`, `1e-05`, `inf`, `nan`.
char* write_float(float value, char* to);
char* write_float(double value, char* to);
/// Dates as `2024-02-29`, times of day as `12:30:00.5`, timestamps as both, those with a zone with `+00` behind.
char* write_time(std::int64_t value, DataType const& type, char* to);

/// These return false where the text has not the form of such a value, or the value is beyond the type. Spaces around
/// it do not count.
bool read_boolean(std::string_view text, std::uint8_t& to) noexcept;
bool read_integer(std::string_view text, Int128& to) noexcept;
/// Rounds to the scale, halves away from zero.
bool read_decimal(std::string_view text, std::int32_t scale, Int128& to) noexcept;
bool read_float(std::string_view text, float& to);
bool read_float(std::string_view text, double& to);
/// Dates, times of day and timestamps; a timestamp's offset from UTC counts, and is none where it is left out.
bool read_time(std::string_view text, DataType const& type, std::int64_t& to);

}  // namespace garuda::expr
