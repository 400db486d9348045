#include "operators/device/device_types.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/numbers/half_float.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

using compute::DeviceValueKind;
using compute::KeyConversion;

/// Decimal digits of which 64 bits hold any number.
constexpr std::int32_t kDigits64 = 18;

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }

/// The factor by which values of `from` become values of `to`.
std::optional<std::uint64_t> factor_between(DataType const& from, DataType const& to) {
  auto const own = keys::value_scale(from);
  auto const common = keys::value_scale(to);
  auto const digits = common.scale - own.scale;
  if (digits < 0 || digits > kDigits64) return std::nullopt;
  std::uint64_t factor = own.multiple;
  for (std::int32_t i = 0; i < digits; ++i)
    if (__builtin_mul_overflow(factor, std::uint64_t{10}, &factor)) return std::nullopt;
  return factor % common.multiple == 0 ? std::optional(factor / common.multiple) : std::nullopt;
}

/// The integer that an image stands for; nullopt: beyond int64.
std::optional<std::int64_t> integer_of(DeviceValueKind kind, std::uint64_t image) {
  auto const offset = image_offset(kind);
  if (offset == 0 && image > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(image - offset);
}

double number_of(DeviceValueKind kind, std::uint64_t image) {
  if (kind == DeviceValueKind::float16) {
    auto const bits = (image >> 15) != 0 ? image & 0x7fff : ~image & 0xffff;
    return half_value(static_cast<std::uint16_t>(bits));
  }
  if (kind == DeviceValueKind::float32)
    return std::bit_cast<float>(bits_from_ordered(static_cast<std::uint32_t>(image)));
  return static_cast<double>(integer_of(kind, image).value());
}

std::uint64_t image_of(DeviceValueKind kind, std::uint64_t word) {
  auto const low = static_cast<std::uint32_t>(word);
  switch (kind) {
    case DeviceValueKind::int32:
      return ordered_signed(low);
    case DeviceValueKind::int64:
      return ordered_signed(word);
    case DeviceValueKind::float16:
      return ordered_from_bits(canonical_half(static_cast<std::uint16_t>(word)));
    case DeviceValueKind::float32:
      return ordered_from_bits(canonical_bits(std::bit_cast<float>(low)));
    default:
      return word;
  }
}

std::optional<std::uint64_t> converted_image(std::uint64_t image, DeviceValueKind from,
                                             KeyConversion const& conversion) {
  if (conversion.as == DeviceValueKind::float32)
    return ordered_from_bits(canonical_bits(static_cast<float>(number_of(from, image))));
  if (conversion.as == DeviceValueKind::float64) return ordered_from_bits(canonical_bits(number_of(from, image)));
  auto const value = integer_of(from, image);
  std::int64_t product = 0;
  if (!value || conversion.factor > std::uint64_t{std::numeric_limits<std::int64_t>::max()} ||
      __builtin_mul_overflow(*value, static_cast<std::int64_t>(conversion.factor), &product))
    return std::nullopt;
  return ordered_signed(static_cast<std::uint64_t>(product));
}

}  // namespace

bool is_stored_as_strings(DataType const& type) noexcept {
  auto const& values = value_type(type);
  return is_variable_width(values) || is_view(values);
}

std::optional<std::uint32_t> device_words(DataType const& type) noexcept {
  if (type.id == TypeId::boolean) return 1;
  auto const width = byte_width(type);
  if (type.id == TypeId::dictionary || width <= 0) return std::nullopt;
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(width) + materialize::kWordBytes - 1) /
                                    materialize::kWordBytes);
}

std::optional<std::uint32_t> stored_words(DataType const& type) noexcept {
  return is_stored_as_strings(type) ? std::optional(1U) : device_words(type);
}

std::uint32_t device_key_words(DataType const& common) noexcept {
  // Decimals of more words have to fit two.
  return std::min(device_words(common).value_or(1), 2U);
}

std::optional<DataType> stored_key_type(Schema const& left, Schema const& right, resolve::ResolvedJoin const& columns) {
  if (columns.keys.size() != 1) return std::nullopt;
  auto const& pair = columns.keys.front();
  auto const& left_type = left[pair.left].type;
  auto const& right_type = right[pair.right].type;
  if (is_stored_as_strings(left_type) && is_stored_as_strings(right_type)) return pair.type;
  if (keys::extends_to(left_type, pair.type) && keys::extends_to(right_type, pair.type)) return pair.type;
  return std::nullopt;
}

std::optional<DataType> streamed_key_type(resolve::JoinRequest const& request) {
  auto type = stored_key_type(request.left.schema(), request.right.schema(), request.columns);
  if (!type || is_stored_as_strings(*type)) return std::nullopt;
  return type->precision > kDigits64 ? std::nullopt : type;
}

std::optional<DeviceValueKind> device_key_kind(DataType const& type) {
  auto const words = device_words(type);
  if (!words) return std::nullopt;
  auto const& row = type_row(type.id);
  if (row.family == TypeFamily::floating)
    return row.width == 2   ? DeviceValueKind::float16
           : row.width == 4 ? DeviceValueKind::float32
                            : DeviceValueKind::float64;
  bool const is_signed = continues_by_sign(type.id);
  if (*words == 1) return is_signed ? DeviceValueKind::int32 : DeviceValueKind::uint32;
  if (*words == 2) return is_signed ? DeviceValueKind::int64 : DeviceValueKind::uint64;
  return is_signed && *words == 4 ? DeviceValueKind::int128 : DeviceValueKind::bits;
}

std::optional<DeviceValueKind> device_value_kind(DataType const& type) {
  return type.id == TypeId::float16 ? std::nullopt : device_key_kind(type);
}

std::uint64_t image_offset(DeviceValueKind kind) noexcept {
  if (kind == DeviceValueKind::int32) return std::uint64_t{1} << 31;
  return kind == DeviceValueKind::int64 ? std::uint64_t{1} << 63 : 0;
}

std::optional<KeyConversion> key_conversion(DataType const& from, DataType const& common) {
  auto const kind = device_key_kind(from);
  if (!kind || !compute::has_order(*kind)) return std::nullopt;
  auto const family = family_of(from);
  auto const target = family_of(common);
  if (target == TypeFamily::floating) {
    bool const is_number = family == TypeFamily::integer || family == TypeFamily::floating;
    if (!is_number || common.id == TypeId::float16) return std::nullopt;
    return KeyConversion{common.id == TypeId::float32 ? DeviceValueKind::float32 : DeviceValueKind::float64};
  }
  // Times of different units are compared in conditions as decimals of seconds.
  bool const is_scaled = target == TypeFamily::decimal
                             ? family == TypeFamily::integer || family == target || family == TypeFamily::temporal
                             : target == TypeFamily::temporal && family == target;
  if (!is_scaled) return std::nullopt;
  auto const factor = factor_between(from, common);
  return factor ? std::optional(KeyConversion{DeviceValueKind::int64, *factor}) : std::nullopt;
}

std::optional<std::uint64_t> converted_word(std::uint64_t word, DeviceValueKind from, KeyConversion const& conversion) {
  auto const image = converted_image(image_of(from, word), from, conversion);
  if (!image) return std::nullopt;
  if (conversion.as == DeviceValueKind::float32) return bits_from_ordered(static_cast<std::uint32_t>(*image));
  return conversion.as == DeviceValueKind::float64 ? bits_from_ordered(*image) : ordered_signed(*image);
}

std::optional<compute::ValueRange> converted_range(compute::ValueRange const& range, DeviceValueKind from,
                                                   KeyConversion const& conversion) {
  if (!range.has_values) return range;
  auto const min = converted_image(range.min, from, conversion);
  auto const max = converted_image(range.max, from, conversion);
  if (!min || !max) return std::nullopt;
  compute::ValueRange converted;
  converted.has_values = true;
  converted.min = *min;
  converted.max = *max;
  return converted;
}

}  // namespace garuda::device
