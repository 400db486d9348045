#include "operators/compute/primitives/key_columns.hpp"

#include <algorithm>
#include <bit>

#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kEncodePhase = "encode";
constexpr char const* kKeyWidthPhase = "key width";
constexpr char const* kNullKeysPhase = "null keys";
constexpr std::uint32_t kNoRow = 0xffffffff;

PassShape pack_shape(std::uint32_t key_words) {
  return {"compute/keys/pack_keys.comp", 0, 1, sizeof(shaders::PackKeysPush), {{shaders::kSpecWords, key_words}}};
}

PassShape words_shape(DeviceValueKind kind) {
  auto const canonical = is_float(kind) || kind == DeviceValueKind::float16 ? kind : DeviceValueKind::bits;
  return {"compute/keys/key_words.comp",
          0,
          1,
          sizeof(shaders::KeyWordsPush),
          {{shaders::kSpecColumnKind, static_cast<std::uint32_t>(canonical)}}};
}

PassShape nulls_shape() { return {"compute/keys/key_nulls.comp", 0, 1, sizeof(shaders::KeyNullsPush), {}}; }
PassShape convert_shape() { return {"compute/keys/convert_keys.comp", 0, 1, sizeof(shaders::ConvertKeysPush), {}}; }
PassShape width_shape() { return {"compute/keys/key_width.comp", 0, 1, sizeof(shaders::KeyWidthPush), {}}; }
PassShape null_keys_shape(std::uint32_t words) {
  return {"compute/keys/null_keys.comp", 0, 1, sizeof(shaders::NullKeysPush), {{shaders::kSpecWords, words}}};
}

/// A table that a pass reads, one element a column.
template <class Row>
Result<vk::Buffer> upload_rows(ComputeContext& context, std::vector<Row> const& rows, char const* name) {
  GARUDA_TRY_ASSIGN(auto table, context.device_buffer(rows.size() * sizeof(Row), name));
  GARUDA_TRY(context.update(kEncodePhase, table, std::as_bytes(std::span(rows))));
  return table;
}

/// Clears a word that passes write, records one by `record`, waits for it, and returns the word.
template <class Record>
Result<std::uint32_t> found_word(ComputeContext& context, char const* phase, std::uint32_t cleared,
                                 Record const& record) {
  GARUDA_TRY_ASSIGN(auto const word, context.device_buffer(sizeof(cleared), "what a pass over keys found"));
  GARUDA_TRY(context.fill(phase, word, cleared));
  GARUDA_TRY(record(word.address()));
  return context.read_value<std::uint32_t>(phase, word);
}

Result<void> record_width(ComputeContext& context, KeyResize const& resize, std::optional<NullFlags> const& nulls,
                          VkDeviceAddress wide_row) {
  shaders::KeyWidthPush push{};
  push.source = resize.source.address;
  push.target = resize.target.address;
  push.nulls = nulls ? nulls->words : 0;
  push.wide_row = wide_row;
  push.source_words = resize.source.words;
  push.target_words = resize.target.words;
  push.null_mask = nulls ? 1U << nulls->bit : 0;
  push.is_signed = resize.is_signed ? 1 : 0;
  push.num_rows = static_cast<std::uint32_t>(resize.rows);
  return context.dispatch_each(kKeyWidthPhase, width_shape(), push, resize.rows);
}

}  // namespace

shaders::PackedColumn packed_column(DeviceValues const& values) noexcept {
  shaders::PackedColumn column{};
  column.values = values.column.address;
  column.nulls = values.nulls;
  column.null_mask = values.null_mask;
  column.kind = static_cast<std::uint32_t>(values.kind);
  column.wide = values.column.words == 2 ? 1 : 0;
  return column;
}

std::uint32_t code_bits(std::uint64_t span, bool has_nulls) noexcept {
  if (has_nulls && span == ~std::uint64_t{0}) return 2 * kWordBits + 1;
  return static_cast<std::uint32_t>(std::bit_width(span + (has_nulls ? 1 : 0)));
}

std::uint32_t place_side_by_side(std::span<KeyPlace> places) noexcept {
  std::uint32_t bits = 0;
  for (auto const& place : places) bits += place.bits;
  auto shift = bits;
  for (auto& place : places) {
    shift -= place.bits;
    // Columns without any bit are shifted by less than a word has.
    place.shift = std::min(shift, 2 * kWordBits - 1);
  }
  return bits;
}

Result<vk::Buffer> record_packed_keys(ComputeContext& context, PackedKeys const& keys) {
  GARUDA_EXPECTS(keys.rows > 0 && keys.places.size() == keys.columns.size());
  std::vector<shaders::PackedColumn> columns;
  for (std::size_t c = 0; c < keys.columns.size(); ++c) {
    auto& column = columns.emplace_back(packed_column(keys.columns[c]));
    column.shift = keys.places[c].shift;
    column.min_low = static_cast<std::uint32_t>(keys.places[c].min);
    column.min_high = static_cast<std::uint32_t>(keys.places[c].min >> 32);
  }
  GARUDA_TRY_ASSIGN(auto table, upload_rows(context, columns, "key columns"));
  shaders::PackKeysPush push{};
  push.columns = table.address();
  push.keys = keys.target.address;
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.num_rows = static_cast<std::uint32_t>(keys.rows);
  GARUDA_TRY(context.dispatch_each(kEncodePhase, pack_shape(keys.target.words), push, keys.rows));
  return table;
}

Result<void> record_key_words(ComputeContext& context, std::span<KeyWordColumn const> columns,
                              KeyWordRows const& rows) {
  std::uint32_t value_words = 0;
  for (auto const& column : columns) value_words += column.words;
  std::uint32_t first_word = 0;
  for (auto const& column : columns) {
    shaders::KeyWordsPush push{};
    push.values = column.values.column.address;
    push.nulls = column.values.nulls;
    push.words = rows.words;
    push.null_mask = column.values.null_mask;
    push.source_words = column.values.column.words;
    push.num_words = column.words;
    push.is_signed = column.is_signed ? 1 : 0;
    push.first_word = first_word;
    push.null_word = value_words + column.null_bit / kWordBits;
    push.null_bit = column.null_bit % kWordBits;
    push.stride = static_cast<std::uint32_t>(rows.stride);
    push.num_rows = static_cast<std::uint32_t>(rows.rows);
    GARUDA_TRY(context.dispatch_each(kEncodePhase, words_shape(column.values.kind), push, rows.rows));
    first_word += column.words;
  }
  return {};
}

Result<vk::Buffer> record_key_nulls(ComputeContext& context, std::span<NullableKey const> columns, std::uint64_t rows,
                                    VkDeviceAddress words) {
  std::vector<shaders::KeyNulls> table;
  for (auto const& column : columns) table.push_back({column.nulls, column.null_mask, column.bit});
  GARUDA_TRY_ASSIGN(auto buffer, upload_rows(context, table, "nullable keys"));
  shaders::KeyNullsPush push{};
  push.columns = buffer.address();
  push.words = words;
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.num_rows = static_cast<std::uint32_t>(rows);
  GARUDA_TRY(context.dispatch_each(kEncodePhase, nulls_shape(), push, rows));
  return buffer;
}

Result<void> record_key_conversion(ComputeContext& context, DeviceValues const& values, std::uint64_t rows,
                                   KeyConversion const& conversion, VkDeviceAddress target) {
  shaders::ConvertKeysPush push{};
  push.source = values.column.address;
  push.target = target;
  push.kind = static_cast<std::uint32_t>(values.kind);
  push.as_kind = static_cast<std::uint32_t>(conversion.as);
  push.factor_low = static_cast<std::uint32_t>(conversion.factor);
  push.factor_high = static_cast<std::uint32_t>(conversion.factor >> 32);
  push.num_rows = static_cast<std::uint32_t>(rows);
  return context.dispatch_each(kEncodePhase, convert_shape(), push, rows);
}

Result<void> record_key_width(ComputeContext& context, KeyResize const& resize) {
  return record_width(context, resize, std::nullopt, 0);
}

Result<std::optional<std::uint64_t>> cut_keys(ComputeContext& context, KeyResize const& resize,
                                              std::optional<NullFlags> const& nulls) {
  GARUDA_TRY_ASSIGN(auto const row, found_word(context, kKeyWidthPhase, kNoRow, [&](VkDeviceAddress wide_row) {
                      return record_width(context, resize, nulls, wide_row);
                    }));
  return row == kNoRow ? std::nullopt : std::optional<std::uint64_t>(row);
}

Result<bool> replace_null_keys(ComputeContext& context, DeviceRows const& rows, std::optional<NullFlags> const& nulls,
                               std::uint64_t value, VkDeviceAddress target) {
  if (rows.rows == 0) return true;
  shaders::NullKeysPush push{};
  push.source = rows.keys.address;
  push.target = target;
  push.nulls = nulls ? nulls->words : 0;
  push.value_low = static_cast<std::uint32_t>(value);
  push.value_high = static_cast<std::uint32_t>(value >> 32);
  push.null_mask = nulls ? 1U << nulls->bit : 0;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  GARUDA_TRY_ASSIGN(auto const taken, found_word(context, kNullKeysPhase, 0, [&](VkDeviceAddress word) {
                      push.taken = word;
                      return context.dispatch_each(kNullKeysPhase, null_keys_shape(rows.keys.words), push, rows.rows);
                    }));
  return taken == 0;
}

std::vector<vk::ComputePipelineSpec> key_column_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U}) specs.push_back(compute_pipeline(pack_shape(key_words), tuning));
  for (auto const kind :
       {DeviceValueKind::bits, DeviceValueKind::float16, DeviceValueKind::float32, DeviceValueKind::float64})
    specs.push_back(compute_pipeline(words_shape(kind), tuning));
  for (auto const& shape : {nulls_shape(), convert_shape(), width_shape(), null_keys_shape(1), null_keys_shape(2)})
    specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
