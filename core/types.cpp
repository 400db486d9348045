#include "garuda/types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>

namespace garuda {
namespace {

/// Names are compared up to this many bytes, which bounds the cost of a suggestion.
constexpr std::size_t kMaxComparedBytes = 256;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// Levenshtein distance of the first kMaxComparedBytes bytes.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedBytes);
  b = b.substr(0, kMaxComparedBytes);
  std::array<std::size_t, kMaxComparedBytes + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Edits, case ignored, by which a name may differ from what it is suggested for: a letter in short names, one in three
/// in long ones, and never all of them.
bool is_near(std::size_t edits, std::string_view a, std::string_view b) {
  auto const longer = std::max(a.size(), b.size());
  return edits <= std::max<std::size_t>(1, longer / 3) && (edits == 0 || edits < longer);
}

/// The field whose name is nearest to `name`: fewest edits when case is ignored, then fewest edits, then first; nullptr
/// when none is near.
Field const* nearest_field(Schema const& schema, std::string_view name) {
  auto const lower_name = lower_case(name);
  Field const* nearest = nullptr;
  auto best = std::pair(std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max());
  for (auto const& field : schema) {
    auto const distance = std::pair(edit_distance(lower_case(field.name), lower_name), edit_distance(field.name, name));
    if (distance < best && is_near(distance.first, field.name, name)) {
      best = distance;
      nearest = &field;
    }
  }
  return nearest;
}

std::string_view name_of(TypeId id) noexcept {
  switch (id) {
    case TypeId::boolean:
      return "bool";
    case TypeId::int8:
      return "int8";
    case TypeId::int16:
      return "int16";
    case TypeId::int32:
      return "int32";
    case TypeId::int64:
      return "int64";
    case TypeId::uint8:
      return "uint8";
    case TypeId::uint16:
      return "uint16";
    case TypeId::uint32:
      return "uint32";
    case TypeId::uint64:
      return "uint64";
    case TypeId::float16:
      return "float16";
    case TypeId::float32:
      return "float32";
    case TypeId::float64:
      return "float64";
    case TypeId::decimal32:
      return "decimal32";
    case TypeId::decimal64:
      return "decimal64";
    case TypeId::decimal128:
      return "decimal128";
    case TypeId::date32:
      return "date32";
    case TypeId::date64:
      return "date64";
    case TypeId::time32:
      return "time32";
    case TypeId::time64:
      return "time64";
    case TypeId::timestamp:
      return "timestamp";
    case TypeId::duration:
      return "duration";
    case TypeId::interval_months:
      return "month_interval";
    case TypeId::interval_day_time:
      return "day_time_interval";
    case TypeId::interval_month_day_nano:
      return "month_day_nano_interval";
    case TypeId::fixed_size_binary:
      return "fixed_size_binary";
    case TypeId::utf8:
      return "utf8";
    case TypeId::large_utf8:
      return "large_utf8";
    case TypeId::binary:
      return "binary";
    case TypeId::large_binary:
      return "large_binary";
    case TypeId::dictionary:
      return "dictionary";
  }
  return "unknown";
}

std::string_view name_of(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::second:
      return "s";
    case TimeUnit::millisecond:
      return "ms";
    case TimeUnit::microsecond:
      return "us";
    case TimeUnit::nanosecond:
      return "ns";
  }
  return "unknown";
}

std::int32_t plain_byte_width(TypeId id) noexcept {
  switch (id) {
    case TypeId::int8:
    case TypeId::uint8:
      return 1;
    case TypeId::int16:
    case TypeId::uint16:
    case TypeId::float16:
      return 2;
    case TypeId::int32:
    case TypeId::uint32:
    case TypeId::float32:
    case TypeId::decimal32:
    case TypeId::date32:
    case TypeId::time32:
    case TypeId::interval_months:
      return 4;
    case TypeId::int64:
    case TypeId::uint64:
    case TypeId::float64:
    case TypeId::decimal64:
    case TypeId::date64:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
    case TypeId::interval_day_time:
      return 8;
    case TypeId::decimal128:
    case TypeId::interval_month_day_nano:
      return 16;
    case TypeId::boolean:
    case TypeId::fixed_size_binary:
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::binary:
    case TypeId::large_binary:
    case TypeId::dictionary:
      return 0;
  }
  return 0;
}

}  // namespace

bool operator==(DataType const& a, DataType const& b) {
  auto const same_value = a.value == b.value || (a.value && b.value && *a.value == *b.value);
  return a.id == b.id && a.unit == b.unit && a.precision == b.precision && a.scale == b.scale &&
         a.fixed_byte_width == b.fixed_byte_width && a.timezone == b.timezone && a.index == b.index && same_value &&
         a.ordered == b.ordered;
}

std::int32_t byte_width(DataType const& type) noexcept {
  switch (type.id) {
    case TypeId::fixed_size_binary:
      return type.fixed_byte_width;
    case TypeId::dictionary:
      return plain_byte_width(type.index);
    default:
      return plain_byte_width(type.id);
  }
}

bool is_variable_width(DataType const& type) noexcept {
  return type.id == TypeId::utf8 || type.id == TypeId::binary || has_large_offsets(type);
}

bool has_large_offsets(DataType const& type) noexcept {
  return type.id == TypeId::large_utf8 || type.id == TypeId::large_binary;
}

std::string to_string(DataType const& type) {
  auto const name = name_of(type.id);
  switch (type.id) {
    case TypeId::decimal32:
    case TypeId::decimal64:
    case TypeId::decimal128:
      return fmt::format("{}({}, {})", name, type.precision, type.scale);
    case TypeId::timestamp:
      if (!type.timezone.empty()) return fmt::format("{}[{}, tz={}]", name, name_of(type.unit), type.timezone);
      return fmt::format("{}[{}]", name, name_of(type.unit));
    case TypeId::time32:
    case TypeId::time64:
    case TypeId::duration:
      return fmt::format("{}[{}]", name, name_of(type.unit));
    case TypeId::fixed_size_binary:
      return fmt::format("{}[{}]", name, type.fixed_byte_width);
    case TypeId::dictionary:
      return fmt::format("{}<{}, {}>", name, name_of(type.index), type.value ? to_string(*type.value) : "unknown");
    default:
      return std::string(name);
  }
}

Result<std::size_t> find_column(Schema const& schema, std::string_view name) {
  std::optional<std::size_t> found;
  std::size_t count = 0;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name != name) continue;
    if (!found) found = i;
    ++count;
  }
  if (count > 1) {
    return fail(ErrorCode::invalid_input, fmt::format("{} columns share one name: {}", count, name));
  }
  if (found) return *found;
  if (schema.empty()) {
    return fail(ErrorCode::invalid_input, fmt::format("unknown column in a table that has none: {}", name));
  }
  auto const* const nearest = nearest_field(schema, name);
  return fail(ErrorCode::invalid_input,
              fmt::format("unknown column{}: {}",
                          nearest == nullptr ? "" : fmt::format(" (nearest name: {})", nearest->name), name));
}

}  // namespace garuda
