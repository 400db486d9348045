#include "operators/query/scans/row_tests.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/type_rows.hpp"
#include "expr/comparators.hpp"
#include "expr/sides.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::query {
namespace {

using expr::Expression;
using expr::Function;
using Form = Expression::Form;
/// Booleans over the columns of an operator: rows for which one is not true are not needed.
using Predicates = std::vector<Expression>;

bool is_call(Expression const& expression, Function function) {
  return expression.form == Form::call && expression.function == function;
}

RowTest no_row() { return {RowTest::Kind::any}; }

/// Joins tests by `kind`, without parts that say nothing.
RowTest joined(RowTest::Kind kind, RowTest first, RowTest second) {
  bool const is_all = kind == RowTest::Kind::all;
  if (first.passes_all()) return is_all ? std::move(second) : std::move(first);
  if (second.passes_all()) return is_all ? std::move(first) : std::move(second);
  RowTest whole{kind};
  for (auto* part : {&first, &second})
    if (part->kind == kind)
      std::ranges::move(part->parts, std::back_inserter(whole.parts));
    else
      whole.parts.push_back(std::move(*part));
  return whole;
}

/// Whether a cast that does not fail keeps every value of a column, and with it the order of values.
bool keeps_values(DataType const& from, DataType const& to) {
  auto const& source = type_row(from.id);
  auto const& target = type_row(to.id);
  bool const is_exact = target.family == TypeFamily::integer || target.family == TypeFamily::decimal;
  if (source.family == TypeFamily::integer) return is_exact;
  if (source.family == TypeFamily::decimal) return target.family == TypeFamily::decimal && from.scale <= to.scale;
  if (source.family == TypeFamily::floating)
    return target.family == TypeFamily::floating && source.width <= target.width;
  return source.family == TypeFamily::bytes && target.family == TypeFamily::bytes &&
         is_text(from.id) == is_text(to.id) && from.id != TypeId::fixed_size_binary &&
         to.id != TypeId::fixed_size_binary;
}

/// The column that an expression is, perhaps in a wider type; nullptr: another expression.
Expression const* column_of(Expression const& expression) {
  if (expression.form == Form::column) return &expression;
  if (!is_call(expression, Function::cast)) return nullptr;
  auto const& value = expression.arguments[0];
  auto failing = expression;
  failing.on_failure = expr::OnFailure::error;
  // A value that the wider type cannot hold would be null there.
  return keeps_values(value.type, expression.type) && !expr::can_fail(failing) ? column_of(value) : nullptr;
}

Literal literal_of(Expression const& constant) {
  return {constant.type, std::visit(
                             []<class Value>(Value const& value) -> decltype(Literal::value) {
                               if constexpr (std::is_same_v<Value, Int128>)
                                 return std::array{static_cast<std::uint64_t>(value),
                                                   static_cast<std::uint64_t>(static_cast<UInt128>(value) >> 64)};
                               else
                                 return value;
                             },
                             constant.value)};
}

bool holds_null(Expression const& constant) { return std::holds_alternative<std::monostate>(constant.value); }

ValueRange only(Literal const& value) { return {value, value}; }

std::vector<ValueRange> ranges_of(Comparator comparator, Literal const& value) {
  switch (comparator) {
    case Comparator::equal:
      return {only(value)};
    case Comparator::not_equal:
      return {{{}, value, false, true}, {value, {}, true, false}};
    case Comparator::less:
      return {{{}, value, false, true}};
    case Comparator::less_equal:
      return {{{}, value}};
    case Comparator::greater:
      return {{value, {}, true, false}};
    case Comparator::greater_equal:
      return {{value, {}}};
  }
  return {{}};
}

/// Strings that begin with a prefix: those from it on, and below the first string behind all of them.
ValueRange beginning_with(Literal const& prefix) {
  ValueRange range{prefix, {}, false, true};
  auto bytes = std::get<std::string>(prefix.value);
  while (!bytes.empty() && static_cast<unsigned char>(bytes.back()) == 0xFF) bytes.pop_back();
  if (bytes.empty()) return range;
  bytes.back() = static_cast<char>(static_cast<unsigned char>(bytes.back()) + 1);
  range.greatest = Literal{prefix.type, std::move(bytes)};
  return range;
}

class TestMaker {
 public:
  explicit TestMaker(Schema const& schema) : schema_(schema) {}

  /// The test of rows for which the expression is true; `negated`: false.
  RowTest test(Expression const& expression, bool negated) const {
    if (expression.form == Form::constant) {
      auto const* const value = std::get_if<bool>(&expression.value);
      return value != nullptr && *value != negated ? RowTest() : no_row();
    }
    if (expression.form == Form::column) return of_column(expression, {only(literal(!negated).literal)});
    auto const& arguments = expression.arguments;
    switch (expression.function) {
      case Function::all:
      case Function::any: {
        bool const is_all = (expression.function == Function::all) != negated;
        return joined(is_all ? RowTest::Kind::all : RowTest::Kind::any, test(arguments[0], negated),
                      test(arguments[1], negated));
      }
      case Function::negate:
        return test(arguments[0], !negated);
      case Function::is_true:
        return negated ? RowTest() : test(arguments[0], false);
      case Function::is_null: {
        auto const* const column = column_of(arguments[0]);
        if (column == nullptr) return {};
        return negated ? of_column(*column, {ValueRange()}) : of_column(*column, {}, true);
      }
      case Function::compare:
        return of_comparison(expression, negated);
      case Function::in:
        return negated ? RowTest() : of_list(arguments);
      case Function::starts_with:
      case Function::like:
        return negated ? RowTest() : of_prefix(expression);
      default:
        return {};
    }
  }

 private:
  RowTest of_column(Expression const& column, std::vector<ValueRange> ranges, bool or_null = false) const {
    return {RowTest::Kind::column, {}, schema_[column.column].name, std::move(ranges), or_null};
  }

  RowTest of_comparison(Expression const& comparison, bool negated) const {
    auto const* first = &comparison.arguments[0];
    auto const* second = &comparison.arguments[1];
    auto comparator = negated ? expr::negated(comparison.comparator) : comparison.comparator;
    if (first->form == Form::constant) {
      std::swap(first, second);
      comparator = expr::mirrored(comparator);
    }
    auto const* const column = column_of(*first);
    if (column == nullptr || second->form != Form::constant) return {};
    if (holds_null(*second)) return no_row();
    return of_column(*column, ranges_of(comparator, literal_of(*second)));
  }

  RowTest of_list(std::vector<Expression> const& arguments) const {
    auto const* const column = column_of(arguments[0]);
    if (column == nullptr) return {};
    std::vector<ValueRange> ranges;
    for (std::size_t a = 1; a < arguments.size(); ++a)
      if (!holds_null(arguments[a])) ranges.push_back(only(literal_of(arguments[a])));
    return of_column(*column, std::move(ranges));
  }

  RowTest of_prefix(Expression const& expression) const {
    auto const& arguments = expression.arguments;
    auto const* const column = column_of(arguments[0]);
    if (column == nullptr || arguments[1].form != Form::constant) return {};
    if (holds_null(arguments[1])) return no_row();
    auto prefix = literal_of(arguments[1]);
    if (expression.function == Function::like) {
      std::string stops = "%_\\";
      if (arguments.size() > 2)
        if (auto const* const escape = std::get_if<std::string>(&arguments[2].value)) stops += *escape;
      auto& bytes = std::get<std::string>(prefix.value);
      bytes.resize(std::min(bytes.find_first_of(stops), bytes.size()));
    }
    return of_column(*column, {beginning_with(prefix)});
  }

  Schema const& schema_;
};

/// The parts of a condition before the first that can fail: later ones are asked only where these are true.
Predicates asked_first(Expression const& predicate) {
  auto parts = expr::conjuncts(predicate);
  parts.erase(std::ranges::find_if(parts, expr::can_fail), parts.end());
  return parts;
}

void append(Predicates& to, Predicates from) { std::ranges::move(from, std::back_inserter(to)); }

/// The expression over what the columns of a projection are made of.
Expression above(BoundProject const& project, Schema const& input, Expression const& expression) {
  if (expression.form == Form::column) {
    auto const& column = project.columns[expression.column];
    if (auto const* const position = std::get_if<std::size_t>(&column))
      return expr::column(*position, input[*position].type, input[*position].name);
    return std::get<Expression>(column);
  }
  auto replaced = expression;
  for (auto& argument : replaced.arguments) argument = above(project, input, argument);
  return replaced;
}

/// The predicates that read columns of `side` of a join alone, over these. `place` gives the column of the side, or
/// none, for a column of the predicate.
template <class Place>
Predicates of_side(Predicates const& predicates, Place const& place) {
  Predicates found;
  for (auto predicate : predicates) {
    bool is_of_side = true;
    expr::visit_columns(predicate, [&](std::size_t& column) {
      auto const there = place(column);
      is_of_side = is_of_side && there.has_value();
      column = there.value_or(0);
    });
    if (is_of_side) found.push_back(std::move(predicate));
  }
  return found;
}

/// The booleans of one side that a condition compares with true, where all of them must hold.
void add_tested_columns(Condition const& where, Side side, Schema const& schema, Predicates& found) {
  if (where.kind == Condition::Kind::all)
    for (auto const& part : where.parts) add_tested_columns(part, side, schema, found);
  if (where.kind != Condition::Kind::comparison || where.comparison.comparator != Comparator::equal) return;
  auto const* const column = std::get_if<ColumnRef>(&where.comparison.first);
  auto const* const value = std::get_if<Constant>(&where.comparison.second);
  if (column == nullptr || value == nullptr || column->side != side) return;
  auto const position = column_position(column->name);
  if (*value == std::get<Constant>(constant(true)))
    found.push_back(expr::column(position, schema[position].type, schema[position].name));
}

class Walk {
 public:
  void add(Bound const& query, Predicates needed) {
    auto const& operation = query.operation;
    if (std::holds_alternative<BoundScan>(operation)) return add_scan(query, needed);
    if (auto const* const filter = std::get_if<BoundFilter>(&operation)) {
      if (expr::can_fail(filter->predicate)) needed.clear();
      append(needed, asked_first(filter->predicate));
      return add(query.inputs[0], std::move(needed));
    }
    if (auto const* const project = std::get_if<BoundProject>(&operation)) return add_project(*project, query, needed);
    if (auto const* const join = std::get_if<BoundJoin>(&operation)) return add_join(*join, query, needed);
    auto const* const sort = std::get_if<BoundSort>(&operation);
    bool const passes = std::holds_alternative<BoundUnion>(operation) || (sort != nullptr && !sort->rows);
    for (auto const& input : query.inputs) add(input, passes ? needed : Predicates());
  }

  std::vector<RowTest> take() && { return std::move(tests_); }

 private:
  void add_scan(Bound const& scan, Predicates const& needed) {
    RowTest whole;
    for (auto const& predicate : needed)
      whole = joined(RowTest::Kind::all, std::move(whole), row_test(predicate, scan.schema));
    tests_.push_back(std::move(whole));
  }

  void add_project(BoundProject const& project, Bound const& query, Predicates const& needed) {
    bool const is_border = std::ranges::any_of(project.columns, [](ProjectedColumn const& column) {
      auto const* const computed = std::get_if<Expression>(&column);
      return computed != nullptr && expr::can_fail(*computed);
    });
    Predicates below;
    if (!is_border)
      for (auto const& predicate : needed) below.push_back(above(project, query.inputs[0].schema, predicate));
    add(query.inputs[0], std::move(below));
  }

  void add_join(BoundJoin const& join, Bound const& query, Predicates const& needed) {
    auto const parts = contract::parts_of(join.kind);
    auto const num_left = query.inputs[0].schema.size();
    bool const is_border = join.pairs && expr::can_fail(*join.pairs);
    for (auto const side : {Side::left, Side::right}) {
      auto const& input = query.inputs[side == Side::left ? 0 : 1];
      Predicates below;
      // An unmatched row of the other side comes where rows of this side are missing.
      if (!is_border && !parts.gives_unmatched(other_side(side)))
        append(below, of_side(needed, [&](std::size_t column) { return column_of_side(join, side, column); }));
      if (!parts.gives_unmatched(side)) {
        if (join.where) add_tested_columns(*join.where, side, input.schema, below);
        if (join.pairs)
          append(below, of_side(asked_first(*join.pairs), [&](std::size_t column) -> std::optional<std::size_t> {
                   if ((column < num_left) != (side == Side::left)) return std::nullopt;
                   return side == Side::left ? column : column - num_left;
                 }));
      }
      add(input, std::move(below));
    }
  }

  /// The column of one side that a column of the result is.
  static std::optional<std::size_t> column_of_side(BoundJoin const& join, Side side, std::size_t column) {
    auto const num_left = join.left_columns.size();
    auto const& columns = side == Side::left ? join.left_columns : join.right_columns;
    if (side == Side::right && column < num_left) return std::nullopt;
    auto const place = side == Side::left ? column : column - num_left;
    return place < columns.size() ? std::optional(columns[place]) : std::nullopt;
  }

  std::vector<RowTest> tests_;
};

}  // namespace

RowTest row_test(expr::Expression const& predicate, Schema const& schema) {
  return TestMaker(schema).test(predicate, false);
}

std::vector<RowTest> row_tests(Bound const& query) {
  Walk walk;
  walk.add(query, {});
  return std::move(walk).take();
}

}  // namespace garuda::query
