#include "operators/compute/group_by/device_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "shaders/compute/group_by/grouping_layout.h"
#include "shaders/compute/keys/column_values_layout.h"
#include "shaders/shared/hash.h"

namespace garuda::compute {
namespace {

// Seeds tried before keys are taken for ones that no seed tells apart.
constexpr std::uint32_t kMostSeeds = 16;

PassShape enter_shape(std::uint32_t key_words, bool direct) {
  return {"compute/group_by/enter_rows.comp",
          0,
          1,
          sizeof(shaders::EnterRowsPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecDirectSlots, direct ? 1U : 0U}}};
}

PassShape number_shape(std::string_view entry) { return {entry, 0, 1, sizeof(shaders::NumberRowsPush), {}}; }

constexpr std::string_view kMarkFirstRows = "compute/group_by/mark_first_rows.comp";
constexpr std::string_view kNumberGroups = "compute/group_by/number_groups.comp";

constexpr char const* kClearPhase = "encode";
constexpr char const* kDecodePhase = "keys";

std::uint64_t low_bits(std::uint32_t bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

PassShape column_shape(std::uint32_t key_words) {
  return {"compute/keys/key_column.comp", 0, 1, sizeof(shaders::KeyColumnPush), {{shaders::kSpecWords, key_words}}};
}

}  // namespace

std::uint64_t hash_table_slots(std::uint64_t rows) noexcept {
  return std::bit_ceil(std::max<std::uint64_t>(rows / 3 * 4, 16));
}

Result<RowGroups> RowGroups::create(ComputeContext& context, RowKeys const& keys, TableAddress const& address) {
  RowGroups groups;
  groups.keys_ = keys;
  groups.address_ = address;
  auto const bytes = std::uint64_t{keys.rows} * 4;
  GARUDA_TRY_ASSIGN(groups.table_, context.device_buffer(address.slots * 4, "table of groups"));
  GARUDA_TRY_ASSIGN(groups.slots_, context.device_buffer(bytes, "slots of rows"));
  GARUDA_TRY_ASSIGN(groups.heads_, context.device_buffer(bytes, "first rows"));
  GARUDA_TRY_ASSIGN(groups.offsets_, context.device_buffer(bytes, "group ids of first rows"));
  GARUDA_TRY_ASSIGN(groups.lost_, context.device_buffer(4, "rows without a slot"));
  GARUDA_TRY_ASSIGN(groups.scan_, DeviceScan::create(context, keys.rows));
  return groups;
}

Result<void> RowGroups::enter_rows(ComputeContext& context) {
  shaders::EnterRowsPush push{};
  push.keys = keys_.address;
  push.table = table_.address();
  push.slots = slots_.address();
  push.lost = lost_.address();
  push.num_rows = keys_.rows;
  push.num_words = keys_.num_words;
  push.mask = static_cast<std::uint32_t>(address_.slots - 1);
  push.min_low = static_cast<std::uint32_t>(address_.min);
  push.min_high = static_cast<std::uint32_t>(address_.min >> 32);
  push.shift = address_.shift;
  for (std::uint32_t turn = 0; turn < kMostSeeds; ++turn) {
    push.seed = turn == 0 ? 0 : shaders::mix32(turn);
    GARUDA_TRY(context.fill(vulkan::phase::kHash, table_, shaders::kFreeSlot));
    GARUDA_TRY(context.fill(vulkan::phase::kHash, lost_, 0));
    GARUDA_TRY(
        context.dispatch_each(vulkan::phase::kHash, enter_shape(keys_.key_words, address_.direct), push, keys_.rows));
    if (address_.direct) return {};
    GARUDA_TRY_ASSIGN(auto const lost, context.read_value<std::uint32_t>(vulkan::phase::kHash, lost_));
    if (lost == 0) return {};
  }
  return fail(ErrorCode::limit_exceeded,
              fmt::format("no hash spreads the keys of a slice over its table, tried: {}", kMostSeeds));
}

Result<std::uint64_t> RowGroups::run(ComputeContext& context, VkDeviceAddress ids, VkDeviceAddress head_rows) {
  GARUDA_TRY(enter_rows(context));
  shaders::NumberRowsPush push{};
  push.table = table_.address();
  push.slots = slots_.address();
  push.heads = heads_.address();
  push.offsets = offsets_.address();
  push.ids = ids;
  push.head_rows = head_rows;
  push.num_rows = keys_.rows;
  GARUDA_TRY(context.dispatch_each(vulkan::phase::kMap, number_shape(kMarkFirstRows), push, keys_.rows));
  GARUDA_TRY(scan_.record(context, vulkan::phase::kPrefix, {heads_.address(), offsets_.address(), keys_.rows}));
  GARUDA_TRY(context.dispatch_each(vulkan::phase::kPrefix, number_shape(kNumberGroups), push, keys_.rows));
  return scan_.read_total(context, vulkan::phase::kPrefix);
}

std::vector<vk::ComputePipelineSpec> RowGroups::pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {0U, 1U, 2U}) {
    specs.push_back(compute_pipeline(enter_shape(key_words, false), tuning));
    if (key_words > 0) specs.push_back(compute_pipeline(enter_shape(key_words, true), tuning));
  }
  for (auto const entry : {kMarkFirstRows, kNumberGroups})
    specs.push_back(compute_pipeline(number_shape(entry), tuning));
  return specs;
}

Result<std::uint32_t> NumberedKeys::words_of(std::uint32_t value_words, std::uint32_t nullable, std::uint64_t rows) {
  auto const words = value_words + (nullable + kWordBits - 1) / kWordBits;
  if (rows <= kMaxScanElements && rows * words < std::uint64_t{1} << 32) return words;
  return fail(
      ErrorCode::limit_exceeded,
      fmt::format("keys on a device that do not fit 64 bits, but take {} words, are of fewer rows: {}", words, rows));
}

Result<NumberedKeys> NumberedKeys::create(ComputeContext& context, std::uint64_t rows, std::uint32_t words) {
  NumberedKeys keys;
  keys.rows_ = rows;
  GARUDA_TRY_ASSIGN(keys.words_, context.device_buffer(rows * words * 4, "words of keys"));
  GARUDA_TRY_ASSIGN(keys.numbers_, context.device_buffer(rows * 4, "numbers of keys"));
  GARUDA_TRY_ASSIGN(keys.head_rows_, context.device_buffer(rows * 4, "first rows of keys"));
  TableAddress address;
  address.slots = hash_table_slots(rows);
  RowKeys const row_keys{keys.words_.address(), static_cast<std::uint32_t>(rows), 0, words};
  GARUDA_TRY_ASSIGN(keys.row_groups_, RowGroups::create(context, row_keys, address));
  return keys;
}

Result<void> NumberedKeys::clear(ComputeContext& context) { return context.fill(kClearPhase, words_, 0); }

Result<void> NumberedKeys::record(ComputeContext& context, std::span<KeyWordColumn const> columns, std::uint64_t first,
                                  std::uint64_t rows) {
  return record_key_words(context, columns, {rows, words_.address() + first * 4, rows_});
}

Result<std::uint64_t> NumberedKeys::run(ComputeContext& context) {
  return row_groups_.run(context, numbers_.address(), head_rows_.address());
}

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
  std::uint32_t value_words = 0;
  std::uint32_t nullable = 0;
  for (auto const& column : columns_) {
    value_words += column.column.words;
    nullable += column.has_nulls() ? 1 : 0;
  }
  key_bits_ = kWordBits;
  GARUDA_TRY_ASSIGN(auto const words, NumberedKeys::words_of(value_words, nullable, rows_));
  GARUDA_TRY_ASSIGN(numbered_, NumberedKeys::create(context, rows_, words));
  return {};
}

DeviceColumn DeviceKeys::words() const noexcept {
  if (form_ == DeviceKeyForm::none) return {0, 0};
  if (form_ == DeviceKeyForm::plain) return columns_[0].column;
  if (form_ == DeviceKeyForm::numbered) return {numbered_.numbers().address(), 1};
  return {packed_.address(), key_bits_ > kWordBits ? 2U : 1U};
}

Result<void> DeviceKeys::record_numbered(ComputeContext& context) {
  std::vector<KeyWordColumn> columns;
  std::uint32_t null_bits = 0;
  for (auto const& values : columns_) {
    columns.push_back({values, values.column.words, false, null_bits});
    null_bits += values.has_nulls() ? 1 : 0;
  }
  if (null_bits > 0) GARUDA_TRY(numbered_.clear(context));
  return numbered_.record(context, columns, 0, rows_);
}

Result<void> DeviceKeys::run(ComputeContext& context) {
  if (form_ == DeviceKeyForm::numbered) {
    GARUDA_TRY(record_numbered(context));
    GARUDA_TRY_ASSIGN(num_groups_, numbered_.run(context));
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
    push.rows = form_ == DeviceKeyForm::numbered ? numbered_.head_rows().address() : 0;
    push.target = key.values.address();
    push.nulls = key.nulls ? key.nulls->address() : 0;
    push.num_words = key.words;
    push.num_groups = static_cast<std::uint32_t>(groups);
    GARUDA_TRY(context.dispatch_each(kDecodePhase, column_shape(this->words().words), push, groups));
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
