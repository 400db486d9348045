#include "expr/condition_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/type_rows.hpp"
#include "expr/comparators.hpp"
#include "expr/constant_value.hpp"
#include "expr/sides.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/order/order_words.hpp"

namespace garuda {

Result<std::size_t> find_on_side(Schema const& schema, ColumnRef const& reference) {
  auto found = find_column(schema, reference.name);
  if (found) return found;
  return tl::unexpected<Error>(
      Error(found.error().code(), fmt::format("{} table: {}", to_string(reference.side), found.error().message())));
}

namespace expr {
namespace {

using Source = ResolvedOperand::Source;

/// A column of either side.
struct SideColumn {
  Side side = Side::left;
  std::size_t column = 0;

  friend bool operator==(SideColumn const&, SideColumn const&) = default;
};

/// A comparison of names that were found. `other` or `constant`: neither means null.
struct FoundComparison {
  Comparator comparator = Comparator::equal;
  SideColumn column;
  std::optional<SideColumn> other;
  std::optional<ConstantValue> constant;
};

/// Columns that can be compared as values of one type.
struct Group {
  std::vector<SideColumn> members;
  DataType as;

  bool has(SideColumn const& column) const { return std::ranges::find(members, column) != members.end(); }
};

class Resolver {
 public:
  Resolver(Schema const& left, Schema const& right) : left_(left), right_(right) {}

  Result<ResolvedCondition> run(Condition const& condition) {
    GARUDA_TRY(read(condition, false));
    for (auto const& comparison : found_)
      if (comparison.other) group(comparison.column, *comparison.other);
    for (auto const& comparison : found_)
      if (group_of(comparison.column) == groups_.size()) add_group({comparison.column});
    for (auto const& group : groups_) resolved_.encodings.push_back({group.as});
    for (auto const& comparison : found_) resolved_.comparisons.push_back(resolve(comparison));
    return std::move(resolved_);
  }

 private:
  Field const& field(SideColumn const& column) const {
    return (column.side == Side::left ? left_ : right_)[column.column];
  }
  std::string name_of(SideColumn const& column) const {
    return fmt::format("{}.{}", to_string(column.side), field(column).name);
  }
  DataType const& value_type(SideColumn const& column) const { return garuda::value_type(field(column).type); }

  /// Postfix steps; what is negated becomes its opposite, which is true where that is false, and null where it is null.
  Result<void> read(Condition const& condition, bool is_negated) {
    using Kind = Condition::Kind;
    using StepKind = PairStep::Kind;
    if (condition.kind == Kind::comparison) {
      resolved_.steps.push_back({StepKind::comparison, static_cast<std::uint32_t>(found_.size())});
      return read(condition.comparison, is_negated);
    }
    if (condition.parts.empty())
      return fail(ErrorCode::usage, fmt::format("and, or and not need parts: {}", condition.parts.size()));
    if (condition.kind == Kind::negation) return read(condition.parts.front(), !is_negated);
    auto const joins = (condition.kind == Kind::all) != is_negated ? StepKind::all : StepKind::any;
    for (std::size_t i = 0; i < condition.parts.size(); ++i) {
      GARUDA_TRY(read(condition.parts[i], is_negated));
      if (i > 0) resolved_.steps.push_back({joins, 0});
    }
    return {};
  }

  Result<void> read(Comparison const& comparison, bool is_negated) {
    auto first = &comparison.first;
    auto second = &comparison.second;
    FoundComparison found;
    found.comparator = is_negated ? negated(comparison.comparator) : comparison.comparator;
    auto const side_of = [](Operand const& operand) {
      auto const* const column = std::get_if<ColumnRef>(&operand);
      return column == nullptr ? std::optional<Side>{} : column->side;
    };
    bool const is_swapped = !side_of(*first) || (side_of(*first) == Side::right && side_of(*second) == Side::left);
    if (is_swapped) {
      std::swap(first, second);
      found.comparator = mirrored(found.comparator);
    }
    if (!side_of(*first))
      return fail(ErrorCode::usage, fmt::format("a comparison is of a column with a column or a constant: {}",
                                                to_string(Condition{Condition::Kind::comparison, comparison, {}})));
    GARUDA_TRY_ASSIGN(found.column, find(*std::get_if<ColumnRef>(first)));
    if (auto const* const column = std::get_if<ColumnRef>(second)) {
      GARUDA_TRY_ASSIGN(found.other, find(*column));
      GARUDA_TRY(check_types(found.column, *found.other));
    } else if (auto const& constant = *std::get_if<Constant>(second); constant.form != Constant::Form::null) {
      found.constant = constant_value(constant, value_type(found.column));
      if (!found.constant)
        return fail(
            ErrorCode::invalid_input,
            fmt::format("column '{}' ({}) is compared with {}: {}", name_of(found.column),
                        to_string(field(found.column).type), constant_form(value_type(found.column)),
                        constant.form == Constant::Form::text ? fmt::format("'{}'", constant.text) : constant.text));
    }
    found_.push_back(std::move(found));
    return {};
  }

  Result<SideColumn> find(ColumnRef const& reference) const {
    SideColumn found{reference.side, 0};
    GARUDA_TRY_ASSIGN(found.column, find_on_side(reference.side == Side::left ? left_ : right_, reference));
    if (keys::can_be_compared(field(found).type)) return found;
    return fail(ErrorCode::invalid_input, fmt::format("column '{}' cannot be compared, only {} can: {}", name_of(found),
                                                      keys::kComparedTypes, to_string(field(found).type)));
  }

  Result<void> check_types(SideColumn const& a, SideColumn const& b) const {
    if (common_type({a, b})) return {};
    return fail(ErrorCode::invalid_input,
                fmt::format("columns '{}' and '{}' cannot be compared, their types differ: {} and {}", name_of(a),
                            name_of(b), to_string(field(a).type), to_string(field(b).type)));
  }

  std::optional<DataType> common_type(std::vector<SideColumn> const& columns) const {
    std::vector<DataType> types;
    for (auto const& column : columns) types.push_back(field(column).type);
    auto common = keys::common_type_of(types);
    if (!common) return std::nullopt;
    return std::move(common->compared);
  }

  /// The first group with the column; groups_.size(): there is none.
  std::size_t group_of(SideColumn const& column) const {
    return static_cast<std::size_t>(
        std::ranges::find_if(groups_, [&](Group const& group) { return group.has(column); }) - groups_.begin());
  }

  void add_group(std::vector<SideColumn> members) {
    auto type = common_type(members);
    groups_.push_back({std::move(members), *std::move(type)});
  }

  /// Brings two columns that can be compared into one group: with all that they are compared with, where one type holds
  /// the values of all, which need not be so; else the two alone.
  void group(SideColumn const& a, SideColumn const& b) {
    if (std::ranges::any_of(groups_, [&](Group const& group) { return group.has(a) && group.has(b); })) return;
    std::vector<SideColumn> members;
    auto const add = [&](SideColumn const& column) {
      if (std::ranges::find(members, column) == members.end()) members.push_back(column);
    };
    add(a);
    add(b);
    for (auto const& group : groups_)
      if (group.has(a) || group.has(b)) std::ranges::for_each(group.members, add);
    if (!common_type(members)) return add_group({a, b});
    std::erase_if(groups_, [&](Group const& group) { return group.has(a) || group.has(b); });
    add_group(std::move(members));
  }

  ResolvedOperand operand(SideColumn const& column, std::size_t encoding) {
    auto& columns = column.side == Side::left ? resolved_.left : resolved_.right;
    ConditionColumn const compared{column.column, encoding};
    auto const at = std::ranges::find(columns, compared) - columns.begin();
    if (at == std::ssize(columns)) columns.push_back(compared);
    return {column.side == Side::left ? Source::left : Source::right, static_cast<std::size_t>(at)};
  }

  ResolvedComparison resolve(FoundComparison const& found) {
    ResolvedComparison comparison;
    comparison.comparator = found.comparator;
    if (found.other) {
      auto const of_both = std::ranges::find_if(
          groups_, [&](Group const& group) { return group.has(found.column) && group.has(*found.other); });
      auto const encoding = static_cast<std::size_t>(of_both - groups_.begin());
      comparison.first = operand(found.column, encoding);
      comparison.second = operand(*found.other, encoding);
      resolved_.encodings[encoding].compares_columns = true;
      note_order(encoding, comparison.comparator);
      return comparison;
    }
    auto const encoding = group_of(found.column);
    comparison.first = operand(found.column, encoding);
    // Nothing is less than the least word: null is true of no value, nor is its opposite.
    auto const placed = found.constant ? place_comparator(found.comparator, found.constant->place)
                                       : PlacedComparator{Comparator::less, true};
    comparison.comparator = placed.comparator;
    if (placed.is_decided) return comparison;
    comparison.second = ResolvedOperand{Source::constant, resolved_.constants.size()};
    resolved_.constants.push_back({encoding, value_type(found.column), found.constant->bytes});
    note_order(encoding, comparison.comparator);
    return comparison;
  }

  void note_order(std::size_t encoding, Comparator comparator) {
    auto& compares_order = resolved_.encodings[encoding].compares_order;
    compares_order = compares_order || asks_order(comparator);
  }

  Schema const& left_;
  Schema const& right_;
  std::vector<FoundComparison> found_;
  std::vector<Group> groups_;
  ResolvedCondition resolved_;
};

/// A table of one row: a constant as a column.
class ConstantTable {
 public:
  explicit ConstantTable(ConditionConstant const& constant) : bytes_(constant.bytes) {
    auto type = constant.type;
    ArrayView array;
    array.length = 1;
    array.null_count = 0;
    // A buffer that is empty has no address.
    bytes_.push_back(std::byte{0});
    array.values = bytes_.data();
    if (type_row(type.id).family == TypeFamily::bytes) {
      type = DataType{large_bytes(type.id)};
      offsets_ = {0, static_cast<std::int64_t>(constant.bytes.size())};
      array.offsets = offsets_.data();
    }
    std::vector<Batch> batches;
    batches.push_back({1, {array}, nullptr});
    table_ = Table({{"constant", std::move(type), false}}, std::move(batches));
  }
  ConstantTable(ConstantTable const&) = delete;
  ConstantTable& operator=(ConstantTable const&) = delete;

  TableView view() const noexcept { return table_.view(); }

 private:
  std::vector<std::byte> bytes_;
  std::array<std::int64_t, 2> offsets_{};
  Table table_;
};

class Encoder {
 public:
  Encoder(ResolvedCondition const& condition, TableView left, TableView right, Control const& control)
      : resolved_(condition), left_(left), right_(right), control_(control), constants_(condition.constants.size()) {}

  Result<EncodedCondition> run() {
    auto& condition = encoded_.condition;
    condition.left.resize(resolved_.left.size());
    condition.right.resize(resolved_.right.size());
    for (std::size_t e = 0; e < resolved_.encodings.size(); ++e) GARUDA_TRY(encode(e));
    for (auto const& comparison : resolved_.comparisons) condition.comparisons.push_back(place(comparison));
    condition.steps = resolved_.steps;
    return std::move(encoded_);
  }

 private:
  /// The columns and constants of one encoding.
  Result<void> encode(std::size_t encoding) {
    std::vector<keys::ColumnOfTable> columns;
    std::vector<OrderWords*> to;
    for (auto const side : {Side::left, Side::right}) {
      auto const& of_side = resolved_.columns(side);
      auto& words = side == Side::left ? encoded_.condition.left : encoded_.condition.right;
      for (std::size_t c = 0; c < of_side.size(); ++c) {
        if (of_side[c].encoding != encoding) continue;
        columns.push_back({side == Side::left ? left_ : right_, of_side[c].column});
        to.push_back(&words[c]);
      }
    }
    std::vector<std::unique_ptr<ConstantTable>> tables;
    std::vector<keys::ColumnOfTable> constants;
    std::vector<std::size_t> positions;
    for (std::size_t c = 0; c < resolved_.constants.size(); ++c) {
      if (resolved_.constants[c].encoding != encoding) continue;
      tables.push_back(std::make_unique<ConstantTable>(resolved_.constants[c]));
      constants.push_back({tables.back()->view(), 0});
      positions.push_back(c);
    }
    auto const& how = resolved_.encodings[encoding];
    GARUDA_TRY_ASSIGN(
        auto words,
        keys::encode_order({columns, constants, how.as, how.compares_columns, how.compares_order}, control_));
    for (std::size_t c = 0; c < columns.size(); ++c) keep(std::move(words.columns[c]), columns[c].table, *to[c]);
    for (std::size_t c = 0; c < positions.size(); ++c) constants_[positions[c]] = words.constants[c];
    for (auto& memory : words.memory) encoded_.shared_memory.push_back(std::move(memory));
    return {};
  }

  void keep(keys::OrderedColumn column, TableView table, OrderWords& words) {
    words.words = column.words;
    if (column.valid.size_bytes() > 0) {
      auto const rows = static_cast<std::uint64_t>(table.num_rows());
      words.valid = std::span(column.valid.as<std::uint64_t const>(), (rows + 63) / 64);
    }
    for (auto* const memory : {&column.owned_words, &column.valid})
      if (memory->size_bytes() > 0) encoded_.memory.push_back(std::move(*memory));
  }

  WordComparison place(ResolvedComparison const& resolved) const {
    WordComparison comparison;
    comparison.comparator = resolved.comparator;
    comparison.first = {resolved.first.source, static_cast<std::uint32_t>(resolved.first.index), 0};
    if (!resolved.second) return comparison;
    auto const& second = *resolved.second;
    if (second.source != WordOperand::Source::constant) {
      comparison.second = {second.source, static_cast<std::uint32_t>(second.index), 0};
      return comparison;
    }
    auto const& constant = constants_[second.index];
    auto const placed = place_comparator(resolved.comparator, constant.place);
    comparison.comparator = placed.comparator;
    comparison.second.word = placed.is_decided ? 0 : constant.word;
    return comparison;
  }

  ResolvedCondition const& resolved_;
  TableView left_;
  TableView right_;
  Control const& control_;
  std::vector<keys::ConstantWord> constants_;
  EncodedCondition encoded_;
};

}  // namespace

PlacedComparator place_comparator(Comparator comparator, keys::Place place) noexcept {
  using enum Comparator;
  if (place == keys::Place::at) return {comparator, false};
  bool const wants_less = comparator == less || comparator == less_equal;
  if (place == keys::Place::above && asks_order(comparator)) return {wants_less ? less_equal : greater, false};
  // No value equals it, and of one below all none is less: what is left holds for all values.
  bool const holds = comparator == not_equal || (asks_order(comparator) && !wants_less);
  return {holds ? greater_equal : less, true};
}

Result<ResolvedCondition> resolve_condition(Schema const& left, Schema const& right, Condition const& condition) {
  return Resolver(left, right).run(condition);
}

std::uint64_t EncodedCondition::owned_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (auto const& buffer : memory) bytes += buffer.size_bytes();
  for (auto const& buffer : shared_memory) bytes += buffer->size_bytes();
  return static_cast<std::uint64_t>(bytes);
}

Result<EncodedCondition> encode_condition(ResolvedCondition const& condition, TableView left, TableView right,
                                          Control const& control) {
  return Encoder(condition, left, right, control).run();
}

}  // namespace expr
}  // namespace garuda
