#include "tests/query/reference_query.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/type_rows.hpp"
#include "tests/expr/row_interpreter.hpp"
#include "tests/query/reference_expression.hpp"
#include "tests/reference/cell_values.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/unwrap.hpp"

namespace garuda::reference {
namespace {

using expr::Expression;
using expr::Interpreter;

/// Pairs of rows that the joins of a query meet at most.
constexpr std::size_t kMostPairs = 20'000;
/// Rows of a result at most.
constexpr std::size_t kMostRows = 2'000;

expr::Cell cell_of_text(DataType const& type, Cell const& text) {
  if (!text) return {true, 0, 0};
  if (type.id == TypeId::boolean) return {false, *text == "true" ? 1 : 0, 0};
  if (is_float(type.id)) return {false, 0, float_of(type.id, *text)};
  if (garuda::is_text(type.id)) return {false, 0, 0, *text};
  Int128 value = 0;
  for (char const digit : *text)
    if (digit != '-') value = 10 * value + (digit - '0');
  return {false, text->front() == '-' ? -value : value, 0};
}

Cell text_of_cell(DataType const& type, expr::Cell const& cell) {
  if (cell.is_lost) throw expr::Failure{};
  if (cell.is_null) return std::nullopt;
  if (type.id == TypeId::boolean) return cell.integer != 0 ? "true" : "false";
  if (garuda::is_text(type.id)) return cell.text;
  if (!is_float(type.id)) return expr::decimal_digits(cell.integer, 0);
  bool const is_single = type.id == TypeId::float32;
  if (std::isnan(cell.real)) return canonical(type, is_single ? "7fc00000" : "7ff8000000000000");
  if (is_single) return hexadecimal(std::bit_cast<std::uint32_t>(static_cast<float>(cell.real)), 8);
  return hexadecimal(std::bit_cast<std::uint64_t>(cell.real), 16);
}

/// Negative, 0 or positive; a null is behind all values.
int order_with_nulls(DataType const& type, expr::Cell const& a, expr::Cell const& b) {
  if (a.is_null || b.is_null) return (a.is_null ? 1 : 0) - (b.is_null ? 1 : 0);
  return expr::order_of(type, a, type, b);
}

/// The type of an aggregate, as docs/using/group-bys.md has it.
DataType aggregate_type(AggregateCall const& aggregate, Schema const& arguments) {
  using F = AggregateFunction;
  if (aggregate.function == F::count) return {TypeId::int64};
  auto const& type = arguments.at(0).type;
  auto const& row = type_row(type.id);
  switch (aggregate.function) {
    case F::min:
    case F::max:
      return type;
    case F::bool_and:
    case F::bool_or:
      return {TypeId::boolean};
    case F::sum:
      if (row.family == TypeFamily::decimal) return typed(TypeId::decimal128, 38, type.scale);
      if (row.family == TypeFamily::integer) return {row.is_signed ? TypeId::int64 : TypeId::uint64};
      return {TypeId::float64};
    default:
      return {TypeId::float64};
  }
}

class Runner {
 public:
  Runner(Failures failures, bool has_rows) : failures_(failures), has_rows_(has_rows) {}

  Relation run(Query const& query) {
    std::vector<Relation> inputs;
    for (auto const& input : query.node().inputs) inputs.push_back(run(input));
    auto result = std::visit([&](auto const& operation) { return run(operation, inputs); }, query.node().operation);
    if (!has_rows_) result.rows.clear();  // a group-by without keys has one, whatever feeds it
    return result;
  }

 private:
  Relation run(Query::Scan const& scan, std::vector<Relation>&) {
    Relation result;
    for (auto const& field : scan.table.schema()) result.schema.push_back({field.name, plain_type(field.type), true});
    if (!has_rows_) return result;
    for (auto const& texts : read_table(scan.table).rows) {
      Row row;
      for (std::size_t c = 0; c < texts.size(); ++c) row.push_back(cell_of_text(result.schema[c].type, texts[c]));
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  Relation run(Query::Filter const& filter, std::vector<Relation>& inputs) {
    auto& input = inputs[0];
    auto const predicate = typed_expression(filter.predicate, input.schema);
    if (predicate.type.id != TypeId::boolean) throw std::runtime_error("a predicate is no boolean");
    std::erase_if(input.rows, [&](Row const& row) {
      try {
        return !is_true(predicate, row);
      } catch (expr::Failure const&) {
        if (failures_ != Failures::not_from_filters) throw;
        return true;
      }
    });
    return std::move(input);
  }

  Relation run(Query::Project const& project, std::vector<Relation>& inputs) {
    Relation result;
    result.is_ordered = inputs[0].is_ordered;
    result.rows.resize(inputs[0].rows.size());
    for (auto const& [name, value] : project.columns) {
      auto const expression = typed_expression(value, inputs[0].schema);
      result.schema.push_back({name, expression.type, true});
      for (std::size_t i = 0; i < result.rows.size(); ++i)
        result.rows[i].push_back(value_or_lost(expression, inputs[0].rows[i]));
    }
    return result;
  }

  Relation run(Query::Join const& join, std::vector<Relation>& inputs);
  Relation run(Query::GroupBy const& group_by, std::vector<Relation>& inputs);

  Relation run(Query::Sort const& sort, std::vector<Relation>& inputs) {
    auto& input = inputs[0];
    std::vector<Expression> keys;
    for (auto const& key : sort.keys) keys.push_back(typed_expression(key.value, input.schema));
    std::vector<std::pair<Row, Row>> rows;  // keys, then the row
    for (auto& row : input.rows) {
      Row values;
      for (auto const& key : keys) values.push_back(Interpreter(row).value(key));
      read(row);
      rows.emplace_back(std::move(values), std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [&](auto const& a, auto const& b) {
      for (std::size_t k = 0; k < keys.size(); ++k) {
        auto const& first = a.first[k];
        auto const& second = b.first[k];
        if (first.is_null != second.is_null) return first.is_null == sort.keys[k].nulls_first;
        auto const order = order_with_nulls(keys[k].type, first, second);
        if (order != 0) return (order < 0) != sort.keys[k].descending;
      }
      for (std::size_t c = 0; c < input.schema.size(); ++c)
        if (auto const order = order_with_nulls(input.schema[c].type, a.second[c], b.second[c]); order != 0)
          return order < 0;
      return false;
    });
    for (std::size_t i = 0; i < rows.size(); ++i) input.rows[i] = std::move(rows[i].second);
    input.is_ordered = true;
    return std::move(input);
  }

  /// Numbers that cannot be found are lost: a query that does not read them does not fail.
  Relation run(Query::NumberRows const& number, std::vector<Relation>& inputs) {
    auto rest = inputs;
    try {
      return numbered(number, inputs);
    } catch (expr::Failure const&) {
      if (failures_ == Failures::at_once) throw;
    }
    for (auto& row : rest[0].rows) {
      row.emplace_back();
      row.back().is_lost = true;
    }
    rest[0].schema.push_back({number.name, {TypeId::int64}, true});
    return std::move(rest[0]);
  }

  Relation numbered(Query::NumberRows const& number, std::vector<Relation>& inputs) {
    Query::Sort by;
    std::vector<Expression> partition;
    for (auto const& value : number.partition) {
      by.keys.push_back({value});
      partition.push_back(typed_expression(value, inputs[0].schema));
    }
    by.keys.insert(by.keys.end(), number.keys.begin(), number.keys.end());
    auto result = run(by, inputs);
    result.is_ordered = false;
    std::vector<Row> before;  // values of the partition of the row before
    expr::Cell cell;
    for (auto& row : result.rows) {
      Row values;
      for (auto const& expression : partition) values.push_back(Interpreter(row).value(expression));
      bool is_same = !before.empty();
      for (std::size_t p = 0; is_same && p < partition.size(); ++p)
        is_same = order_with_nulls(partition[p].type, before[0][p], values[p]) == 0;
      cell.integer = is_same ? cell.integer + 1 : 1;
      row.push_back(cell);
      before.assign(1, std::move(values));
    }
    result.schema.push_back({number.name, {TypeId::int64}, true});
    return result;
  }

  Relation run(Query::Limit const& limit, std::vector<Relation>& inputs) {
    auto& rows = inputs[0].rows;
    auto const begin = std::min<std::uint64_t>(limit.offset, rows.size());
    auto const count = std::min<std::uint64_t>(limit.rows.value_or(rows.size()), rows.size() - begin);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(begin));
    rows.resize(count);
    return std::move(inputs[0]);
  }

  Relation run(Query::Distinct const&, std::vector<Relation>& inputs) {
    Query::GroupBy all;
    for (std::size_t c = 0; c < inputs[0].schema.size(); ++c) all.keys.push_back({inputs[0].schema[c].name, column(c)});
    return run(all, inputs);
  }

  Relation run(Query::UnionAll const&, std::vector<Relation>& inputs) {
    Relation result{inputs[0].schema, {}, false};
    for (auto& input : inputs) {
      for (std::size_t c = 0; c < result.schema.size(); ++c)
        if (!(input.schema.at(c).type == result.schema[c].type)) throw std::runtime_error("a union has other types");
      std::ranges::move(input.rows, std::back_inserter(result.rows));
    }
    return result;
  }

  /// A part of a condition may be computed for every row of its side, whether the other side has rows or not.
  static void test_without_pairs(Expression const& where, std::vector<Relation> const& inputs) {
    if (inputs[0].rows.empty() == inputs[1].rows.empty()) return;
    Row pair(inputs[0].schema.size() + inputs[1].schema.size(), expr::Cell{true, 0, 0});
    auto const first = inputs[0].rows.empty() ? inputs[0].schema.size() : 0;
    for (auto const& row : inputs[0].rows.empty() ? inputs[1].rows : inputs[0].rows) {
      std::ranges::copy(row, pair.begin() + static_cast<std::ptrdiff_t>(first));
      is_true(where, pair);
    }
  }

  /// Where null is as good as false, as in filters and conditions, it ends an `and` as well.
  static bool is_true(Expression const& predicate, Row const& row) {
    bool const is_call = predicate.form == Expression::Form::call;
    if (is_call && predicate.function == expr::Function::all)
      return std::ranges::all_of(predicate.arguments, [&](auto const& part) { return is_true(part, row); });
    if (is_call && predicate.function == expr::Function::any)
      return std::ranges::any_of(predicate.arguments, [&](auto const& part) { return is_true(part, row); });
    auto const cell = Interpreter(row).value(predicate);
    return !cell.is_null && cell.integer != 0;
  }
  /// Whether some part of an `and` is not true, whatever the others are.
  static bool is_left_out(Expression const& predicate, Row const& row) {
    if (predicate.form == Expression::Form::call && predicate.function == expr::Function::all)
      return std::ranges::any_of(predicate.arguments, [&](auto const& part) { return is_left_out(part, row); });
    try {
      return !is_true(predicate, row);
    } catch (expr::Failure const&) {
      return false;
    }
  }
  /// The parts of a condition may be asked in another order: equal values of both sides come first.
  bool are_match(Expression const& where, Row const& pair) const {
    try {
      return is_true(where, pair);
    } catch (expr::Failure const&) {
      if (failures_ != Failures::not_from_filters || !is_left_out(where, pair)) throw;
      return false;
    }
  }
  expr::Cell value_or_lost(Expression const& expression, Row const& row) const {
    if (failures_ == Failures::at_once) return Interpreter(row).value(expression);
    bool const is_column = expression.form == Expression::Form::column;
    if (is_column) return row[expression.column];
    try {
      return Interpreter(row).value(expression);
    } catch (expr::Failure const&) {
      expr::Cell cell;
      cell.is_lost = true;
      return cell;
    }
  }
  static void read(Row const& row) {
    if (std::ranges::any_of(row, &expr::Cell::is_lost)) throw expr::Failure{};
  }

  Failures failures_;
  bool has_rows_;
};

/// One side of a join: its keys row by row, and which rows have a match.
struct JoinSide {
  std::vector<Expression> keys;
  std::vector<Row> values;
  std::vector<bool> has_match;

  /// `value_of`: of a key in a row.
  template <class ValueOf>
  void evaluate(Relation const& input, ValueOf const& value_of) {
    for (auto const& row : input.rows) {
      auto& of_row = values.emplace_back();
      for (auto const& key : keys) of_row.push_back(value_of(key, row));
    }
    has_match.resize(input.rows.size());
  }
};

void add_keys(JoinClause const& clause, Schema const& left, Schema const& right, JoinSide (&sides)[2]) {
  for (auto const& [left_key, right_key] : clause.on) {
    Expression const keys[] = {typed_expression(left_key, left), typed_expression(right_key, right)};
    auto const common = wider_type(keys[0].type, keys[1].type);
    for (std::size_t s = 0; s < 2; ++s)
      sides[s].keys.push_back(keys[s].type == common ? keys[s] : testing::value_of(expr::cast(keys[s], common)));
  }
}

/// Keys that are lost are needed where all others are equal.
bool are_equal_keys(JoinSide const& left, std::size_t l, JoinSide const& right, std::size_t r, bool nulls_equal) {
  bool is_lost = false;
  for (std::size_t k = 0; k < left.keys.size(); ++k) {
    auto const& a = left.values[l][k];
    auto const& b = right.values[r][k];
    is_lost = is_lost || a.is_lost || b.is_lost;
    if (a.is_lost || b.is_lost) continue;
    if ((a.is_null || b.is_null) && !nulls_equal) return false;
    if (order_with_nulls(left.keys[k].type, a, b) != 0) return false;
  }
  if (is_lost) throw expr::Failure{};
  return true;
}

bool gives_pairs(JoinKind kind) {
  return kind == JoinKind::inner || kind == JoinKind::left || kind == JoinKind::right || kind == JoinKind::full;
}

/// Adds the rows of both sides that are no pairs.
void add_single_rows(JoinKind kind, Relation const& left, Relation const& right, JoinSide const (&sides)[2],
                     Relation& result) {
  auto const width = left.schema.size() + right.schema.size();
  for (std::size_t l = 0; l < left.rows.size(); ++l) {
    auto row = left.rows[l];
    bool const matches = sides[0].has_match[l];
    if (kind == JoinKind::mark) row.push_back({false, matches ? 1 : 0, 0});
    if (gives_pairs(kind)) row.resize(width, expr::Cell{true, 0, 0});
    bool const is_row = kind == JoinKind::mark || (kind == JoinKind::semi && matches) ||
                        (!matches && (kind == JoinKind::anti || kind == JoinKind::left || kind == JoinKind::full));
    if (is_row) result.rows.push_back(std::move(row));
  }
  if (kind != JoinKind::right && kind != JoinKind::full) return;
  for (std::size_t r = 0; r < right.rows.size(); ++r) {
    if (sides[1].has_match[r]) continue;
    Row row(left.schema.size(), expr::Cell{true, 0, 0});
    row.insert(row.end(), right.rows[r].begin(), right.rows[r].end());
    result.rows.push_back(std::move(row));
  }
}

Relation Runner::run(Query::Join const& join, std::vector<Relation>& inputs) {
  auto const& [left, right] = std::tie(inputs[0], inputs[1]);
  auto const& clause = join.clause;
  JoinSide sides[2];
  add_keys(clause, left.schema, right.schema, sides);
  auto const value_of = [this](auto const& key, auto const& row) { return value_or_lost(key, row); };
  sides[0].evaluate(left, value_of);
  sides[1].evaluate(right, value_of);
  auto both = left.schema;
  both.insert(both.end(), right.schema.begin(), right.schema.end());
  std::optional<Expression> where;
  if (clause.where) where = typed_expression(*clause.where, both);
  if (where && where->type.id != TypeId::boolean) throw std::runtime_error("a condition is no boolean");
  if (left.rows.size() * right.rows.size() > kMostPairs) throw TooLarge("a join has too many pairs");
  Relation result;
  result.schema = gives_pairs(clause.kind) ? both : left.schema;
  if (clause.kind == JoinKind::mark) result.schema.push_back({"mark", DataType{TypeId::boolean}, false});
  for (std::size_t l = 0; l < left.rows.size(); ++l)
    for (std::size_t r = 0; r < right.rows.size(); ++r) {
      if (!are_equal_keys(sides[0], l, sides[1], r, clause.nulls_equal)) continue;
      auto pair = left.rows[l];
      pair.insert(pair.end(), right.rows[r].begin(), right.rows[r].end());
      if (where && !are_match(*where, pair)) continue;
      sides[0].has_match[l] = true;
      sides[1].has_match[r] = true;
      if (gives_pairs(clause.kind)) result.rows.push_back(std::move(pair));
      if (result.rows.size() > kMostRows) throw TooLarge("a join has too many rows");
    }
  if (where && failures_ == Failures::at_once) test_without_pairs(*where, inputs);
  add_single_rows(clause.kind, left, right, sides, result);
  return result;
}

/// Columns that a group-by reads, as the oracle of group-bys takes them.
struct ReadColumns {
  Schema schema;
  TextTable cells;

  /// Adds the values of an expression for every row, null where `where` is not true.
  void add(std::string name, Expression const& expression, std::vector<Row> const& rows,
           std::optional<Expression> const& where) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const taken = where ? Interpreter(rows[i]).value(*where) : expr::Cell{false, 1, 0};
      bool const is_taken = !taken.is_null && taken.integer != 0;
      cells.rows[i].push_back(is_taken ? text_of_cell(expression.type, Interpreter(rows[i]).value(expression))
                                       : std::nullopt);
    }
    schema.push_back({std::move(name), expression.type, true});
  }
};

/// One aggregate of every group, behind the groups' keys.
TextTable aggregated(AggregateCall const& call, ReadColumns columns, GroupBySpec spec, Relation const& input,
                     std::vector<Expression> const& arguments) {
  std::optional<Expression> where;
  if (call.where) where = typed_expression(*call.where, input.schema);
  Aggregate aggregate{call.function, std::nullopt, "value"};
  aggregate.quantile = call.quantile;
  if (call.distinct) aggregate.function = AggregateFunction::count_distinct;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    auto const name = "a" + std::to_string(a);
    (a == 0 ? aggregate.column : aggregate.second) = name;
    columns.add(name, arguments[a], input.rows, where);
  }
  spec.aggregates.push_back(std::move(aggregate));
  try {
    return reference_group_by(columns.schema, columns.cells, spec);
  } catch (SumOverflow const&) {
    throw expr::Failure{};
  }
}

Relation Runner::run(Query::GroupBy const& group_by, std::vector<Relation>& inputs) {
  auto& input = inputs[0];
  // Below a join, rows are left out whose groups it would not match, before what they lack is computed.
  if (failures_ == Failures::not_from_filters)
    std::erase_if(input.rows, [&](Row const& row) {
      return std::ranges::any_of(group_by.keys, [&](auto const& key) {
        return value_or_lost(typed_expression(key.value, input.schema), row).is_lost;
      });
    });
  Relation result;
  GroupBySpec spec;
  ReadColumns keys;
  keys.cells.rows.resize(input.rows.size());
  for (auto const& [name, value] : group_by.keys) {
    auto const key = typed_expression(value, input.schema);
    spec.keys.push_back("k" + std::to_string(spec.keys.size()));
    keys.add(spec.keys.back(), key, input.rows, std::nullopt);
    result.schema.push_back({name, key.type, true});
  }
  auto const groups = reference_group_by(keys.schema, keys.cells, spec);
  for (auto const& texts : groups.rows) {
    auto& row = result.rows.emplace_back();
    for (std::size_t k = 0; k < texts.size(); ++k) row.push_back(cell_of_text(result.schema[k].type, texts[k]));
  }
  for (auto const& call : group_by.aggregates) {
    std::vector<Expression> arguments;
    for (auto const& value : call.arguments) arguments.push_back(typed_expression(value, input.schema));
    if (arguments.empty() && call.where) arguments.push_back(typed_expression(literal(true), input.schema));
    Schema types;
    for (auto const& argument : arguments) types.push_back({"", argument.type, true});
    result.schema.push_back({call.name, aggregate_type(call, types), true});
    try {
      auto const with_value = aggregated(call, keys, spec, input, arguments);
      for (std::size_t g = 0; g < result.rows.size(); ++g)
        result.rows[g].push_back(cell_of_text(result.schema.back().type, with_value.rows[g].back()));
    } catch (expr::Failure const&) {
      if (failures_ == Failures::at_once) throw;
      expr::Cell cell;
      cell.is_lost = true;
      for (auto& row : result.rows) row.push_back(cell);
    }
  }
  return result;
}

}  // namespace

Relation run_reference(Query const& query, Failures failures) { return Runner(failures, true).run(query); }

Schema schema_of(Query const& query) { return Runner(Failures::when_read, false).run(query).schema; }

Cell with_one_nan(DataType const& type, Cell cell) {
  if (!cell || !is_float(type.id) || !std::isnan(float_of(type.id, *cell))) return cell;
  return canonical(type, *cell);
}

std::vector<std::vector<Cell>> texts_of(Relation const& relation) {
  std::vector<std::vector<Cell>> rows;
  for (auto const& row : relation.rows) {
    auto& texts = rows.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) texts.push_back(text_of_cell(relation.schema[c].type, row[c]));
  }
  return rows;
}

}  // namespace garuda::reference
