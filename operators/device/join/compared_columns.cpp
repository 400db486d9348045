#include "operators/device/join/compared_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/join/joined_tables.hpp"
#include "operators/device/join/key_conversions.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::device {
namespace {

using Form = ComparedAs::Form;

constexpr auto kBeyond = "a device compares values that the type holds in which all are compared";
/// Of a string: its number, where it lies, its bytes.
constexpr double kTextReads = 3;

bool is_float(DataType const& type) { return type_row(type.id).family == TypeFamily::floating; }
bool is_signed(DataType const& type) { return type_row(type.id).is_signed; }

/// Whether values of a type are compared in another by their words alone.
bool is_compared_by_words(DataType const& from, DataType const& as) {
  auto const words = device_words(as);
  if (!words || *words > 2) return false;
  bool const has_order = (is_float(as) && as.id != TypeId::float16) || as.id == TypeId::boolean;
  return keys::extends_to(from, as) || (from == as && has_order);
}

ComparedAs words_of(DataType const& as) {
  bool const is_wide = device_words(as) == 2U;
  auto const words = is_wide ? 2U : 1U;
  if (is_float(as)) return {Form::words, is_wide ? shaders::kColumnF64 : shaders::kColumnF32, words};
  if (is_signed(as)) return {Form::words, is_wide ? shaders::kColumnI64 : shaders::kColumnI32, words};
  return {Form::words, is_wide ? shaders::kColumnU64 : shaders::kColumnU32, words};
}

/// Whether no value of `from` is beyond `as`, whatever it is.
bool always_fits(DataType const& from, std::vector<std::uint64_t> const& factors, DataType const& as) {
  keys::Words256 factor{1};
  for (auto const one : factors)
    if (!keys::multiply(factor, one)) return false;
  if (factor == keys::Words256{1}) return true;
  std::int32_t bits = 0;
  for (std::size_t w = 0; w < factor.size(); ++w)
    if (factor[w] != 0) bits = static_cast<std::int32_t>(64 * w) + static_cast<std::int32_t>(std::bit_width(factor[w]));
  auto const magnitude = 8 * byte_width(from) - (is_signed(from) ? 1 : 0);
  return magnitude + bits < 8 * byte_width(as);
}

class Reader {
 public:
  Reader(std::array<Schema const*, 2> schemas, expr::ResolvedCondition const& condition)
      : schemas_(schemas), condition_(condition) {}

  /// `tables`: those of the schemas, on a device; nullptr: their values are not known.
  Result<ComparedColumns> run(JoinedTables const* tables, Control const& control) const {
    ComparedColumns compared;
    for (std::size_t e = 0; e < condition_.encodings.size(); ++e) compared.encodings.push_back(as_of(e));
    for (auto const side : kSides)
      for (auto const& column : condition_.columns(side)) {
        auto const& field = (*schemas_[side_index(side)])[column.column];
        auto const refused = [&] { return refuse(fmt::format("'{}'", field.name), field.type, column.encoding); };
        auto reading = reading_of(field.type, column.encoding);
        auto const& as = condition_.encodings[column.encoding].as;
        if (!always_fits(field.type, reading.factors, as)) {
          if (tables == nullptr) return refused();
          GARUDA_TRY_ASSIGN(auto const range, number_range(tables->of(side), column.column, control));
          for (auto value : {range.min, range.max})
            if (range.has_values && !keys::scale(value, reading.factors, as)) return refused();
        }
        compared.columns[side_index(side)].push_back(std::move(reading));
      }
    for (auto const& constant : condition_.constants) {
      auto reading = reading_of(constant.type, constant.encoding);
      if (compared.encodings[constant.encoding].form == Form::numbers) {
        auto value = keys::load_number(constant.bytes.data(), constant.bytes.size(), is_signed(constant.type));
        if (!keys::scale(value, reading.factors, condition_.encodings[constant.encoding].as))
          return refuse("a constant", constant.type, constant.encoding);
      }
      compared.constants.push_back(std::move(reading));
    }
    return compared;
  }

  ComparedAs as_of(std::size_t encoding) const {
    auto const& as = condition_.encodings[encoding].as;
    if (type_row(as.id).family == TypeFamily::bytes) return {Form::texts};
    if (is_native(encoding)) return words_of(as);
    if (!is_float(as)) return {Form::numbers};
    return as.id == TypeId::float64 ? ComparedAs{Form::words, shaders::kColumnF64, 2}
                                    : ComparedAs{Form::words, shaders::kColumnF32, 1};
  }

  ColumnReading reading_of(DataType const& type, std::size_t encoding) const {
    auto const& as = condition_.encodings[encoding].as;
    auto const form = as_of(encoding).form;
    if (form == Form::numbers) return {std::nullopt, keys::factors_of(type, as)};
    if (form == Form::texts || is_native(encoding) || (type == as && as.id != TypeId::float16)) return {};
    auto const conversion = key_conversion(type, as.id == TypeId::float16 ? DataType{TypeId::float32} : as);
    GARUDA_EXPECTS(conversion);
    return {conversion, {}};
  }

 private:
  /// Whether all columns of an encoding are compared by their words.
  bool is_native(std::size_t encoding) const {
    return std::ranges::all_of(kSides, [&](Side side) {
      return std::ranges::all_of(condition_.columns(side), [&](expr::ConditionColumn const& column) {
        auto const& type = (*schemas_[side_index(side)])[column.column].type;
        return column.encoding != encoding || is_compared_by_words(type, condition_.encodings[encoding].as);
      });
    });
  }

  tl::unexpected<Error> refuse(std::string const& what, DataType const& type, std::size_t encoding) const {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {} of type {} as {}", kBeyond, what, to_string(type),
                                                      to_string(condition_.encodings[encoding].as)));
  }

  std::array<Schema const*, 2> schemas_;
  expr::ResolvedCondition const& condition_;
};

Reader reader_of(JoinedTables const& tables, resolve::JoinRequest const& request) {
  return {{&tables.of(Side::left).schema, &tables.of(Side::right).schema}, *request.columns.condition};
}

}  // namespace

Result<void> check_compared_types(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition) {
  GARUDA_TRY(Reader({&left, &right}, condition).run(nullptr, {}));
  return {};
}

Result<ComparedColumns> compared_columns(resolve::JoinRequest const& request) {
  JoinedTables const tables(request);
  return reader_of(tables, request).run(&tables, request.options.control);
}

keys::Words256 constant_number(expr::ConditionConstant const& constant, ColumnReading const& reading,
                               DataType const& as) {
  auto value = keys::load_number(constant.bytes.data(), constant.bytes.size(), is_signed(constant.type));
  GARUDA_EXPECTS(keys::scale(value, reading.factors, as));
  return value;
}

std::uint64_t constant_word(expr::ConditionConstant const& constant, ColumnReading const& reading) {
  auto const bytes = std::min(constant.bytes.size(), sizeof(std::uint64_t));
  auto const word = keys::load_number(constant.bytes.data(), bytes, is_signed(constant.type)).front();
  if (!reading.conversion) return word;
  auto const converted = converted_word(word, *device_key_kind(constant.type), *reading.conversion);
  GARUDA_EXPECTS(converted);
  return *converted;
}

ConditionReads condition_reads(resolve::JoinRequest const& request) {
  JoinedTables const tables(request);
  auto const reader = reader_of(tables, request);
  ConditionReads reads;
  for (auto const side : kSides)
    for (auto const& column : request.columns.condition->columns(side)) {
      reads.values += reader.as_of(column.encoding).form == Form::texts ? kTextReads : 1;
      auto const made = reader.reading_of(tables.field(side, column.column).type, column.encoding).conversion;
      if (!made) continue;
      auto const words = tables.words(side, column.column).words + made->words();
      reads.made_bytes += static_cast<double>(tables.of(side).rows * materialize::kWordBytes * words);
    }
  return reads;
}

}  // namespace garuda::device
