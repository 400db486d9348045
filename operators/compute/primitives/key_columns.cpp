#include "operators/compute/primitives/key_columns.hpp"

#include <algorithm>
#include <bit>

#include "operators/compute/primitives/key_conversion.hpp"
#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kEncodePhase = "encode";

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

/// A table that a pass reads, one element a column.
template <class Row>
Result<vk::Buffer> upload_rows(ComputeContext& context, std::vector<Row> const& rows, char const* name) {
  GARUDA_TRY_ASSIGN(auto table, context.device_buffer(rows.size() * sizeof(Row), name));
  GARUDA_TRY(context.update(kEncodePhase, table, std::as_bytes(std::span(rows))));
  return table;
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
  GARUDA_TRY(context.dispatch(kEncodePhase, pack_shape(keys.target.words), push,
                              groups_for(keys.rows, context.tuning().group_size), keys.rows));
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
    GARUDA_TRY(context.dispatch(kEncodePhase, words_shape(column.values.kind), push,
                                groups_for(rows.rows, context.tuning().group_size), rows.rows));
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
  GARUDA_TRY(context.dispatch(kEncodePhase, nulls_shape(), push, groups_for(rows, context.tuning().group_size), rows));
  return buffer;
}

std::vector<vk::ComputePipelineSpec> key_column_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U}) specs.push_back(compute_pipeline(pack_shape(key_words), tuning));
  for (auto const kind :
       {DeviceValueKind::bits, DeviceValueKind::float16, DeviceValueKind::float32, DeviceValueKind::float64})
    specs.push_back(compute_pipeline(words_shape(kind), tuning));
  for (auto const& shape : {nulls_shape(), convert_keys_shape()}) specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
