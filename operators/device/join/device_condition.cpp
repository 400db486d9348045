#include "operators/device/join/device_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "core/type_rows.hpp"
#include "expr/pair_filter.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/conditions/conditions_layout.h"

namespace garuda::device {
namespace {

using Operand = compute::ConditionSteps::Operand;
using Source = expr::WordOperand::Source;

/// A string is read in three places: its number, where it lies, its bytes.
constexpr double kTextReads = 3;

/// The type as which the values of an encoding are compared.
struct ComparedAs {
  enum class Form : std::uint8_t {
    words,    ///< of `kind`, one or two of them
    numbers,  ///< integers of up to 256 bits
    texts,    ///< bytes: strings, and binary of any size
  };
  Form form = Form::words;
  std::uint32_t kind = 0;   ///< of words, as column_values_layout.h has it
  std::uint32_t words = 1;  ///< likewise
};
using Form = ComparedAs::Form;

/// The form that the stored values of a column, or of a constant of its type, become.
struct ColumnReading {
  std::optional<compute::KeyConversion> conversion{};  ///< of words: floats of another type
  std::vector<std::uint64_t> factors{};                ///< of numbers
};

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

/// The product of factors; nullopt: it takes more than 255 bits.
std::optional<keys::Words256> product_of(std::vector<std::uint64_t> const& factors) {
  keys::Words256 product{1};
  for (auto const factor : factors)
    if (!keys::multiply(product, factor)) return std::nullopt;
  return product;
}

/// Whether no value of `from` is beyond `as`, whatever it is.
bool always_fits(DataType const& from, std::vector<std::uint64_t> const& factors, DataType const& as) {
  auto const factor = product_of(factors);
  if (!factor || *factor == keys::Words256{1}) return factor.has_value();
  auto const bits = static_cast<std::int32_t>(keys::bit_width(*factor));
  auto const magnitude = 8 * byte_width(from) - (is_signed(from) ? 1 : 0);
  return magnitude + bits < 8 * byte_width(as);
}

/// How the columns and constants of a condition are compared.
class ComparedTypes {
 public:
  ComparedTypes(std::array<Schema const*, 2> schemas, expr::ResolvedCondition const& condition)
      : schemas_(schemas), condition_(condition) {}
  ComparedTypes(JoinedTables const& tables, expr::ResolvedCondition const& condition)
      : ComparedTypes({&tables.of(Side::left).schema, &tables.of(Side::right).schema}, condition) {}

  /// `tables`: those of the schemas, on a device; nullptr: their values are not known. Errors: those of
  /// check_stored_condition().
  Result<void> check(JoinedTables const* tables, Control const& control) const {
    for (auto const side : kSides)
      for (auto const& column : condition_.columns(side)) {
        auto const& field = (*schemas_[side_index(side)])[column.column];
        auto const refused = [&] { return refuse(fmt::format("'{}'", field.name), field.type, column.encoding); };
        auto const reading = reading_of(field.type, column.encoding);
        auto const& as = condition_.encodings[column.encoding].as;
        if (always_fits(field.type, reading.factors, as)) continue;
        if (tables == nullptr) return refused();
        GARUDA_TRY_ASSIGN(auto const range, number_range(tables->of(side), column.column, control));
        for (auto value : {range.min, range.max})
          if (range.has_values && !keys::scale(value, reading.factors, as)) return refused();
      }
    for (auto const& constant : condition_.constants)
      if (as_of(constant.encoding).form == Form::numbers && !number_of(constant))
        return refuse("a constant", constant.type, constant.encoding);
    // Beside the steps' results: whether an operand has a value.
    if (compute::fits_program(condition_.steps, 1)) return {};
    return fail(ErrorCode::invalid_input,
                fmt::format("a condition on a device has at most {} results at a time: {}",
                            shaders::kMostProgramDepth - 1, expr::depth_of(condition_.steps)));
  }

  ComparedAs as_of(std::size_t encoding) const {
    auto const& as = condition_.encodings[encoding].as;
    if (type_row(as.id).family == TypeFamily::bytes) return {Form::texts};
    if (is_native(encoding)) return words_of(as);
    if (!is_float(as)) return {Form::numbers};
    return words_of(as.id == TypeId::float64 ? as : DataType{TypeId::float32});
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

  /// A constant of an encoding whose form is numbers, as one of them; nullopt: it is beyond the type.
  std::optional<keys::Words256> number_of(expr::ConditionConstant const& constant) const {
    auto value = keys::load_number(constant.bytes.data(), constant.bytes.size(), is_signed(constant.type));
    auto const reading = reading_of(constant.type, constant.encoding);
    bool const fits = keys::scale(value, reading.factors, condition_.encodings[constant.encoding].as);
    return fits ? std::optional(value) : std::nullopt;
  }

  /// A constant of an encoding whose form is words, as they are compared.
  std::uint64_t word_of(expr::ConditionConstant const& constant) const {
    auto const bytes = std::min(constant.bytes.size(), sizeof(std::uint64_t));
    auto const word = keys::load_number(constant.bytes.data(), bytes, is_signed(constant.type)).front();
    auto const reading = reading_of(constant.type, constant.encoding);
    if (!reading.conversion) return word;
    return converted_word(word, *device_key_kind(constant.type), *reading.conversion).value();
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
    return fail(ErrorCode::invalid_input,
                fmt::format("a device compares values that the type holds in which all are compared: {} of type {} as "
                            "{}",
                            what, to_string(type), to_string(condition_.encodings[encoding].as)));
  }

  std::array<Schema const*, 2> schemas_;
  expr::ResolvedCondition const& condition_;
};

/// Places what a condition compares, then writes its steps, left rows on the probe side.
class Maker {
 public:
  Maker(compute::ComputeContext& context, resolve::JoinRequest const& request)
      : context_(context), tables_(request), condition_(*request.columns.condition), types_(tables_, condition_) {}

  Result<DeviceCondition> run(Control const& control) {
    GARUDA_TRY(types_.check(&tables_, control));
    auto const operands = condition_.left.size() + condition_.right.size() + condition_.constants.size();
    words_.reserve(std::max<std::size_t>(operands, 1) * kMostOperandWords);
    GARUDA_TRY_ASSIGN(made_.operands,
                      context_.upload_buffer(words_.capacity() * sizeof(std::uint32_t), "operands of a condition"));
    for (auto const side : kSides)
      for (auto const& column : condition_.columns(side)) {
        GARUDA_TRY_ASSIGN(auto const operand, column_operand(side, column));
        columns_[side_index(side)].push_back(operand);
      }
    GARUDA_TRY(place_constants());
    GARUDA_TRY(context_.make(made_.operands, [&](auto target) { std::ranges::copy(words_, target.begin()); }));
    compute::ConditionSteps steps;
    steps.add(condition_.steps,
              [&](std::uint32_t comparison) { add_comparison(condition_.comparisons[comparison], steps); });
    made_.steps = steps.take();
    return std::move(made_);
  }

 private:
  static constexpr std::size_t kMostOperandWords =
      std::max(sizeof(shaders::NumberOperand), sizeof(shaders::TextOperand)) / sizeof(std::uint32_t);

  static std::uint32_t source_of(Side side) {
    return side == Side::left ? shaders::kProbeOperand : shaders::kBuildOperand;
  }
  static Side side_of(expr::ResolvedOperand const& operand) {
    return operand.source == Source::left ? Side::left : Side::right;
  }
  Operand const& operand_of(expr::ResolvedOperand const& operand) const {
    return operand.source == Source::constant ? constants_[operand.index]
                                              : columns_[side_index(side_of(operand))][operand.index];
  }

  /// Where it comes to lie among the operands.
  template <class Value>
  VkDeviceAddress place(Value const& operand) {
    static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);
    made_.has_many_words = true;
    auto const at = words_.size();
    words_.resize(at + sizeof(Value) / sizeof(std::uint32_t));
    std::memcpy(words_.data() + at, &operand, sizeof(Value));
    return made_.operands.address() + at * sizeof(std::uint32_t);
  }

  static void put_number(keys::Words256 const& number, shaders::NumberOperand& operand) {
    static_assert(sizeof(operand.factor) == sizeof(number));
    std::memcpy(operand.factor, number.data(), sizeof(number));
  }

  Result<Operand> column_operand(Side side, expr::ConditionColumn const& column) {
    auto const& table = tables_.of(side);
    auto const& type = table.schema[column.column].type;
    auto const as = types_.as_of(column.encoding);
    auto const reading = types_.reading_of(type, column.encoding);
    auto words = table.words(column.column);
    if (as.form == Form::numbers) {
      auto const factor = product_of(reading.factors).value_or(keys::Words256{});
      shaders::NumberOperand number{};
      number.values = words.address;
      number.num_words = words.words;
      number.is_signed = is_signed(type) ? 1 : 0;
      number.is_scaled = factor == keys::Words256{1} ? 0 : 1;
      put_number(factor, number);
      return Operand{source_of(side), place(number)};
    }
    if (as.form == Form::texts) {
      shaders::TextOperand text{};
      text.values = words.address;
      if (auto const& strings = table.columns[column.column].strings) {
        GARUDA_TRY_ASSIGN(auto view, view_of(context_, *strings, *strings));
        text.strings = view.view();
        made_.strings.push_back(std::move(view));
      } else {
        text.num_words = words.words;
        text.num_bytes = static_cast<std::uint32_t>(byte_width(type));
      }
      return Operand{source_of(side), place(text)};
    }
    if (reading.conversion && table.rows > 0) {
      auto const made_words = reading.conversion->words();
      GARUDA_TRY_ASSIGN(auto made,
                        context_.device_buffer(table.rows * made_words * materialize::kWordBytes, "compared values"));
      GARUDA_TRY(compute::record_key_conversion(context_, {words, *device_key_kind(type)}, table.rows,
                                                *reading.conversion, made.address()));
      words = {made.address(), made_words};
      made_.buffers.push_back(std::move(made));
    }
    auto const form =
        as.kind | (words.words == 2 ? shaders::kOperandWide : 0) | (is_signed(type) ? shaders::kOperandSigned : 0);
    return Operand{source_of(side), words.address, form};
  }

  Result<void> place_constants() {
    GARUDA_TRY_ASSIGN(auto const* const texts, upload_texts());
    std::uint32_t number = 0;
    for (auto const& constant : condition_.constants) {
      auto const as = types_.as_of(constant.encoding);
      Operand operand{shaders::kConstantOperand};
      if (as.form == Form::numbers) {
        shaders::NumberOperand value{};
        put_number(types_.number_of(constant).value(), value);
        operand.value = place(value);
      } else if (as.form == Form::texts) {
        shaders::TextOperand text{};
        text.strings = texts->view();
        text.number = number++;
        operand.value = place(text);
      } else {
        operand.value = types_.word_of(constant);
        operand.form = as.kind;
      }
      constants_.push_back(operand);
    }
    return {};
  }

  /// Uploads all constants that are texts, in their order; nullptr: there are none.
  Result<compute::DeviceStrings const*> upload_texts() {
    std::vector<std::uint32_t> words{0};
    std::vector<std::byte> bytes;
    for (auto const& constant : condition_.constants) {
      if (types_.as_of(constant.encoding).form != Form::texts) continue;
      bytes.insert(bytes.end(), constant.bytes.begin(), constant.bytes.end());
      words.push_back(static_cast<std::uint32_t>(bytes.size()));
    }
    auto const offsets = words.size();
    if (offsets == 1) return nullptr;
    // Passes read whole words, and one more.
    words.resize(offsets + bytes.size() / sizeof(std::uint32_t) + 2);
    if (!bytes.empty()) std::memcpy(words.data() + offsets, bytes.data(), bytes.size());
    GARUDA_TRY_ASSIGN(auto uploaded,
                      context_.upload_buffer(words.size() * sizeof(std::uint32_t), "constants of a condition"));
    GARUDA_TRY(context_.make(uploaded, [&](auto target) { std::ranges::copy(words, target.begin()); }));
    compute::StringPiece const piece{uploaded.address(), uploaded.address() + offsets * sizeof(std::uint32_t), 0,
                                     offsets - 1, 0};
    GARUDA_TRY_ASSIGN(auto strings, compute::DeviceStrings::create(context_, std::span(&piece, 1)));
    made_.buffers.push_back(std::move(uploaded));
    made_.strings.push_back(std::move(strings));
    return &made_.strings.back();
  }

  void add_comparison(expr::ResolvedComparison const& comparison, compute::ConditionSteps& steps) const {
    auto const& column = condition_.columns(side_of(comparison.first))[comparison.first.index];
    auto const as = types_.as_of(column.encoding);
    // The least word with itself: what is decided holds for all values, or for none.
    constexpr Operand kLeast{shaders::kConstantOperand, 0, shaders::kColumnU32};
    if (!comparison.second) {
      steps.compare(shaders::kStepCompare, comparison.comparator, 1, kLeast, kLeast);
    } else {
      auto const kind = as.form == Form::words     ? shaders::kStepCompare
                        : as.form == Form::numbers ? shaders::kStepCompareNumbers
                                                   : shaders::kStepCompareTexts;
      steps.compare(kind, comparison.comparator, as.words, operand_of(comparison.first),
                    operand_of(*comparison.second));
    }
    add_validity(comparison.first, steps);
    if (comparison.second) add_validity(*comparison.second, steps);
  }

  void add_validity(expr::ResolvedOperand const& operand, compute::ConditionSteps& steps) const {
    if (operand.source == Source::constant) return;
    auto const side = side_of(operand);
    auto const nulls = tables_.of(side).nulls(condition_.columns(side)[operand.index].column);
    if (!nulls) return;
    steps.and_valid({source_of(side), nulls->words, shaders::kOperandNulls | nulls->bit << shaders::kOperandBitShift});
  }

  compute::ComputeContext& context_;
  JoinedTables tables_;
  expr::ResolvedCondition const& condition_;
  ComparedTypes types_;
  std::array<std::vector<Operand>, 2> columns_;  // by side
  std::vector<Operand> constants_;
  std::vector<std::uint32_t> words_;  // of the operands that say how values are read
  DeviceCondition made_;
};

}  // namespace

Result<void> check_device_condition(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition) {
  return ComparedTypes({&left, &right}, condition).check(nullptr, {});
}

Result<void> check_stored_condition(resolve::JoinRequest const& request) {
  JoinedTables const tables(request);
  return ComparedTypes(tables, *request.columns.condition).check(&tables, request.options.control);
}

Result<DeviceCondition> DeviceCondition::create(compute::ComputeContext& context, resolve::JoinRequest const& request) {
  return Maker(context, request).run(request.options.control);
}

ConditionReads condition_reads(resolve::JoinRequest const& request) {
  JoinedTables const tables(request);
  ComparedTypes const types(tables, *request.columns.condition);
  ConditionReads reads;
  for (auto const side : kSides)
    for (auto const& column : request.columns.condition->columns(side)) {
      auto const& table = tables.of(side);
      reads.values += types.as_of(column.encoding).form == Form::texts ? kTextReads : 1;
      auto const made = types.reading_of(table.schema[column.column].type, column.encoding).conversion;
      if (!made) continue;
      auto const words = table.words(column.column).words + made->words();
      reads.made_bytes += static_cast<double>(table.rows * materialize::kWordBytes * words);
    }
  return reads;
}

}  // namespace garuda::device
