#include "operators/device/join/compared_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/type_rows.hpp"
#include "garuda/table.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/compute/primitives/key_width.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/key_conversions.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/column_values_layout.h"

namespace garuda::device {
namespace {

using compute::DeviceValueKind;
using Kind = ColumnReading::Kind;

constexpr auto kCompared =
    "a device compares numbers, booleans, dates, times and decimals whose values fit 64 bits in the unit or scale of "
    "all that they are compared with, and whether strings, or binary of up to 8 bytes, are equal";

bool is_float(DataType const& type) { return type_row(type.id).family == TypeFamily::floating; }

tl::unexpected<Error> refuse(std::string const& what, DataType const& type, DataType const& as) {
  return fail(ErrorCode::invalid_input,
              fmt::format("{}: {} of type {} as {}", kCompared, what, to_string(type), to_string(as)));
}

/// In 64 bits.
std::uint64_t constant_word(resolve::ConditionConstant const& constant) {
  std::uint64_t value = 0;
  auto const bytes = std::min(constant.bytes.size(), sizeof(value));
  std::memcpy(&value, constant.bytes.data(), bytes);
  // Continued by its sign.
  bool const is_negative = (std::to_integer<unsigned>(constant.bytes[bytes - 1]) & 0x80U) != 0;
  if (is_signed_type(constant.type) && is_negative && bytes < sizeof(value)) value |= ~std::uint64_t{0} << (8 * bytes);
  return value;
}

class Reader {
 public:
  explicit Reader(resolve::JoinRequest const& request)
      : request_(request), condition_(*request.columns.condition), control_(request.options.control) {}

  Result<ComparedColumns> run() {
    for (std::size_t e = 0; e < condition_.encodings.size(); ++e) compared_.encodings.push_back(as_of(e));
    for (auto const side : kSides)
      for (auto const& column : condition_.columns(side)) {
        GARUDA_TRY_ASSIGN(auto const reading, reading_of(side, column));
        compared_.columns[side_index(side)].push_back(reading);
      }
    for (auto const& constant : condition_.constants) {
      GARUDA_TRY_ASSIGN(auto const word, word_of(constant));
      compared_.constants.push_back(word);
    }
    return std::move(compared_);
  }

 private:
  DeviceTableState const& table(Side side) const {
    return *(side == Side::left ? request_.left : request_.right).resident();
  }

  /// Whether the columns of an encoding are strings.
  bool has_strings(std::size_t encoding) const {
    return std::ranges::any_of(kSides, [&](Side side) {
      return std::ranges::any_of(condition_.columns(side), [&](resolve::ConditionColumn const& column) {
        return column.encoding == encoding && table(side).columns[column.column].strings != nullptr;
      });
    });
  }

  /// Whether all of its columns are compared by their words.
  bool is_native(std::size_t encoding) const {
    auto const& of = condition_.encodings[encoding];
    return std::ranges::all_of(kSides, [&](Side side) {
      return std::ranges::all_of(condition_.columns(side), [&](resolve::ConditionColumn const& column) {
        auto const& type = table(side).schema[column.column].type;
        return column.encoding != encoding || is_compared_by_words(type, of.as, of.compares_order);
      });
    });
  }

  ComparedAs as_of(std::size_t encoding) const {
    if (has_strings(encoding)) return {shaders::kColumnU32, 1};
    auto const& as = condition_.encodings[encoding].as;
    if (is_native(encoding)) return compared_as(as);
    if (as.id == TypeId::float16 || as.id == TypeId::float32) return {shaders::kColumnF32, 1};
    if (as.id == TypeId::float64) return {shaders::kColumnF64, 2};
    return {shaders::kColumnI64, 2};
  }

  /// How one type's values become those of the encoding; nullopt: in no way.
  std::optional<ColumnReading> reading_of(DataType const& type, std::size_t encoding) const {
    auto const& as = condition_.encodings[encoding].as;
    if (is_native(encoding)) return ColumnReading{};
    if (is_float(as)) {
      if (type == as && as.id != TypeId::float16) return ColumnReading{};
      auto const target = as.id == TypeId::float16 ? DataType{TypeId::float32} : as;
      auto const conversion = key_conversion(type, target);
      return conversion ? std::optional(ColumnReading{Kind::converted, *conversion}) : std::nullopt;
    }
    bool const is_of_scale = type_row(type.id).family == TypeFamily::decimal && type.scale == as.scale;
    if (is_of_scale && byte_width(type) <= 8) return ColumnReading{};
    if (is_of_scale && byte_width(type) == 16) return ColumnReading{Kind::cut};
    auto const conversion = as.id == TypeId::decimal128 ? key_conversion(type, as) : std::nullopt;
    return conversion ? std::optional(ColumnReading{Kind::converted, *conversion}) : std::nullopt;
  }

  Result<ColumnReading> reading_of(Side side, resolve::ConditionColumn const& column) const {
    auto const& from = table(side);
    auto const& field = from.schema[column.column];
    auto const& of = condition_.encodings[column.encoding];
    auto const refused = [&] { return refuse(fmt::format("'{}'", field.name), field.type, of.as); };
    if (has_strings(column.encoding)) {
      if (of.compares_order || from.columns[column.column].strings == nullptr) return refused();
      return ColumnReading{Kind::strings};
    }
    auto const reading = reading_of(field.type, column.encoding);
    if (!reading) return refused();
    if (reading->kind == Kind::cut) {
      GARUDA_TRY_ASSIGN(bool const is_wide, has_wide_values(from, column.column, control_));
      if (is_wide) return refused();
    }
    if (reading->kind == Kind::converted) {
      GARUDA_TRY_ASSIGN(auto const range, image_range(from, column.column, control_));
      if (!range || !converted_range(*range, *device_key_kind(field.type), reading->conversion)) return refused();
    }
    return *reading;
  }

  /// As the type that it is compared in has it.
  Result<std::uint64_t> word_of(resolve::ConditionConstant const& constant) const {
    auto const& as = condition_.encodings[constant.encoding].as;
    if (has_strings(constant.encoding)) return 0;
    auto const reading = reading_of(constant.type, constant.encoding);
    if (!reading) return refuse("a constant", constant.type, as);
    auto const word = constant_word(constant);
    if (reading->kind == Kind::words) return word;
    if (reading->kind == Kind::cut) {
      std::uint64_t high = 0;
      std::memcpy(&high, constant.bytes.data() + sizeof(high), sizeof(high));
      auto const sign = (word >> 63) != 0 ? ~std::uint64_t{0} : 0;
      return high == sign ? Result<std::uint64_t>(word) : refuse("a constant", constant.type, as);
    }
    auto const converted = converted_word(word, *device_key_kind(constant.type), reading->conversion);
    return converted ? Result<std::uint64_t>(*converted) : refuse("a constant", constant.type, as);
  }

  resolve::JoinRequest const& request_;
  resolve::ResolvedCondition const& condition_;
  Control const& control_;
  ComparedColumns compared_;
};

/// A table of one column with the strings of constants.
Table table_of(std::span<std::string const> strings) {
  struct Owned {
    std::vector<std::int32_t> offsets{0};
    std::string bytes;
  };
  auto const owned = std::make_shared<Owned>();
  for (auto const& string : strings) {
    owned->bytes += string;
    owned->offsets.push_back(static_cast<std::int32_t>(owned->bytes.size()));
  }
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(strings.size());
  ArrayView array;
  array.length = batch.num_rows;
  array.offsets = owned->offsets.data();
  array.values = owned->bytes.data();
  batch.columns.push_back(array);
  batch.owner = owned;
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  return Table({{"constants", {.id = TypeId::binary}, false}}, std::move(batches));
}

}  // namespace

bool is_signed_type(DataType const& type) {
  return type_row(type.id).family == TypeFamily::temporal || materialize::is_signed(type.id);
}

ComparedAs compared_as(DataType const& as) {
  bool const is_wide = device_words(as) == 2U;
  auto const words = is_wide ? 2U : 1U;
  if (is_float(as)) return {is_wide ? shaders::kColumnF64 : shaders::kColumnF32, words};
  if (is_signed_type(as)) return {is_wide ? shaders::kColumnI64 : shaders::kColumnI32, words};
  return {is_wide ? shaders::kColumnU64 : shaders::kColumnU32, words};
}

bool is_compared_by_words(DataType const& from, DataType const& as, bool order) {
  auto const words = device_words(as);
  if (!words || *words > 2) return false;
  bool const has_order = (is_float(as) && as.id != TypeId::float16) || as.id == TypeId::boolean;
  bool const is_equal_by_words = !order && as.id == TypeId::fixed_size_binary;
  return keys::extends_to(from, as) || (from == as && (has_order || is_equal_by_words));
}

std::vector<MadeForCondition> made_for_condition(resolve::JoinRequest const& request, Side side) {
  auto const& table = *(side == Side::left ? request.left : request.right).resident();
  auto const& condition = *request.columns.condition;
  std::vector<MadeForCondition> made;
  for (auto const& column : condition.columns(side)) {
    auto const& from = table.columns[column.column];
    auto const& of = condition.encodings[column.encoding];
    auto& next = made.emplace_back(MadeForCondition{from.strings.get()});
    if (from.strings != nullptr || is_compared_by_words(table.schema[column.column].type, of.as, of.compares_order))
      continue;
    constexpr double kMadeWords = 2;
    auto const words = table.stored[from.stored].words + kMadeWords;
    next.bytes = static_cast<double>(table.rows * materialize::kWordBytes) * words;
  }
  return made;
}

Result<ComparedColumns> compared_columns(resolve::JoinRequest const& request) { return Reader(request).run(); }

DeviceTableState const& MadeColumns::table(Side side) const noexcept {
  return *(side == Side::left ? request_->left : request_->right).resident();
}

Result<MadeColumns> MadeColumns::create(compute::ComputeContext& context, resolve::JoinRequest const& request,
                                        ComparedColumns const& compared) {
  MadeColumns made;
  made.request_ = &request;
  made.constants_ = compared.constants;
  auto const& condition = *request.columns.condition;
  for (auto const side : kSides) {
    auto const& columns = condition.columns(side);
    made.columns_[side_index(side)].resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      GARUDA_TRY(made.make(context, side, i, compared.columns[side_index(side)][i]));
  }
  for (std::size_t e = 0; e < condition.encodings.size(); ++e)
    for (auto const side : kSides) {
      auto const& columns = condition.columns(side);
      auto const found = std::ranges::find(columns, e, &resolve::ConditionColumn::encoding);
      if (found == columns.end()) continue;
      auto const at = static_cast<std::size_t>(found - columns.begin());
      if (compared.columns[side_index(side)][at].kind == Kind::strings) GARUDA_TRY(made.number(context, e));
      break;
    }
  return made;
}

/// Strings are numbered for all columns together.
Result<void> MadeColumns::make(compute::ComputeContext& context, Side side, std::size_t index,
                               ColumnReading const& reading) {
  auto const column = request_->columns.condition->columns(side)[index].column;
  auto const& from = table(side).columns[column];
  auto const& stored = table(side).stored[from.stored];
  auto& own = columns_[side_index(side)][index];
  own = {stored.buffer.address(), stored.words};
  auto const rows = table(side).rows;
  if (reading.kind == Kind::words || reading.kind == Kind::strings || rows == 0) return {};
  auto const words = reading.kind == Kind::cut ? 2U : reading.conversion.words();
  GARUDA_TRY_ASSIGN(auto made, context.device_buffer(rows * words * materialize::kWordBytes, "compared values"));
  if (reading.kind == Kind::cut) {
    GARUDA_TRY(compute::record_key_width(context, {own, {made.address(), words}, rows}));
  } else {
    compute::DeviceValues const values{own, *device_key_kind(table(side).schema[column].type)};
    GARUDA_TRY(compute::record_key_conversion(context, values, rows, reading.conversion, made.address()));
  }
  own = {made.address(), words};
  buffers_.push_back(std::move(made));
  return {};
}

/// Among the strings of all columns and constants of an encoding.
Result<void> MadeColumns::number(compute::ComputeContext& context, std::size_t encoding) {
  auto const& condition = *request_->columns.condition;
  std::vector<std::string> strings;
  for (auto const& constant : condition.constants)
    if (constant.encoding == encoding)
      strings.emplace_back(reinterpret_cast<char const*>(constant.bytes.data()), constant.bytes.size());
  auto among = std::make_shared<Strings const>();
  for (auto const side : kSides)
    for (auto const& column : condition.columns(side))
      if (column.encoding == encoding) {
        GARUDA_TRY_ASSIGN(among, strings_of_both(among, table(side).columns[column.column].strings));
      }
  std::optional<DeviceTable> constants;
  if (!strings.empty()) {
    auto const on_host = table_of(strings);
    std::vector<std::size_t> const first{0};
    GARUDA_TRY_ASSIGN(constants, upload_table(on_host.view(), first, table(Side::left).device,
                                              {.control = request_->options.control}));
    GARUDA_TRY_ASSIGN(among, strings_of_both(among, constants->view().resident()->columns[0].strings));
  }
  auto const hash_bits = request_->options.tuning.hash_bits;
  GARUDA_TRY_ASSIGN(auto const numbers,
                    string_numbers(table(Side::left), *among, hash_bits, request_->options.control));
  auto const keys_of = [&](DeviceTableState const& of,
                           DeviceTableState::Column const& column) -> Result<VkDeviceAddress> {
    if (of.rows == 0) return VkDeviceAddress{0};
    GARUDA_TRY_ASSIGN(auto keys, string_keys(context, of, column, *among, numbers));
    numbered_.push_back(std::move(keys));
    return numbered_.back().keys.address();
  };
  for (auto const side : kSides) {
    auto const& columns = condition.columns(side);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].encoding != encoding) continue;
      auto const& own = table(side);
      GARUDA_TRY_ASSIGN(columns_[side_index(side)][i].address, keys_of(own, own.columns[columns[i].column]));
    }
  }
  if (strings.empty()) return {};
  auto const& uploaded = *constants->view().resident();
  GARUDA_TRY(keys_of(uploaded, uploaded.columns[0]));
  std::vector<std::uint32_t> words(strings.size());
  GARUDA_TRY(context.order_all("string keys"));
  GARUDA_TRY(context.download(numbered_.back().keys, std::as_writable_bytes(std::span(words))));
  auto next = words.begin();
  for (std::size_t c = 0; c < condition.constants.size(); ++c)
    if (condition.constants[c].encoding == encoding) constants_[c] = *next++;
  return {};
}

compute::DeviceColumn MadeColumns::column(Side side, std::size_t index) const {
  return columns_[side_index(side)][index];
}

}  // namespace garuda::device
