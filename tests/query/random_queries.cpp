#include "tests/query/random_queries.hpp"

#include <algorithm>
#include <utility>

#include "core/type_rows.hpp"
#include "tests/query/reference_query.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {
namespace {

using reference::schema_of;

constexpr JoinKind kKinds[] = {JoinKind::inner, JoinKind::inner, JoinKind::left, JoinKind::right,
                               JoinKind::full,  JoinKind::semi,  JoinKind::anti, JoinKind::mark};

std::vector<Table> random_tables(Draw& draw) {
  std::vector<Table> tables;
  bool const is_large = draw.one_in(40);
  for (auto const* const name : {"a", "b", "c"}) {
    auto rows = draw.of<std::size_t>({0, 1, 2, 5, 12, 30});
    if (is_large) rows = tables.empty() ? draw.of<std::size_t>({1'023, 1'024, 1'025}) : draw.below(8);
    tables.push_back(random_table(name, rows, draw));
  }
  return tables;
}

bool is_number(DataType const& type) {
  auto const family = type_row(type.id).family;
  return family == TypeFamily::integer || family == TypeFamily::floating || family == TypeFamily::decimal;
}

/// Makes conditions of joins over the columns of both sides, by their positions.
class JoinConditions {
 public:
  JoinConditions(Schema const& left, Schema const& right, RandomExpressions lefts, RandomExpressions rights, Draw& draw)
      : left_(left), right_(right), lefts_(lefts), rights_(rights), draw_(draw) {}

  /// Tests of one side, and comparisons of a value of one side with one of the other.
  ScalarExpression some() {
    if (draw_.one_in(2)) return part();
    return call(draw_.of<char const*>({"and", "or"}), {part(), part()});
  }

 private:
  ScalarExpression part() {
    if (draw_.one_in(4)) return on_side(lefts_.predicate(1), left_, 0);
    if (draw_.one_in(4)) return on_side(rights_.predicate(1), right_, left_.size());
    auto [first, second] = lefts_.keys(rights_, 1);
    auto const* const name =
        draw_.of<char const*>({"equal", "not_equal", "lt", "lte", "gt", "gte", "is_not_distinct_from"});
    auto a = on_side(std::move(first), left_, 0);
    auto b = on_side(std::move(second), right_, left_.size());
    return draw_.one_in(2) ? call(name, {a, b}) : call(name, {b, a});
  }
  static ScalarExpression on_side(ScalarExpression value, Schema const& side, std::size_t first) {
    if (value.form == ScalarExpression::Form::column) {
      auto const found = std::ranges::find(side, value.name, &Field::name);
      return column(first + static_cast<std::size_t>(found - side.begin()));
    }
    if (value.form == ScalarExpression::Form::position) value.position += first;
    for (auto& argument : value.arguments) argument = on_side(std::move(argument), side, first);
    return value;
  }

  Schema const& left_;
  Schema const& right_;
  RandomExpressions lefts_;
  RandomExpressions rights_;
  Draw& draw_;
};

}  // namespace

RandomQuery::RandomQuery(std::uint64_t seed)
    : draw_(seed),
      may_fail_(draw_.one_in(4)),
      has_limits_(draw_.one_in(3)),
      tables_(random_tables(draw_)),
      query_(relation(1 + static_cast<int>(draw_.below(4)))) {}

ScalarExpression RandomQuery::predicate() {
  auto const schema = schema_of(query_);
  return over(schema).predicate(2);
}

Query RandomQuery::rewritten() { return rewrite(query_, draw_); }

Query RandomQuery::scan() { return Query::scan(draw_.of(tables_).view()); }

Query RandomQuery::relation(int depth) {
  if (depth == 0) return scan();
  auto const input = relation(depth - 1);
  auto const schema = schema_of(input);
  switch (draw_.below(10)) {
    case 0:
      return projected(input);
    case 1:
      return input.filter(over(schema).predicate(2));
    case 2:
    case 3:
      return grouped(input);
    case 4:
      return has_limits_ && draw_.one_in(3) ? numbered(input) : sorted(input);
    case 5:
      return united(input);
    case 6:
      return draw_.one_in(2) ? input.distinct() : projected(input).distinct();
    default: {
      auto const right = draw_.one_in(3) ? relation(depth - 1) : scan();
      return joined(input, draw_.one_in(4) ? right.filter(over(schema_of(right)).predicate(1)) : right);
    }
  }
}

Query RandomQuery::projected(Query const& input) {
  auto const schema = schema_of(input);
  auto expressions = over(schema);
  std::vector<NamedExpression> columns;
  for (auto count = 1 + draw_.below(5); count > 0; --count) {
    auto name = draw_.one_in(12) ? std::string("same") : "p" + std::to_string(columns.size());
    columns.push_back({std::move(name), draw_.one_in(3) ? expressions.some_column() : expressions.any(3)});
  }
  return input.project(std::move(columns));
}

Query RandomQuery::joined(Query const& left, Query const& right) {
  auto const left_schema = schema_of(left);
  auto const right_schema = schema_of(right);
  auto lefts = over(left_schema);
  auto rights = over(right_schema);
  JoinClause clause;
  clause.kind = kKinds[draw_.below(std::size(kKinds))];
  clause.nulls_equal = draw_.one_in(4);
  if (!draw_.one_in(4)) clause.on.push_back(lefts.keys(rights, draw_.one_in(3) ? 1 : 0));
  if (draw_.one_in(4)) clause.on.push_back(lefts.keys(rights, 0));
  if (!clause.on.empty() && !draw_.one_in(3)) return left.join(right, std::move(clause));
  if (draw_.one_in(3)) {
    auto both = left_schema;
    both.insert(both.end(), right_schema.begin(), right_schema.end());
    clause.where = over(both).predicate(2);
  } else {
    clause.where = JoinConditions(left_schema, right_schema, lefts, rights, draw_).some();
  }
  return left.join(right, std::move(clause));
}

AggregateCall RandomQuery::aggregate(RandomExpressions& expressions) {
  using F = AggregateFunction;
  AggregateCall made;
  made.function = draw_.of({F::count, F::count, F::sum, F::sum, F::min, F::max, F::mean, F::var_pop, F::std_dev,
                            F::bool_and, F::bool_or, F::median});
  if (draw_.one_in(4)) made.where = expressions.predicate(1);
  if (made.function == F::count) {
    made.distinct = draw_.one_in(2);
    if (made.distinct || draw_.one_in(2)) made.arguments.push_back(expressions.any(1));
    return made;
  }
  auto type = expressions.some_type();
  bool const takes_any = made.function == F::min || made.function == F::max;
  if (made.function == F::bool_and || made.function == F::bool_or)
    type = {TypeId::boolean};
  else if (!takes_any && !is_number(type))
    type = draw_.of({DataType{TypeId::int32}, DataType{TypeId::float64}});
  made.arguments.push_back(expressions.of(type, draw_.one_in(2) ? 2 : 0));
  return made;
}

Query RandomQuery::grouped(Query const& input) {
  auto const schema = schema_of(input);
  auto expressions = over(schema);
  std::vector<NamedExpression> keys;
  for (auto count = draw_.below(4); count > 0; --count)
    keys.push_back(
        {"k" + std::to_string(keys.size()), draw_.one_in(3) ? expressions.any(2) : expressions.some_column()});
  std::vector<AggregateCall> aggregates;
  for (auto count = keys.empty() ? 1 + draw_.below(3) : draw_.below(4); count > 0; --count) {
    aggregates.push_back(aggregate(expressions));
    aggregates.back().name = "g" + std::to_string(aggregates.size());
  }
  return input.group_by(std::move(keys), std::move(aggregates));
}

Query RandomQuery::sorted(Query const& input) {
  auto const schema = schema_of(input);
  auto expressions = over(schema);
  std::vector<SortKey> keys;
  for (auto count = 1 + draw_.below(2); count > 0; --count)
    keys.push_back(
        {draw_.one_in(4) ? expressions.any(2) : expressions.some_column(), draw_.one_in(2), draw_.one_in(2)});
  auto const sorted = input.sort(std::move(keys));
  if (!has_limits_) return sorted;
  if (draw_.one_in(6)) return sorted.limit(std::nullopt, draw_.below(5));
  return sorted.limit(draw_.of<std::uint64_t>({0, 1, 3, 10, 100, ~std::uint64_t{0}}),
                      draw_.one_in(2) ? 0 : draw_.below(8));
}

Query RandomQuery::numbered(Query const& input) {
  auto const schema = schema_of(input);
  auto expressions = over(schema);
  std::vector<ScalarExpression> partition;
  for (auto count = draw_.below(3); count > 0; --count)
    partition.push_back(draw_.one_in(4) ? expressions.any(1) : expressions.some_column());
  std::vector<SortKey> keys;
  for (auto count = draw_.below(3); count > 0; --count)
    keys.push_back({expressions.some_column(), draw_.one_in(2), draw_.one_in(2)});
  return input.number_rows("n", std::move(partition), std::move(keys));
}

Query RandomQuery::united(Query const& input) {
  auto const schema = schema_of(input);
  std::vector<Query> parts{input};
  for (auto count = 1 + draw_.below(2); count > 0; --count)
    parts.push_back(draw_.one_in(3) ? input : input.filter(over(schema).predicate(2)));
  return Query::union_all(std::move(parts));
}

}  // namespace garuda::testing
