#include "operators/device/join/composed_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/device/device_types.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::device {
namespace {

using compute::DeviceValueKind;

/// Whether images of a part are moved to those of int64: some of its values have a sign.
bool has_sign(KeyPart const& part) { return image_offset(part.kinds[0]) != 0 || image_offset(part.kinds[1]) != 0; }

/// The number that is added to a side's images of a part for the order of both sides, modulo 2^64.
std::uint64_t moved_by(KeyPart const& part, Side side) {
  return (has_sign(part) ? image_offset(DeviceValueKind::int64) : 0) - image_offset(part.kinds[side_index(side)]);
}

/// Whether values of `from`, continued to the width of `to`, are the same values there, or both are one type.
bool is_compared_as(DataType const& from, DataType const& to) {
  auto const is_decimal = [](DataType const& type) { return type_row(type.id).family == TypeFamily::decimal; };
  if (is_decimal(from) && is_decimal(to)) return from.scale == to.scale && byte_width(from) <= byte_width(to);
  return from == to || keys::extends_to(from, to);
}

/// How values of one side's type are read to be compared as `common`.
struct KeyReading {
  DeviceValueKind kind = DeviceValueKind::bits;
  std::optional<compute::KeyConversion> conversion{};
};

/// nullopt: in no way that a device has.
std::optional<KeyReading> reading_of(DataType const& type, DataType const& common) {
  auto const kind = device_key_kind(type);
  if (!kind || !device_words(common)) return std::nullopt;
  KeyReading reading{*kind};
  if (is_compared_as(type, common)) return reading;
  reading.conversion = key_conversion(type, common);
  return reading.conversion ? std::optional(reading) : std::nullopt;
}

/// The range of all images of a kind that has an order.
compute::ValueRange whole_range(DeviceValueKind kind) {
  compute::ValueRange range;
  range.has_values = true;
  bool const is_wide =
      kind == DeviceValueKind::int64 || kind == DeviceValueKind::uint64 || kind == DeviceValueKind::float64;
  range.max = is_wide ? ~std::uint64_t{0} : kind == DeviceValueKind::float16 ? 0xffff : 0xffffffff;
  return range;
}

/// The images of a column's values, all of its type's where they cannot be looked at; nullopt: they have no order.
Result<std::optional<compute::ValueRange>> images_of(JoinedTables const& tables, Side side, std::size_t column,
                                                     Control const& control) {
  if (tables.are_there()) return image_range(tables.of(side), column, control);
  auto const kind = device_key_kind(tables.field(side, column).type);
  return kind && compute::has_order(*kind) ? std::optional(whole_range(*kind)) : std::nullopt;
}

Result<KeyPart> part_of(JoinedTables const& tables, resolve::KeyPair const& pair, Control const& control) {
  KeyPart part;
  part.columns = {pair.left, pair.right};
  auto const& left = tables.of(Side::left).columns[pair.left];
  auto const& right = tables.of(Side::right).columns[pair.right];
  part.has_nulls = {left.nulls.has_value(), right.nulls.has_value()};
  if (left.strings != nullptr && right.strings != nullptr) {
    GARUDA_TRY_ASSIGN(part.strings, strings_of_both(left.strings, right.strings));
    part.kinds = {DeviceValueKind::uint32, DeviceValueKind::uint32};
    return part;
  }
  auto const refuse = [&](char const* why) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: {} and {}", why, to_string(tables.field(Side::left, pair.left).type),
                            to_string(tables.field(Side::right, pair.right).type)));
  };
  constexpr auto kJoinedBy =
      "keys of tables that live on a device are compared by columns of one type, or of integers, floats, decimals, "
      "times, strings or binary";
  part.words = device_words(pair.type).value_or(0);
  for (auto const side : kSides) {
    auto const reading = reading_of(tables.field(side, pair.of(side)).type, pair.type);
    if (!reading) return refuse(kJoinedBy);
    part.kinds[side_index(side)] = reading->kind;
    auto const& conversion = part.conversions[side_index(side)] = reading->conversion;
    if (!conversion) continue;
    GARUDA_TRY_ASSIGN(auto const range, images_of(tables, side, pair.of(side), control));
    if (!converted_range(*range, reading->kind, *conversion))
      return refuse(
          "keys of tables that live on a device are compared in 64 bits, which their values exceed in the unit "
          "or scale of both");
    part.kinds[side_index(side)] = conversion->as;
    part.words = std::max(part.words, conversion->words());
  }
  return part;
}

/// The range of a part's values on a side, as images in the order of both sides.
Result<std::optional<compute::ValueRange>> range_of(JoinedTables const& tables, KeyPart const& part, Side side,
                                                    Control const& control) {
  if (part.strings != nullptr) {
    compute::ValueRange numbers;
    numbers.has_values = part.strings->count() > 0;
    numbers.max = std::max<std::uint64_t>(part.strings->count(), 1) - 1;
    return numbers;
  }
  auto const column = part.columns[side_index(side)];
  GARUDA_TRY_ASSIGN(auto range, images_of(tables, side, column, control));
  if (!range || !range->has_values) return range;
  if (auto const& conversion = part.conversions[side_index(side)]) {
    auto const kind = device_key_kind(tables.field(side, column).type);
    range = converted_range(*range, *kind, *conversion);
  }
  range->min += moved_by(part, side);
  range->max += moved_by(part, side);
  return range;
}

/// Gives the part its bits and the images that have the code 0; false: its values have no range.
Result<bool> place(JoinedTables const& tables, bool nulls_are_keys, KeyPart& part, Control const& control) {
  compute::ValueRange both;
  for (auto const side : kSides) {
    GARUDA_TRY_ASSIGN(auto const range, range_of(tables, part, side, control));
    if (!range) return false;
    if (!range->has_values) continue;
    both.min = both.has_values ? std::min(both.min, range->min) : range->min;
    both.max = both.has_values ? std::max(both.max, range->max) : range->max;
    both.has_values = true;
  }
  bool const has_null_code = nulls_are_keys && (part.has_nulls[0] || part.has_nulls[1]);
  auto const bits = compute::code_bits(both.max - both.min, has_null_code);
  for (auto const side : kSides) {
    // Columns with nulls have them as the code 0 of their own accord.
    auto const skipped = has_null_code && !part.has_nulls[side_index(side)] ? 1 : 0;
    part.places[side_index(side)] = {0, bits, both.min - moved_by(part, side) - skipped};
  }
  return true;
}

/// Packed if they fit; reads the ranges. Of outlines nothing says that they do not.
Result<bool> place_all(JoinedTables const& tables, KeyComposition& composition, Control const& control) {
  std::vector<compute::KeyPlace> places;
  for (auto& part : composition.parts) {
    GARUDA_TRY_ASSIGN(bool const has_range, place(tables, composition.nulls_are_keys, part, control));
    if (!has_range) return false;
    places.push_back(part.places[0]);
  }
  auto const bits = compute::place_side_by_side(places);
  constexpr auto kMostBits = 2 * compute::kWordBits;
  if (bits > kMostBits && tables.are_there()) return false;
  for (std::size_t p = 0; p < places.size(); ++p)
    for (auto& own : composition.parts[p].places) own.shift = places[p].shift;
  composition.bits = std::min(bits, kMostBits);
  return true;
}

Result<void> take_words(KeyComposition& composition) {
  std::uint32_t value_words = 0;
  std::uint32_t nullable = 0;
  for (auto const& part : composition.parts) {
    value_words += part.words;
    if (composition.nulls_are_keys && (part.has_nulls[0] || part.has_nulls[1])) ++nullable;
  }
  GARUDA_TRY_ASSIGN(composition.num_words, compute::NumberedKeys::words_of(value_words, nullable, composition.rows));
  return {};
}

}  // namespace

bool KeyComposition::has_nulls(Side side) const noexcept {
  return std::ranges::any_of(parts, [&](KeyPart const& part) { return part.has_nulls[side_index(side)]; });
}

bool KeyComposition::has_flags(Side side) const noexcept { return !nulls_are_keys && has_nulls(side); }

compute::KeyRange KeyComposition::range() const noexcept {
  if (!is_packed()) return {0, std::max<std::uint64_t>(rows, 1) - 1};
  return {0, bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1};
}

Result<void> check_whole_keys(Schema const& left, Schema const& right, resolve::ResolvedJoin const& columns) {
  for (auto const& pair : columns.keys) {
    if (is_stored_as_strings(left[pair.left].type) && is_stored_as_strings(right[pair.right].type)) continue;
    for (auto const side : kSides) {
      auto const reading = reading_of((side == Side::left ? left : right)[pair.of(side)].type, pair.type);
      if (reading &&
          (!reading->conversion || converted_range(whole_range(reading->kind), reading->kind, *reading->conversion)))
        continue;
      return fail(ErrorCode::invalid_input,
                  fmt::format("tables brought to a device whole are joined by key columns of one type, of strings or "
                              "binary, or of two types whose values all fit 64 bits in the unit or scale of both: {} "
                              "and {}",
                              to_string(left[pair.left].type), to_string(right[pair.right].type)));
    }
  }
  return {};
}

Result<KeyComposition> compose_keys(resolve::JoinRequest const& request) {
  JoinedTables const tables(request);
  KeyComposition composition;
  for (auto const side : kSides) composition.rows += tables.of(side).rows;
  composition.nulls_are_keys = request.spec.nulls_equal;
  for (auto const& pair : request.columns.keys) {
    GARUDA_TRY_ASSIGN(auto part, part_of(tables, pair, request.options.control));
    composition.parts.push_back(std::move(part));
  }
  GARUDA_TRY_ASSIGN(bool const are_packed, place_all(tables, composition, request.options.control));
  if (!are_packed) GARUDA_TRY(take_words(composition));
  return composition;
}

compute::ComposedKeyShape shape_of(KeyComposition const& composition) {
  compute::ComposedKeyShape shape;
  shape.rows = static_cast<double>(composition.rows);
  for (auto const& part : composition.parts) shape.column_bytes += 4.0 * part.words;
  for (auto const& part : composition.parts)
    if (part.has_nulls[0] || part.has_nulls[1]) shape.column_bytes += 4;
  shape.key_words = composition.words();
  shape.columns = static_cast<std::uint32_t>(composition.parts.size());
  shape.bits = composition.bits;
  shape.numbered_words = composition.num_words;
  return shape;
}

Result<ComposedKeys> ComposedKeys::create(compute::ComputeContext& context, KeyComposition const& composition,
                                          JoinedTables const& tables, Control const& control) {
  ComposedKeys keys(composition, tables);
  for (auto& key : keys.keys_) key.words = composition.words();
  GARUDA_TRY(keys.number_strings(context, control));
  for (auto const side : kSides) GARUDA_TRY(keys.convert(context, side));
  if (composition.is_packed()) {
    for (auto const side : kSides) GARUDA_TRY(keys.pack(context, side));
  } else {
    GARUDA_TRY(keys.number(context));
  }
  for (auto const side : kSides)
    if (composition.has_flags(side)) GARUDA_TRY(keys.null_words(context, side));
  return keys;
}

/// Every string key's numbers among those of both sides.
Result<void> ComposedKeys::number_strings(compute::ComputeContext& context, Control const& control) {
  for (auto& of_side : strings_) of_side.resize(composition_->parts.size());
  for (std::size_t p = 0; p < composition_->parts.size(); ++p) {
    auto const& part = composition_->parts[p];
    if (part.strings == nullptr) continue;
    GARUDA_TRY_ASSIGN(auto const numbers, string_numbers(tables_.of(Side::left), *part.strings, control));
    for (auto const side : kSides) {
      auto const& table = tables_.of(side);
      if (table.rows == 0) continue;
      GARUDA_TRY_ASSIGN(strings_[side_index(side)][p],
                        string_keys(context, table, part.columns[side_index(side)], *part.strings, numbers));
    }
  }
  return {};
}

/// Values of other types in the kind in which both sides are compared.
Result<void> ComposedKeys::convert(compute::ComputeContext& context, Side side) {
  auto& converted = converted_[side_index(side)];
  converted.resize(composition_->parts.size());
  auto const rows = tables_.of(side).rows;
  for (std::size_t p = 0; p < composition_->parts.size(); ++p) {
    auto const& part = composition_->parts[p];
    auto const& conversion = part.conversions[side_index(side)];
    if (!conversion || rows == 0) continue;
    auto values = column(side, p);
    values.kind = device_key_kind(tables_.field(side, part.columns[side_index(side)]).type).value();
    auto const bytes = rows * conversion->words() * materialize::kWordBytes;
    GARUDA_TRY_ASSIGN(auto made, context.device_buffer(bytes, "converted keys"));
    GARUDA_TRY(compute::record_key_conversion(context, values, rows, *conversion, made.address()));
    converted[p] = std::move(made);
  }
  return {};
}

bool ComposedKeys::continues_by_sign(Side side, std::size_t part) const {
  auto const& of = composition_->parts[part];
  if (auto const& conversion = of.conversions[side_index(side)]) return conversion->as == DeviceValueKind::int64;
  return garuda::continues_by_sign(tables_.field(side, of.columns[side_index(side)]).type.id);
}

/// A key column's values; its nulls are told where they are keys.
compute::DeviceValues ComposedKeys::column(Side side, std::size_t part) const {
  auto const& of = composition_->parts[part];
  auto const own = of.columns[side_index(side)];
  auto values = tables_.of(side).values(own, of.kinds[side_index(side)]);
  if (!composition_->nulls_are_keys) values.nulls = values.null_mask = 0;
  if (auto const& numbers = strings_[side_index(side)][part]) values.column = {numbers->keys.address(), 1};
  if (auto const& conversion = of.conversions[side_index(side)]; conversion && converted_[side_index(side)][part])
    values.column = {converted_[side_index(side)][part].address(), conversion->words()};
  return values;
}

Result<void> ComposedKeys::pack(compute::ComputeContext& context, Side side) {
  auto const rows = tables_.of(side).rows;
  auto& keys = keys_[side_index(side)];
  if (rows == 0) return {};
  std::vector<compute::DeviceValues> columns;
  std::vector<compute::KeyPlace> places;
  for (std::size_t p = 0; p < composition_->parts.size(); ++p) {
    columns.push_back(column(side, p));
    places.push_back(composition_->parts[p].places[side_index(side)]);
  }
  GARUDA_TRY_ASSIGN(auto packed, context.device_buffer(rows * keys.words * materialize::kWordBytes, "packed keys"));
  keys.address = packed.address();
  GARUDA_TRY_ASSIGN(auto read, compute::record_packed_keys(context, {columns, places, rows, keys}));
  buffers_.push_back(std::move(packed));
  buffers_.push_back(std::move(read));
  return {};
}

/// Rows of the right side come behind those of the left one.
Result<void> ComposedKeys::number(compute::ComputeContext& context) {
  auto const rows = composition_->rows;
  if (rows == 0) return {};
  GARUDA_TRY_ASSIGN(auto numbered, compute::NumberedKeys::create(context, rows, composition_->num_words));
  if (composition_->nulls_are_keys) GARUDA_TRY(numbered.clear(context));
  std::uint64_t first = 0;
  for (auto const side : kSides) {
    std::vector<compute::KeyWordColumn> columns;
    std::uint32_t null_bit = 0;
    for (std::size_t p = 0; p < composition_->parts.size(); ++p) {
      auto const& part = composition_->parts[p];
      columns.push_back({column(side, p), part.words, continues_by_sign(side, p), null_bit});
      if (part.has_nulls[0] || part.has_nulls[1]) ++null_bit;
    }
    auto const own = tables_.of(side).rows;
    if (own > 0) GARUDA_TRY(numbered.record(context, columns, first, own));
    keys_[side_index(side)].address = numbered.numbers().address() + first * materialize::kWordBytes;
    first += own;
  }
  GARUDA_TRY(numbered.run(context));
  buffers_.push_back(std::move(numbered.numbers()));
  return {};
}

std::optional<compute::NullFlags> ComposedKeys::flags(Side side) const {
  if (!composition_->has_flags(side)) return std::nullopt;
  return compute::NullFlags{null_words_[side_index(side)].address(), shaders::kAnyNullBit};
}

Result<VkDeviceAddress> ComposedKeys::null_words(compute::ComputeContext& context, Side side) {
  auto& words = null_words_[side_index(side)];
  if (words) return words.address();
  auto const rows = tables_.of(side).rows;
  GARUDA_TRY_ASSIGN(words, context.device_buffer(rows * materialize::kWordBytes, "nulls of keys"));
  std::vector<compute::NullableKey> columns;
  for (std::size_t p = 0; p < composition_->parts.size(); ++p)
    if (auto const nulls = tables_.of(side).nulls(composition_->parts[p].columns[side_index(side)]))
      columns.push_back({nulls->words, std::uint32_t{1} << nulls->bit, static_cast<std::uint32_t>(p)});
  if (columns.empty() || rows == 0) {
    GARUDA_TRY(context.fill("encode", words, 0));
    return words.address();
  }
  GARUDA_TRY_ASSIGN(auto read, compute::record_key_nulls(context, columns, rows, words.address()));
  buffers_.push_back(std::move(read));
  return words.address();
}

Result<VkDeviceAddress> ComposedKeys::values(compute::ComputeContext& context, Side side, std::size_t part,
                                             std::uint32_t words) {
  auto const own = column(side, part).column;
  auto const rows = tables_.of(side).rows;
  if (own.words == words || rows == 0) return own.address;
  GARUDA_TRY_ASSIGN(auto made, context.device_buffer(rows * words * materialize::kWordBytes, "keys of both sides"));
  auto const address = made.address();
  GARUDA_TRY(compute::record_key_width(context, {own, {address, words}, rows, continues_by_sign(side, part)}));
  buffers_.push_back(std::move(made));
  return address;
}

}  // namespace garuda::device
