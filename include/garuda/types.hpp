// Column types, in the terms of the Arrow columnar format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"

namespace garuda {

enum class TypeId : std::uint8_t {
  boolean,  ///< one bit a value
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  decimal32,   ///< 4-byte two's complement, `precision` and `scale`
  decimal64,   ///< 8 bytes
  decimal128,  ///< 16 bytes
  decimal256,  ///< 32 bytes
  date32,      ///< days since 1970-01-01, int32
  date64,      ///< milliseconds since 1970-01-01, int64
  time32,      ///< int32, unit second or millisecond
  time64,      ///< int64, unit microsecond or nanosecond
  timestamp,   ///< int64 since 1970-01-01 in `unit`, with optional `timezone`
  duration,    ///< int64 in `unit`
  interval_months,
  interval_day_time,
  interval_month_day_nano,
  fixed_size_binary,  ///< `byte_width` bytes
  utf8,               ///< 32-bit offsets
  large_utf8,         ///< 64-bit offsets
  binary,             ///< 32-bit offsets
  large_binary,       ///< 64-bit offsets
  utf8_view,          ///< 16 bytes: length, and the string or where it is
  binary_view,        ///< likewise
  dictionary,         ///< indices of type `index` into values of type `value`
  nested,  ///< lists, structs, maps, unions, run-end encoded, null: `nested` says which; rides along, is never looked
           ///< at
};

enum class TimeUnit : std::uint8_t { second, millisecond, microsecond, nanosecond };

struct NestedType;

/// The type of a column. Parameters that a type does not have keep their defaults, so equality is memberwise.
struct DataType {
  TypeId id = TypeId::int32;
  TimeUnit unit = TimeUnit::second;         ///< time32, time64, timestamp, duration
  std::int32_t precision = 0;               ///< decimals: digits
  std::int32_t scale = 0;                   ///< decimals: digits after the point
  std::int32_t fixed_byte_width = 0;        ///< fixed_size_binary
  std::string timezone{};                   ///< timestamp; empty: none
  TypeId index = TypeId::int32;             ///< dictionary: type of the indices
  std::shared_ptr<DataType const> value{};  ///< dictionary: type of the values (shared: schemas are copied freely)
  bool ordered = false;                     ///< dictionary
  std::shared_ptr<NestedType const> nested{};

  friend bool operator==(DataType const& a, DataType const& b);
};

/// Bytes of one value of a fixed-width type; 0 for boolean, and for types of variable width. For a dictionary: bytes of
/// one index.
std::int32_t byte_width(DataType const& type) noexcept;

/// True for utf8, large_utf8, binary and large_binary.
bool is_variable_width(DataType const& type) noexcept;

/// True when offsets are 64 bits wide (large_utf8, large_binary).
bool has_large_offsets(DataType const& type) noexcept;

/// True for utf8_view and binary_view.
bool is_view(DataType const& type) noexcept;

/// How a result holds strings and binary.
enum class StringForm : std::uint8_t {
  utf8,  ///< as the input has them, in memory of the result's own
  view,  ///< as views: at most 12 bytes stand in the view, longer values stay where the input has them
};

std::string_view to_string(StringForm form) noexcept;
/// Errors: usage, with the names.
Result<StringForm> parse_string_form(std::string_view text);

/// The type that a result has for a column of `type`: that of `form` for strings and binary, else its own.
DataType in_form(DataType type, StringForm form);

/// Name as Arrow spells it: `int32`, `timestamp[us, tz=UTC]`, `decimal128(12, 2)`, `dictionary<int32, utf8>`.
std::string to_string(DataType const& type);

/// A named column of a schema.
struct Field {
  std::string name;
  DataType type;
  bool nullable = true;
  std::string metadata{};  ///< as the Arrow C interface encodes it: names extension types, among others

  friend bool operator==(Field const&, Field const&) = default;
};

using Schema = std::vector<Field>;

/// Returns the position of the column called `name`.
/// Errors: invalid_input when there is none (the sentence suggests a name that is near) or when there are several.
Result<std::size_t> find_column(Schema const& schema, std::string_view name);

}  // namespace garuda
