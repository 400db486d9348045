#include "garuda/types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>

#include "core/nested/nested_layout.hpp"
#include "core/type_rows.hpp"

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

using F = TypeFamily;
/// The rows of all types, in the order of TypeId.
constexpr std::array kTypes{
    TypeRow{TypeId::boolean, "bool", 0, F::boolean, false, "b"},
    TypeRow{TypeId::int8, "int8", 1, F::integer, true, "c", 3},
    TypeRow{TypeId::int16, "int16", 2, F::integer, true, "s", 5},
    TypeRow{TypeId::int32, "int32", 4, F::integer, true, "i", 10},
    TypeRow{TypeId::int64, "int64", 8, F::integer, true, "l", 19},
    TypeRow{TypeId::uint8, "uint8", 1, F::integer, false, "C", 3},
    TypeRow{TypeId::uint16, "uint16", 2, F::integer, false, "S", 5},
    TypeRow{TypeId::uint32, "uint32", 4, F::integer, false, "I", 10},
    TypeRow{TypeId::uint64, "uint64", 8, F::integer, false, "L", 20},
    TypeRow{TypeId::float16, "float16", 2, F::floating, false, "e"},
    TypeRow{TypeId::float32, "float32", 4, F::floating, false, "f"},
    TypeRow{TypeId::float64, "float64", 8, F::floating, false, "g"},
    TypeRow{TypeId::decimal32, "decimal32", 4, F::decimal, true, "", 9},
    TypeRow{TypeId::decimal64, "decimal64", 8, F::decimal, true, "", 18},
    TypeRow{TypeId::decimal128, "decimal128", 16, F::decimal, true, "", 38},
    TypeRow{TypeId::decimal256, "decimal256", 32, F::decimal, true, "", 76},
    TypeRow{TypeId::date32, "date32", 4, F::temporal, true, "tdD"},
    TypeRow{TypeId::date64, "date64", 8, F::temporal, true, "tdm"},
    TypeRow{TypeId::time32, "time32", 4, F::temporal, true, "tt"},
    TypeRow{TypeId::time64, "time64", 8, F::temporal, true, "tt"},
    TypeRow{TypeId::timestamp, "timestamp", 8, F::temporal, true, "ts"},
    TypeRow{TypeId::duration, "duration", 8, F::temporal, true, "tD"},
    TypeRow{TypeId::interval_months, "month_interval", 4, F::interval, true, "tiM"},
    TypeRow{TypeId::interval_day_time, "day_time_interval", 8, F::interval, false, "tiD"},
    TypeRow{TypeId::interval_month_day_nano, "month_day_nano_interval", 16, F::interval, false, "tin"},
    TypeRow{TypeId::fixed_size_binary, "fixed_size_binary", 0, F::bytes, false, "w:"},
    TypeRow{TypeId::utf8, "utf8", 0, F::bytes, false, "u"},
    TypeRow{TypeId::large_utf8, "large_utf8", 0, F::bytes, false, "U"},
    TypeRow{TypeId::binary, "binary", 0, F::bytes, false, "z"},
    TypeRow{TypeId::large_binary, "large_binary", 0, F::bytes, false, "Z"},
    TypeRow{TypeId::utf8_view, "utf8_view", 0, F::bytes, false, "vu"},
    TypeRow{TypeId::binary_view, "binary_view", 0, F::bytes, false, "vz"},
    TypeRow{TypeId::dictionary, "dictionary", 0, F::dictionary, false, ""},
    TypeRow{TypeId::nested, "nested", 0, F::nested, false, ""}};
static_assert(kTypes.size() == static_cast<std::size_t>(TypeId::nested) + 1);
static_assert(std::ranges::all_of(kTypes, [](TypeRow const& row) {
  return &row == &kTypes[static_cast<std::size_t>(row.id)];
}));

}  // namespace

TypeRow const& type_row(TypeId id) noexcept { return kTypes[static_cast<std::size_t>(id)]; }

std::span<TypeRow const> type_rows() noexcept { return kTypes; }

bool operator==(DataType const& a, DataType const& b) {
  auto const same = [](auto const& x, auto const& y) { return x == y || (x && y && *x == *y); };
  return a.id == b.id && a.unit == b.unit && a.precision == b.precision && a.scale == b.scale &&
         a.fixed_byte_width == b.fixed_byte_width && a.timezone == b.timezone && a.index == b.index &&
         same(a.value, b.value) && a.ordered == b.ordered && same(a.nested, b.nested);
}

std::int32_t byte_width(DataType const& type) noexcept {
  switch (type.id) {
    case TypeId::fixed_size_binary:
      return type.fixed_byte_width;
    case TypeId::dictionary:
      return type_row(type.index).width;
    default:
      return type_row(type.id).width;
  }
}

bool is_variable_width(DataType const& type) noexcept {
  return type.id == TypeId::utf8 || type.id == TypeId::binary || has_large_offsets(type);
}

bool has_large_offsets(DataType const& type) noexcept {
  return type.id == TypeId::large_utf8 || type.id == TypeId::large_binary;
}

bool is_view(DataType const& type) noexcept { return type.id == TypeId::utf8_view || type.id == TypeId::binary_view; }

std::string_view to_string(StringForm form) noexcept { return form == StringForm::view ? "view" : "utf8"; }

Result<StringForm> parse_string_form(std::string_view text) {
  for (auto const form : {StringForm::utf8, StringForm::view})
    if (text == to_string(form)) return form;
  return fail(ErrorCode::usage, fmt::format("strings are given as utf8 or view: '{}'", text));
}

DataType in_form(DataType type, StringForm form) {
  if (form != StringForm::view) return type;
  if (type.id == TypeId::utf8 || type.id == TypeId::large_utf8) type.id = TypeId::utf8_view;
  if (type.id == TypeId::binary || type.id == TypeId::large_binary) type.id = TypeId::binary_view;
  return type;
}

std::string to_string(DataType const& type) {
  auto const& row = type_row(type.id);
  if (row.family == TypeFamily::decimal) return fmt::format("{}({}, {})", row.name, type.precision, type.scale);
  if (type.id == TypeId::timestamp && !type.timezone.empty())
    return fmt::format("{}[{}, tz={}]", row.name, unit_row(type.unit).name, type.timezone);
  if (has_unit(type.id)) return fmt::format("{}[{}]", row.name, unit_row(type.unit).name);
  if (type.id == TypeId::fixed_size_binary) return fmt::format("{}[{}]", row.name, type.fixed_byte_width);
  if (type.id == TypeId::dictionary)
    return fmt::format("{}<{}, {}>", row.name, type_row(type.index).name,
                       type.value ? to_string(*type.value) : "unknown");
  return type.nested ? to_string(*type.nested) : std::string(row.name);
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
