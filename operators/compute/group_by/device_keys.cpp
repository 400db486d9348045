#include "operators/compute/group_by/device_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "shaders/compute/column_values_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kEncodePhase = "encode";
constexpr char const* kDecodePhase = "keys";

std::uint64_t low_bits(std::uint32_t bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

PassShape pack_shape(std::uint32_t key_words) {
  return {"compute/pack_keys.comp", 0, 1, sizeof(shaders::PackKeysPush), {{shaders::kSpecWords, key_words}}};
}

PassShape words_shape(DeviceValueKind kind) {
  auto const canonical = is_float(kind) ? kind : DeviceValueKind::bits;
  return {"compute/key_words.comp",
          0,
          1,
          sizeof(shaders::KeyWordsPush),
          {{shaders::kSpecColumnKind, static_cast<std::uint32_t>(canonical)}}};
}

PassShape column_shape(std::uint32_t key_words) {
  return {"compute/key_column.comp", 0, 1, sizeof(shaders::KeyColumnPush), {{shaders::kSpecWords, key_words}}};
}

shaders::PackedColumn column_of(DeviceValues const& values) {
  shaders::PackedColumn column{};
  column.values = values.column.address;
  column.nulls = values.nulls;
  column.null_mask = values.null_mask;
  column.kind = static_cast<std::uint32_t>(values.kind);
  column.wide = values.column.words == 2 ? 1 : 0;
  return column;
}

}  // namespace

bool DeviceKeys::may_be_plain(std::vector<DeviceValues> const& columns) noexcept {
  return columns.size() == 1 && !columns[0].has_nulls() && !is_float(columns[0].kind) && has_order(columns[0].kind);
}

bool DeviceKeys::may_be_packed(std::vector<DeviceValues> const& columns) noexcept {
  return !columns.empty() && std::ranges::all_of(columns, [](auto const& column) { return has_order(column.kind); });
}

Result<DeviceKeys> DeviceKeys::create(ComputeContext& context, std::vector<DeviceValues> columns, std::uint64_t rows,
                                      std::optional<std::vector<ValueRange>> const& ranges) {
  GARUDA_EXPECTS(!ranges || ranges->size() == columns.size());
  DeviceKeys keys;
  keys.columns_ = std::move(columns);
  keys.rows_ = rows;
  if (keys.columns_.empty()) return keys;
  if (!ranges) {
    keys.form_ = may_be_plain(keys.columns_) ? DeviceKeyForm::plain : DeviceKeyForm::numbered;
  } else {
    std::uint32_t bits = 0;
    for (std::size_t c = 0; c < keys.columns_.size(); ++c) {
      auto const& range = (*ranges)[c];
      bool const has_nulls = keys.columns_[c].has_nulls();
      // Nulls have the code 0, values the following ones.
      auto const span = range.has_values ? range.max - range.min : 0;
      auto const own = span == ~std::uint64_t{0} && has_nulls
                           ? 65U
                           : static_cast<std::uint32_t>(std::bit_width(span + (has_nulls ? 1 : 0)));
      keys.places_.push_back({0, own, range.min});
      bits += own;
    }
    keys.form_ = bits <= 2 * kWordBits ? DeviceKeyForm::packed : DeviceKeyForm::numbered;
    keys.key_bits_ = bits;
  }
  if (keys.form_ == DeviceKeyForm::plain) keys.key_bits_ = keys.columns_[0].column.words * kWordBits;
  if (keys.form_ == DeviceKeyForm::packed) GARUDA_TRY(keys.take_packed(context));
  if (keys.form_ == DeviceKeyForm::numbered) GARUDA_TRY(keys.take_numbered(context));
  return keys;
}

Result<void> DeviceKeys::take_packed(ComputeContext& context) {
  auto shift = key_bits_;
  for (auto& place : places_) {
    shift -= place.bits;
    // Columns without any bit are shifted by less than a word has.
    place.shift = std::min(shift, 2 * kWordBits - 1);
  }
  GARUDA_TRY_ASSIGN(table_, context.device_buffer(columns_.size() * sizeof(shaders::PackedColumn), "key columns"));
  GARUDA_TRY_ASSIGN(packed_, context.device_buffer(rows_ * words().words * 4, "packed keys"));
  return {};
}

Result<void> DeviceKeys::take_numbered(ComputeContext& context) {
  std::uint32_t nullable = 0;
  for (auto const& column : columns_) {
    num_words_ += column.column.words;
    nullable += column.has_nulls() ? 1 : 0;
  }
  num_words_ += (nullable + kWordBits - 1) / kWordBits;
  if (rows_ > kMaxScanElements || rows_ * num_words_ >= std::uint64_t{1} << 32)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("too many rows with keys of {} words to be grouped on a device: {}", num_words_, rows_));
  key_bits_ = kWordBits;
  GARUDA_TRY_ASSIGN(key_words_, context.device_buffer(rows_ * num_words_ * 4, "words of keys"));
  GARUDA_TRY_ASSIGN(packed_, context.device_buffer(rows_ * 4, "numbers of keys"));
  GARUDA_TRY_ASSIGN(head_rows_, context.device_buffer(rows_ * 4, "first rows of keys"));
  TableAddress address;
  address.slots = hash_table_slots(rows_);
  RowKeys const keys{key_words_.address(), static_cast<std::uint32_t>(rows_), 0, num_words_};
  GARUDA_TRY_ASSIGN(row_groups_, RowGroups::create(context, keys, address));
  return {};
}

DeviceColumn DeviceKeys::words() const noexcept {
  if (form_ == DeviceKeyForm::none) return {0, 0};
  if (form_ == DeviceKeyForm::plain) return columns_[0].column;
  bool const is_wide = form_ == DeviceKeyForm::packed && key_bits_ > kWordBits;
  return {packed_.address(), is_wide ? 2U : 1U};
}

Result<void> DeviceKeys::record_words(ComputeContext& context) {
  std::uint32_t first_word = 0;
  std::uint32_t null_bit = 0;
  std::uint32_t value_words = 0;
  for (auto const& column : columns_) value_words += column.column.words;
  auto const groups = groups_for(rows_, context.tuning().group_size);
  if (num_words_ > value_words) GARUDA_TRY(context.fill(kEncodePhase, key_words_, 0));
  for (auto const& column : columns_) {
    shaders::KeyWordsPush push{};
    push.values = column.column.address;
    push.nulls = column.nulls;
    push.words = key_words_.address();
    push.null_mask = column.null_mask;
    push.num_words = column.column.words;
    push.first_word = first_word;
    push.null_word = value_words + null_bit / kWordBits;
    push.null_bit = null_bit % kWordBits;
    push.num_rows = static_cast<std::uint32_t>(rows_);
    GARUDA_TRY(context.dispatch(kEncodePhase, words_shape(column.kind), push, groups, rows_));
    first_word += column.column.words;
    null_bit += column.has_nulls() ? 1 : 0;
  }
  return {};
}

Result<void> DeviceKeys::run(ComputeContext& context) {
  if (form_ == DeviceKeyForm::numbered) {
    GARUDA_TRY(record_words(context));
    GARUDA_TRY_ASSIGN(num_groups_, row_groups_.run(context, packed_.address(), head_rows_.address()));
    key_bits_ = static_cast<std::uint32_t>(std::bit_width(num_groups_ - 1));
    return {};
  }
  if (form_ != DeviceKeyForm::packed) return {};
  std::vector<shaders::PackedColumn> columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    columns.push_back(column_of(columns_[c]));
    columns.back().shift = places_[c].shift;
    columns.back().min_low = static_cast<std::uint32_t>(places_[c].min);
    columns.back().min_high = static_cast<std::uint32_t>(places_[c].min >> 32);
  }
  GARUDA_TRY(context.update(kEncodePhase, table_, std::as_bytes(std::span(columns))));
  shaders::PackKeysPush push{};
  push.columns = table_.address();
  push.keys = packed_.address();
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.num_rows = static_cast<std::uint32_t>(rows_);
  return context.dispatch(kEncodePhase, pack_shape(words().words), push, groups_for(rows_, context.tuning().group_size),
                          rows_);
}

Result<void> DeviceKeys::take_columns(ComputeContext& context, std::uint64_t groups) {
  if (groups == column_groups_ && key_columns_.size() == columns_.size()) return {};
  key_columns_.clear();
  for (auto const& column : columns_) {
    KeyColumn key;
    key.words = column.column.words;
    GARUDA_TRY_ASSIGN(key.values, context.device_buffer(groups * key.words * 4, "key column of groups"));
    if (column.has_nulls()) {
      GARUDA_TRY_ASSIGN(key.nulls, context.device_buffer(groups * 4, "nulls of a key column"));
    }
    key_columns_.push_back(std::move(key));
  }
  column_groups_ = groups;
  return {};
}

Result<void> DeviceKeys::record_columns(ComputeContext& context, vk::Buffer const& words, std::uint64_t groups) {
  GARUDA_EXPECTS(form_ == DeviceKeyForm::packed || form_ == DeviceKeyForm::numbered);
  GARUDA_TRY(take_columns(context, groups));
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    shaders::KeyColumnPush push{};
    push.column = column_of(columns_[c]);
    if (form_ == DeviceKeyForm::packed) {
      auto const mask = low_bits(places_[c].bits);
      push.column.shift = places_[c].shift;
      push.column.min_low = static_cast<std::uint32_t>(places_[c].min);
      push.column.min_high = static_cast<std::uint32_t>(places_[c].min >> 32);
      push.column.mask_low = static_cast<std::uint32_t>(mask);
      push.column.mask_high = static_cast<std::uint32_t>(mask >> 32);
    }
    auto const& key = key_columns_[c];
    push.keys = words.address();
    push.rows = form_ == DeviceKeyForm::numbered ? head_rows_.address() : 0;
    push.target = key.values.address();
    push.nulls = key.nulls ? key.nulls->address() : 0;
    push.num_words = key.words;
    push.num_groups = static_cast<std::uint32_t>(groups);
    GARUDA_TRY(context.dispatch(kDecodePhase, column_shape(this->words().words), push,
                                groups_for(groups, context.tuning().group_size), groups));
  }
  return {};
}

std::vector<vk::ComputePipelineSpec> DeviceKeys::pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U}) {
    specs.push_back(compute_pipeline(pack_shape(key_words), tuning));
    specs.push_back(compute_pipeline(column_shape(key_words), tuning));
  }
  for (auto const kind : {DeviceValueKind::bits, DeviceValueKind::float32, DeviceValueKind::float64})
    specs.push_back(compute_pipeline(words_shape(kind), tuning));
  return specs;
}

}  // namespace garuda::compute
