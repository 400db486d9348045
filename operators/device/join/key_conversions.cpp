#include "operators/device/join/key_conversions.hpp"

#include <bit>
#include <cstdint>
#include <limits>

#include "core/numbers/half_float.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/device/device_group_columns.hpp"

namespace garuda::device {
namespace {

using compute::DeviceValueKind;
using compute::KeyConversion;

constexpr std::int32_t kMostDigits = 18;

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }

/// The factor by which values of `from` become values of `to`.
std::optional<std::uint64_t> factor_between(DataType const& from, DataType const& to) {
  auto const own = keys::value_scale(from);
  auto const common = keys::value_scale(to);
  auto const digits = common.scale - own.scale;
  if (digits < 0 || digits > kMostDigits) return std::nullopt;
  std::uint64_t factor = own.multiple;
  for (std::int32_t i = 0; i < digits; ++i)
    if (__builtin_mul_overflow(factor, std::uint64_t{10}, &factor)) return std::nullopt;
  return factor % common.multiple == 0 ? std::optional(factor / common.multiple) : std::nullopt;
}

/// The integer that an image stands for; nullopt: beyond int64.
std::optional<std::int64_t> integer_of(DeviceValueKind kind, std::uint64_t image) {
  if (kind == DeviceValueKind::int64) return static_cast<std::int64_t>(ordered_signed(image));
  if (kind == DeviceValueKind::int32) return static_cast<std::int64_t>(image) - (std::int64_t{1} << 31);
  if (image > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(image);
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
