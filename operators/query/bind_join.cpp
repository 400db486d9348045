#include "operators/query/bind_join.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "core/positions.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/query/bind_expression.hpp"
#include "operators/query/query_functions.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::query {
namespace {

/// The column that an expression is, if it is no more than that. Errors: invalid_input for an unknown name.
Result<std::optional<std::size_t>> column_alone(ScalarExpression const& value, Schema const& input) {
  if (value.form == ScalarExpression::Form::column) {
    GARUDA_TRY_ASSIGN(auto const column, find_column(input, value.name));
    return column;
  }
  if (value.form == ScalarExpression::Form::position && value.position < input.size()) return value.position;
  return std::nullopt;
}

/// The parts of a chain of `and`.
void add_conjuncts(ScalarExpression expression, std::vector<ScalarExpression>& parts) {
  if (expression.form == ScalarExpression::Form::call && expression.name == "and") {
    for (auto& argument : expression.arguments) add_conjuncts(std::move(argument), parts);
    return;
  }
  parts.push_back(std::move(expression));
}

/// `a is not distinct from b` of comparisons that joins have; never null.
ScalarExpression either_null_or_equal(ScalarExpression const& a, ScalarExpression const& b) {
  return call("or", {call("and", {call("is_not_null", {a}), call("is_not_null", {b}), call("equal", {a, b})}),
                     call("and", {call("is_null", {a}), call("is_null", {b})})});
}

/// A condition of a join as the join's operator takes it: keys, comparisons of a column of each side, and booleans of
/// one side. Expressions become columns of their side.
class PairConditions {
 public:
  PairConditions(Schema const& left, Schema const& right, AddedColumns& lefts, AddedColumns& rights)
      : num_left_(left.size()), lefts_(lefts), rights_(rights), all_(left) {
    all_.insert(all_.end(), right.begin(), right.end());
  }

  /// The clause with equalities of both sides among its keys instead of in its condition. Where all of them match nulls
  /// with nulls, so do the keys.
  Result<JoinClause> with_keys(JoinClause clause) const {
    if (!clause.where) return clause;
    std::vector<ScalarExpression> parts;
    add_conjuncts(*std::exchange(clause.where, std::nullopt), parts);
    std::vector<ScalarExpression> rest;
    struct NullMatching {
      Key key;
      ScalarExpression part;
      std::size_t place;  // in the rest, where it is no key
    };
    std::vector<NullMatching> null_matching;
    for (auto& part : parts) {
      bool const matches_nulls = part.name == "is_not_distinct_from";
      GARUDA_TRY_ASSIGN(auto key, matches_nulls || part.name == "equal" ? key_of(part) : std::optional<Key>());
      // Keys are computed for every row, a part behind another one only for pairs that this one lets pass.
      bool const is_behind = !rest.empty() || !clause.on.empty() || !null_matching.empty();
      for (auto const& argument : part.arguments) {
        if (!key || !is_behind) break;
        GARUDA_TRY_ASSIGN(bool const fails, can_fail(argument));
        if (fails) key.reset();
      }
      if (!key || clause.on.size() + null_matching.size() == resolve::kMostKeys)
        rest.push_back(std::move(part));
      else if (matches_nulls)
        null_matching.push_back({*std::move(key), std::move(part), rest.size()});
      else if (clause.nulls_equal)
        rest.push_back(std::move(part));
      else
        clause.on.push_back(*std::move(key));
    }
    if (clause.on.empty() && !null_matching.empty()) clause.nulls_equal = true;
    if (clause.nulls_equal)
      for (auto& matching : null_matching) clause.on.push_back(std::move(matching.key));
    else
      for (auto const& [key, part, place] : std::views::reverse(null_matching))
        rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(place),
                    either_null_or_equal(part.arguments[0], part.arguments[1]));
    if (!rest.empty()) clause.where = rest.size() == 1 ? std::move(rest.front()) : call("and", std::move(rest));
    return clause;
  }

  /// nullopt: some comparison has an operand with columns of both sides, operands of types that joins do not compare,
  /// or one that could fail for rows that the condition does not ask.
  Result<std::optional<Condition>> bind(ScalarExpression const& where, bool has_keys) {
    asks_every_row_ = !has_keys;
    return bind(where);
  }

  /// The columns of both sides as they were written.
  Schema const& all() const noexcept { return all_; }

 private:
  Result<std::optional<Condition>> bind(ScalarExpression const& where) {
    GARUDA_TRY_ASSIGN(auto const sides, sides_of(where));
    if (!sides.left || !sides.right) {
      // A condition without columns is tested on left rows. Where it fails is asked no sooner than in a filter: not
      // behind a null either.
      GARUDA_TRY_ASSIGN(bool const fails, can_fail(where));
      GARUDA_TRY_ASSIGN(auto operand,
                        operand_of(fails ? call("is_true", {where}) : where, sides.right ? Side::right : Side::left));
      asks_every_row_ = false;
      if (!operand) return std::nullopt;
      return compare(*std::move(operand), Comparator::equal, garuda::constant(true));
    }
    if (where.form != ScalarExpression::Form::call) return std::nullopt;
    if (where.name == "and" || where.name == "or") return bind_parts(where);
    if (where.name == "not") {
      GARUDA_TRY_ASSIGN(auto part, bind(where.arguments.at(0)));
      if (part) return !*std::move(part);
      return std::nullopt;
    }
    if (where.name == "is_not_distinct_from" && where.arguments.size() == 2)
      return bind_parts(either_null_or_equal(where.arguments[0], where.arguments[1]));
    return bind_comparison(where);
  }

  struct Sides {
    bool left = false;
    bool right = false;

    bool are(Side side) const noexcept { return side == Side::left ? left && !right : right && !left; }
  };
  using Key = std::pair<ScalarExpression, ScalarExpression>;

  /// The values of each side, the left one first, that a call of two arguments compares; nullopt: they are not of both
  /// sides, or of types that keys do not have in common.
  Result<std::optional<Key>> key_of(ScalarExpression const& comparison) const {
    if (comparison.arguments.size() != 2) return std::nullopt;
    auto const* left = &comparison.arguments[0];
    auto const* right = &comparison.arguments[1];
    GARUDA_TRY_ASSIGN(auto const first, sides_of(*left));
    if (first.are(Side::right)) std::swap(left, right);
    GARUDA_TRY_ASSIGN(auto const left_sides, sides_of(*left));
    GARUDA_TRY_ASSIGN(auto const right_sides, sides_of(*right));
    if (!left_sides.are(Side::left) || !right_sides.are(Side::right)) return std::nullopt;
    GARUDA_TRY_ASSIGN(bool const can_be_compared, have_common_type(*left, *right));
    if (!can_be_compared) return std::nullopt;
    GARUDA_TRY_ASSIGN(auto left_key, on_side(*left, Side::left));
    GARUDA_TRY_ASSIGN(auto right_key, on_side(*right, Side::right));
    return Key{std::move(left_key), std::move(right_key)};
  }

  /// Whether joins compare values of the types of both.
  Result<bool> have_common_type(ScalarExpression const& a, ScalarExpression const& b) const {
    std::vector<DataType> types;
    for (auto const* value : {&a, &b}) {
      GARUDA_TRY_ASSIGN(auto const column, bind_column(*value, all_));
      types.push_back(field_of(column, all_, {}).type);
    }
    return keys::common_type_of(types).has_value();
  }

  Result<Sides> sides_of(ScalarExpression const& value) const {
    GARUDA_TRY_ASSIGN(auto const column, column_alone(value, all_));
    if (column) return Sides{*column < num_left_, *column >= num_left_};
    Sides sides;
    for (auto const& argument : value.arguments) {
      GARUDA_TRY_ASSIGN(auto const of_argument, sides_of(argument));
      sides.left = sides.left || of_argument.left;
      sides.right = sides.right || of_argument.right;
    }
    return sides;
  }

  /// The expression over the columns of one side alone.
  Result<ScalarExpression> on_side(ScalarExpression value, Side side) const {
    GARUDA_TRY_ASSIGN(auto const alone, column_alone(value, all_));
    if (alone) return garuda::column(side == Side::left ? *alone : *alone - num_left_);
    for (auto& argument : value.arguments) {
      GARUDA_TRY_ASSIGN(argument, on_side(std::move(argument), side));
    }
    return value;
  }

  /// nullopt: the value could fail for rows of its side that the condition does not ask.
  Result<std::optional<Operand>> operand_of(ScalarExpression const& value, Side side) {
    GARUDA_TRY_ASSIGN(bool const fails, can_fail(value));
    if (fails && !asks_every_row_) return std::nullopt;
    GARUDA_TRY_ASSIGN(auto const there, on_side(value, side));
    GARUDA_TRY_ASSIGN(auto const position, (side == Side::left ? lefts_ : rights_).add(there));
    return Operand(side == Side::left ? left_column(column_name(position)) : right_column(column_name(position)));
  }

  Result<bool> can_fail(ScalarExpression const& value) const {
    GARUDA_TRY_ASSIGN(auto const column, bind_column(value, all_));
    auto const* const computed = std::get_if<expr::Expression>(&column);
    return computed != nullptr && expr::can_fail(*computed);
  }

  Result<std::optional<Condition>> bind_parts(ScalarExpression const& where) {
    std::optional<Condition> whole;
    for (auto const& argument : where.arguments) {
      GARUDA_TRY_ASSIGN(auto part, bind(argument));
      if (!part) return std::nullopt;
      if (!whole)
        whole = std::move(part);
      else
        whole = where.name == "and" ? *std::move(whole) && *std::move(part) : *std::move(whole) || *std::move(part);
    }
    return whole;
  }

  Result<std::optional<Condition>> bind_comparison(ScalarExpression const& where) {
    auto const comparator = comparator_of(where.name);
    if (!comparator || where.arguments.size() != 2) return std::nullopt;
    GARUDA_TRY_ASSIGN(bool const can_be_compared, have_common_type(where.arguments[0], where.arguments[1]));
    if (!can_be_compared) return std::nullopt;
    std::vector<Operand> operands;
    for (auto const& argument : where.arguments) {
      GARUDA_TRY_ASSIGN(auto const sides, sides_of(argument));
      if (sides.left && sides.right) return std::nullopt;
      GARUDA_TRY_ASSIGN(auto operand, operand_of(argument, sides.right ? Side::right : Side::left));
      if (!operand) return std::nullopt;
      operands.push_back(*std::move(operand));
    }
    asks_every_row_ = false;
    return compare(std::move(operands[0]), *comparator, std::move(operands[1]));
  }

  std::size_t num_left_;
  AddedColumns& lefts_;
  AddedColumns& rights_;
  Schema all_;
  /// Whether the part of a condition that is bound next is asked for every row of either side: it is the first one, and
  /// no key leaves rows out.
  bool asks_every_row_ = true;
};

/// Conditions of joins that were bound, as expressions over the columns of both sides.
struct PairExpressions {
  Schema const& left;
  Schema const& right;

  /// nullopt: the condition compares values of different types.
  std::optional<ScalarExpression> of(Condition const& where) const {
    if (where.kind == Condition::Kind::comparison) return of(where.comparison);
    std::vector<ScalarExpression> parts;
    for (auto const& part : where.parts) {
      auto expression = of(part);
      if (!expression) return std::nullopt;
      parts.push_back(*std::move(expression));
    }
    if (where.kind == Condition::Kind::negation) return call("not", std::move(parts));
    return call(where.kind == Condition::Kind::all ? "and" : "or", std::move(parts));
  }

 private:
  std::optional<ScalarExpression> of(Comparison const& comparison) const {
    auto const* const first = std::get_if<ColumnRef>(&comparison.first);
    auto const* const second = std::get_if<ColumnRef>(&comparison.second);
    // Constants stand beside booleans alone: `value = true`.
    if (first == nullptr) return std::nullopt;
    if (second == nullptr) return garuda::column(position_of(*first));
    if (field_of(*first).type != field_of(*second).type) return std::nullopt;
    return call(std::string(function_of(comparison.comparator)),
                {garuda::column(position_of(*first)), garuda::column(position_of(*second))});
  }

  std::size_t position_of(ColumnRef const& column) const {
    auto const position = column_position(column.name);
    return column.side == Side::left ? position : left.size() + position;
  }
  Field const& field_of(ColumnRef const& column) const {
    return (column.side == Side::left ? left : right)[column_position(column.name)];
  }
};

/// Adds the keys to the columns of both sides. A join takes a column as a key once.
Result<std::vector<std::pair<std::size_t, std::size_t>>> bind_keys(JoinClause const& clause, AddedColumns& lefts,
                                                                   AddedColumns& rights) {
  std::vector<std::pair<std::size_t, std::size_t>> keys;
  for (auto const& [left, right] : clause.on) {
    GARUDA_TRY_ASSIGN(auto left_key, lefts.add(left));
    GARUDA_TRY_ASSIGN(auto right_key, rights.add(right));
    if (std::ranges::find(keys, left_key, [](auto const& pair) { return pair.first; }) != keys.end())
      left_key = lefts.add_copy(left_key);
    if (std::ranges::find(keys, right_key, [](auto const& pair) { return pair.second; }) != keys.end())
      right_key = rights.add_copy(right_key);
    keys.emplace_back(left_key, right_key);
  }
  return keys;
}

/// The columns of the result, null where a row of the other side comes without one of theirs.
Schema schema_of(JoinKind kind, Schema const& left, Schema const& right) {
  auto const parts = contract::parts_of(kind);
  auto schema = left;
  for (auto& field : schema) field.nullable = field.nullable || parts.right != contract::SideRows::none;
  if (parts.pairs)
    for (auto field : right) {
      field.nullable = field.nullable || parts.left != contract::SideRows::none;
      schema.push_back(std::move(field));
    }
  if (parts.left == contract::SideRows::all) schema.push_back({"mark", DataType{TypeId::boolean}, false});
  return schema;
}

}  // namespace

Result<ProjectedColumn> bind_column(ScalarExpression const& value, Schema const& input) {
  GARUDA_TRY_ASSIGN(auto const alone, column_alone(value, input));
  if (alone) return ProjectedColumn(*alone);
  GARUDA_TRY_ASSIGN(auto bound, bind_expression(value, input));
  return ProjectedColumn(std::move(bound));
}

Field field_of(ProjectedColumn const& column, Schema const& input, std::string name) {
  if (auto const* const position = std::get_if<std::size_t>(&column)) {
    auto field = input[*position];
    field.name = std::move(name);
    return field;
  }
  return {std::move(name), std::get<expr::Expression>(column).type, true};
}

BoundProject first_columns(std::size_t count) {
  BoundProject first;
  for (std::size_t c = 0; c < count; ++c) first.columns.emplace_back(c);
  return first;
}

bool can_be_sorted(DataType const& type) { return keys::can_be_compared(type); }

AddedColumns::AddedColumns(Schema const& input)
    : inputs_(input.size()), schema_(input), columns_(first_columns(input.size())) {}

Result<std::size_t> AddedColumns::add(ScalarExpression const& value) {
  Schema const input(schema_.begin(), schema_.begin() + static_cast<std::ptrdiff_t>(inputs_));
  GARUDA_TRY_ASSIGN(auto const alone, column_alone(value, input));
  if (alone) return *alone;
  GARUDA_TRY_ASSIGN(auto computed, bind_expression(value, input));
  schema_.push_back({column_name(schema_.size()), computed.type, true});
  columns_.columns.emplace_back(std::move(computed));
  return columns_.columns.size() - 1;
}

std::size_t AddedColumns::add_copy(std::size_t column) {
  schema_.push_back(schema_[column]);
  columns_.columns.push_back(columns_.columns[column]);
  return columns_.columns.size() - 1;
}

Bound AddedColumns::behind(Bound input) && {
  if (columns_.columns.size() == inputs_) return input;
  return with_input(std::move(columns_), std::move(input), std::move(schema_));
}

Result<std::optional<expr::Expression>> pair_expression(Condition const& where, Schema const& left,
                                                        Schema const& right) {
  auto pairs = left;
  pairs.insert(pairs.end(), right.begin(), right.end());
  auto const expression = PairExpressions{left, right}.of(where);
  if (!expression) return std::optional<expr::Expression>();
  return bind_expression(*expression, pairs).map([](expr::Expression bound) {
    return std::optional(std::move(bound));
  });
}

Result<Bound> bind_join(JoinClause const& written, Bound left, Bound right) {
  AddedColumns lefts(left.schema);
  AddedColumns rights(right.schema);
  PairConditions conditions(left.schema, right.schema, lefts, rights);
  GARUDA_TRY_ASSIGN(auto const clause, conditions.with_keys(written));
  BoundJoin join{clause.kind, {}, {}, clause.nulls_equal, {}, {}};
  join.left_columns = first_positions(left.schema.size());
  join.right_columns = first_positions(contract::parts_of(clause.kind).pairs ? right.schema.size() : 0);
  GARUDA_TRY_ASSIGN(join.keys, bind_keys(clause, lefts, rights));
  auto schema = schema_of(clause.kind, left.schema, right.schema);
  std::optional<expr::Expression> later;
  if (clause.where) {
    GARUDA_TRY_ASSIGN(join.where, conditions.bind(*clause.where, !join.keys.empty()));
    if (!join.where && clause.kind == JoinKind::inner && !join.keys.empty()) {
      GARUDA_TRY_ASSIGN(later, bind_expression(*clause.where, schema));
    } else if (!join.where) {
      if (join.keys.empty()) {
        GARUDA_TRY_ASSIGN(auto const left_key, lefts.add(literal(true)));
        GARUDA_TRY_ASSIGN(auto const right_key, rights.add(literal(true)));
        join.keys.emplace_back(left_key, right_key);
      }
      GARUDA_TRY_ASSIGN(join.pairs, bind_expression(*clause.where, conditions.all()));
      expr::visit_columns(*join.pairs, [&](std::size_t& column) {
        if (column >= left.schema.size()) column += lefts.size() - left.schema.size();
      });
    }
  }
  Bound bound{std::move(join), {}, schema};
  bound.inputs.push_back(std::move(lefts).behind(std::move(left)));
  bound.inputs.push_back(std::move(rights).behind(std::move(right)));
  if (!later) return bound;
  return with_input(BoundFilter{*std::move(later)}, std::move(bound), std::move(schema));
}

}  // namespace garuda::query
