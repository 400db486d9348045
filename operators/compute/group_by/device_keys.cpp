#include "operators/compute/group_by/device_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kEncodePhase = "encode";
constexpr char const* kDecodePhase = "keys";

std::uint64_t low_bits(std::uint32_t bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

PassShape column_shape(std::uint32_t key_words) {
  return {"compute/keys/key_column.comp", 0, 1, sizeof(shaders::KeyColumnPush), {{shaders::kSpecWords, key_words}}};
}

}  // namespace

bool DeviceKeys::may_be_plain(std::vector<DeviceValues> const& columns) noexcept {
  if (columns.size() != 1 || columns[0].has_nulls()) return false;
  auto const kind = columns[0].kind;
  return has_order(kind) && !is_float(kind) && kind != DeviceValueKind::float16;
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
    for (std::size_t c = 0; c < keys.columns_.size(); ++c) {
      auto const& range = (*ranges)[c];
      auto const span = range.has_values ? range.max - range.min : 0;
      keys.places_.push_back({0, code_bits(span, keys.columns_[c].has_nulls()), range.min});
    }
    auto const bits = place_side_by_side(keys.places_);
    keys.form_ = bits <= 2 * kWordBits ? DeviceKeyForm::packed : DeviceKeyForm::numbered;
    keys.key_bits_ = bits;
  }
  if (keys.form_ == DeviceKeyForm::plain) keys.key_bits_ = keys.columns_[0].column.words * kWordBits;
  if (keys.form_ == DeviceKeyForm::packed) {
    GARUDA_TRY_ASSIGN(keys.packed_, context.device_buffer(rows * keys.words().words * 4, "packed keys"));
  }
  if (keys.form_ == DeviceKeyForm::numbered) GARUDA_TRY(keys.take_numbered(context));
  return keys;
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
  std::vector<KeyWordColumn> columns;
  std::uint32_t value_words = 0;
  std::uint32_t null_bits = 0;
  for (auto const& values : columns_) {
    columns.push_back({values, values.column.words, false, null_bits});
    value_words += values.column.words;
    null_bits += values.has_nulls() ? 1 : 0;
  }
  if (num_words_ > value_words) GARUDA_TRY(context.fill(kEncodePhase, key_words_, 0));
  return record_key_words(context, columns, {rows_, key_words_.address(), rows_});
}

Result<void> DeviceKeys::run(ComputeContext& context) {
  if (form_ == DeviceKeyForm::numbered) {
    GARUDA_TRY(record_words(context));
    GARUDA_TRY_ASSIGN(num_groups_, row_groups_.run(context, packed_.address(), head_rows_.address()));
    key_bits_ = static_cast<std::uint32_t>(std::bit_width(num_groups_ - 1));
    return {};
  }
  if (form_ != DeviceKeyForm::packed) return {};
  GARUDA_TRY_ASSIGN(table_,
                    record_packed_keys(context, {columns_, places_, rows_, {packed_.address(), words().words}}));
  return {};
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
    push.column = packed_column(columns_[c]);
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
  for (std::uint32_t const key_words : {1U, 2U}) specs.push_back(compute_pipeline(column_shape(key_words), tuning));
  for (auto& spec : key_column_pipelines(tuning)) specs.push_back(std::move(spec));
  return specs;
}

}  // namespace garuda::compute
