#include "operators/query/bind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/type_rows.hpp"
#include "expr/program.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/query/bind_expression.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::query {
namespace {

Result<Bound> bind_filter(Query::Filter const& filter, Bound input) {
  GARUDA_TRY_ASSIGN(auto predicate, bind_expression(filter.predicate, input.schema));
  if (predicate.type.id != TypeId::boolean)
    return fail(ErrorCode::usage, fmt::format("a filter's predicate is a boolean, not {}: {}",
                                              to_string(predicate.type), to_string(filter.predicate)));
  auto schema = input.schema;
  return with_input(BoundFilter{std::move(predicate)}, std::move(input), std::move(schema));
}

Result<Bound> bind_project(Query::Project const& project, Bound input) {
  if (project.columns.empty()) return fail(ErrorCode::usage, "a projection has no columns");
  BoundProject bound;
  Schema schema;
  for (auto const& [name, value] : project.columns) {
    GARUDA_TRY_ASSIGN(auto column, bind_column(value, input.schema));
    schema.push_back(field_of(column, input.schema, name));
    bound.columns.push_back(std::move(column));
  }
  return with_input(std::move(bound), std::move(input), std::move(schema));
}

/// The argument of an aggregate, null where `where` is not true.
ScalarExpression filtered(ScalarExpression value, std::optional<ScalarExpression> const& where) {
  if (!where) return value;
  return call("if", {*where, std::move(value), literal(Literal{{TypeId::boolean}, {}})});
}

/// The column that an aggregate may read in place of `column`, which casts narrow integers to the type that SQL sums or
/// averages: exact sums, rounded once, are those of the integers themselves.
ProjectedColumn without_widening(ProjectedColumn column, AggregateFunction function, Schema const& input) {
  auto const* const cast = std::get_if<expr::Expression>(&column);
  bool const is_cast =
      cast != nullptr && cast->form == expr::Expression::Form::call && cast->function == expr::Function::cast;
  if (!is_cast) return column;
  auto const& value = cast->arguments[0];
  auto const& from = type_row(value.type.id);
  bool const is_narrow = from.family == TypeFamily::integer && from.width < 8;
  bool const is_averaged = function == AggregateFunction::mean && cast->type.id == TypeId::float64;
  bool const is_summed = function == AggregateFunction::sum && cast->type.id == TypeId::int64 && from.is_signed;
  if (!is_narrow || (!is_averaged && !is_summed)) return column;
  if (value.form != expr::Expression::Form::column) return expr::Expression(value);
  // The input may have a dictionary where the expression has its values.
  return input[value.column].type == value.type ? ProjectedColumn(value.column) : std::move(column);
}

/// Binds the columns that aggregates read, behind the keys of `columns`.
class AggregateColumns {
 public:
  AggregateColumns(BoundProject& columns, Schema& schema, Schema const& input)
      : columns_(columns), schema_(schema), input_(input) {}

  /// Name of a column with what an aggregate makes of the values of an expression.
  Result<std::string> add(ScalarExpression const& value, AggregateFunction function) {
    GARUDA_TRY_ASSIGN(auto column, bind_column(value, input_));
    column = without_widening(std::move(column), function, input_);
    auto name = column_name(schema_.size());
    schema_.push_back(field_of(column, input_, name));
    columns_.columns.push_back(std::move(column));
    return name;
  }

 private:
  BoundProject& columns_;
  Schema& schema_;
  Schema const& input_;
};

Result<Aggregate> bind_aggregate(AggregateCall const& aggregate, AggregateColumns& columns) {
  Aggregate bound;
  bound.function = aggregate.function;
  bound.name = aggregate.name;
  bound.quantile = aggregate.quantile;
  bound.most = aggregate.most;
  if (aggregate.distinct && aggregate.function != AggregateFunction::count)
    return fail(ErrorCode::usage, fmt::format("'{}' does not take distinct values", to_string(aggregate.function)));
  if (aggregate.distinct) bound.function = AggregateFunction::count_distinct;
  auto arguments = aggregate.arguments;
  if (arguments.empty() && aggregate.where) arguments.push_back(literal(true));
  if (arguments.size() > 2)
    return fail(ErrorCode::usage,
                fmt::format("'{}' takes two arguments at most: {}", to_string(aggregate.function), arguments.size()));
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    GARUDA_TRY_ASSIGN((a == 0 ? bound.column : bound.second),
                      columns.add(filtered(arguments[a], aggregate.where), bound.function));
  }
  return bound;
}

/// A column of which rows are counted where nothing of them is read: the narrowest, or a constant where all are wide.
Result<ProjectedColumn> counted_column(Schema const& schema) {
  constexpr std::int32_t kMostBytes = 4;
  auto const width = [](Field const& field) {
    auto const bytes = byte_width(field.type);
    return bytes > 0 ? bytes : kMostBytes + 1;
  };
  auto const narrowest = std::ranges::min_element(schema, {}, width);
  if (width(*narrowest) <= kMostBytes) return ProjectedColumn(static_cast<std::size_t>(narrowest - schema.begin()));
  return expr::constant(true, {TypeId::boolean});
}

Result<Bound> bind_group_by(Query::GroupBy const& group_by, Bound input) {
  BoundProject columns;
  Schema read;
  GroupBySpec spec;
  for (auto const& [name, value] : group_by.keys) {
    GARUDA_TRY_ASSIGN(auto column, bind_column(value, input.schema));
    spec.keys.push_back(column_name(read.size()));
    read.push_back(field_of(column, input.schema, spec.keys.back()));
    columns.columns.push_back(std::move(column));
  }
  AggregateColumns arguments(columns, read, input.schema);
  for (auto const& aggregate : group_by.aggregates) {
    GARUDA_TRY_ASSIGN(auto bound, bind_aggregate(aggregate, arguments));
    // Two columns of a query may have one name; those of a group-by may not.
    bound.name = column_name(spec.keys.size() + spec.aggregates.size());
    spec.aggregates.push_back(std::move(bound));
  }
  if (columns.columns.empty() && !input.schema.empty()) {
    GARUDA_TRY_ASSIGN(auto column, counted_column(input.schema));
    columns.columns.push_back(std::move(column));
    read.push_back(field_of(columns.columns.back(), input.schema, column_name(0)));
  }
  Table const none(read, {});
  GARUDA_TRY_ASSIGN(auto const resolved, resolve::resolve_group_by(none.view(), spec));
  Schema schema;
  for (std::size_t k = 0; k < group_by.keys.size(); ++k) schema.push_back({group_by.keys[k].name, read[k].type, true});
  for (std::size_t a = 0; a < resolved.aggregates.size(); ++a)
    schema.push_back({group_by.aggregates[a].name, resolved.aggregates[a].result, true});
  auto projected = with_input(std::move(columns), std::move(input), std::move(read));
  return with_input(BoundGroupBy{spec.keys.size(), std::move(spec.aggregates)}, std::move(projected),
                    std::move(schema));
}

/// The columns that break ties, behind those of `columns`.
void add_ties(std::vector<SortColumn>& columns, Schema const& schema) {
  for (std::size_t c = 0; c < schema.size(); ++c)
    if (std::ranges::find(columns, c, &SortColumn::column) == columns.end() && can_be_sorted(schema[c].type))
      columns.push_back({c, false, false});
}

/// Sorts by columns behind those of the input where keys are expressions, and leaves these out again.
Result<Bound> bind_sort(Query::Sort const& sort, Bound input) {
  auto const wanted = input.schema.size();
  auto const schema = input.schema;
  BoundSort bound;
  AddedColumns added(input.schema);
  for (auto const& key : sort.keys) {
    GARUDA_TRY_ASSIGN(auto const column, added.add(key.value));
    bound.columns.push_back({column, key.descending, key.nulls_first});
  }
  add_ties(bound.columns, schema);
  auto sorted = std::move(added).behind(std::move(input));
  auto sorted_schema = sorted.schema;
  auto result = with_input(std::move(bound), std::move(sorted), std::move(sorted_schema));
  if (result.schema.size() == wanted) return result;
  return with_input(first_columns(wanted), std::move(result), schema);
}

/// Numbers rows by columns behind those of the input where keys are expressions, and leaves these out again.
Result<Bound> bind_number(Query::NumberRows const& number, Bound input) {
  auto const wanted = input.schema.size();
  auto schema = input.schema;
  BoundNumber bound;
  AddedColumns added(input.schema);
  for (auto const& value : number.partition) {
    GARUDA_TRY_ASSIGN(auto const column, added.add(value));
    bound.columns.push_back({column, false, false});
  }
  bound.num_partition = bound.columns.size();
  for (auto const& key : number.keys) {
    GARUDA_TRY_ASSIGN(auto const column, added.add(key.value));
    bound.columns.push_back({column, key.descending, key.nulls_first});
  }
  bound.num_keys = bound.columns.size();
  add_ties(bound.columns, schema);
  Field const field{number.name, {TypeId::int64}, false};
  auto below = std::move(added).behind(std::move(input));
  auto numbered_schema = below.schema;
  numbered_schema.push_back(field);
  auto const num_columns = numbered_schema.size();
  auto result = with_input(std::move(bound), std::move(below), std::move(numbered_schema));
  if (num_columns == wanted + 1) return result;
  auto columns = first_columns(wanted);
  columns.columns.emplace_back(num_columns - 1);
  schema.push_back(field);
  return with_input(std::move(columns), std::move(result), std::move(schema));
}

/// A group for each distinct row.
Result<Bound> bind_distinct(Bound input) {
  Query::GroupBy all;
  for (std::size_t c = 0; c < input.schema.size(); ++c) all.keys.push_back({input.schema[c].name, column(c)});
  return bind_group_by(all, std::move(input));
}

/// The input with its columns cast to these types.
Result<Bound> cast_columns(Bound input, std::vector<DataType> const& types) {
  BoundProject columns;
  auto schema = input.schema;
  for (std::size_t c = 0; c < types.size(); ++c) {
    auto& field = schema[c];
    if (field.type == types[c]) {
      columns.columns.emplace_back(c);
      continue;
    }
    GARUDA_TRY_ASSIGN(auto value, bind_expression(column(c), input.schema));
    GARUDA_TRY_ASSIGN(auto wider, expr::cast(std::move(value), types[c]));
    field.type = types[c];
    columns.columns.emplace_back(std::move(wider));
  }
  if (schema == input.schema) return input;
  return with_input(std::move(columns), std::move(input), std::move(schema));
}

Result<Bound> bind_union(std::vector<Bound> inputs) {
  auto schema = inputs.front().schema;
  std::vector<DataType> types;
  for (std::size_t c = 0; c < schema.size(); ++c) {
    std::vector<DataType> of_inputs;
    for (auto const& input : inputs)
      if (c < input.schema.size()) of_inputs.push_back(input.schema[c].type);
    bool const is_one = std::ranges::all_of(of_inputs, [&](auto const& type) { return type == of_inputs.front(); });
    auto const common = is_one ? std::nullopt : keys::common_type_of(of_inputs);
    if (of_inputs.size() < inputs.size() || (!is_one && !common))
      return fail(ErrorCode::invalid_input, "the inputs of a union have columns of different types");
    types.push_back(is_one ? of_inputs.front() : common->result);
    schema[c].type = types.back();
  }
  for (auto& input : inputs) {
    if (input.schema.size() != schema.size())
      return fail(ErrorCode::invalid_input, "the inputs of a union have columns of different types");
    for (std::size_t c = 0; c < schema.size(); ++c) schema[c].nullable |= input.schema[c].nullable;
    GARUDA_TRY_ASSIGN(input, cast_columns(std::move(input), types));
  }
  return Bound{BoundUnion{}, std::move(inputs), std::move(schema)};
}

Result<Bound> bind_operator(Query::Operator const& operation, std::vector<Bound> inputs, ScannedAs scanned) {
  if (auto const* const scan = std::get_if<Query::Scan>(&operation)) {
    bool const as_fields = scanned == ScannedAs::fields && scan->fields != nullptr;
    return Bound{BoundScan{scan->table, scan->files}, {}, as_fields ? *scan->fields : scan->table.schema()};
  }
  if (auto const* const filter = std::get_if<Query::Filter>(&operation))
    return bind_filter(*filter, std::move(inputs[0]));
  if (auto const* const project = std::get_if<Query::Project>(&operation))
    return bind_project(*project, std::move(inputs[0]));
  if (auto const* const join = std::get_if<Query::Join>(&operation))
    return bind_join(join->clause, std::move(inputs[0]), std::move(inputs[1]));
  if (auto const* const group_by = std::get_if<Query::GroupBy>(&operation))
    return bind_group_by(*group_by, std::move(inputs[0]));
  if (auto const* const sort = std::get_if<Query::Sort>(&operation)) return bind_sort(*sort, std::move(inputs[0]));
  if (auto const* const number = std::get_if<Query::NumberRows>(&operation))
    return bind_number(*number, std::move(inputs[0]));
  if (auto const* const limit = std::get_if<Query::Limit>(&operation)) {
    auto schema = inputs[0].schema;
    // A sort need not order what is cut off.
    if (auto* const sort = std::get_if<BoundSort>(&inputs[0].operation); sort != nullptr && limit->rows)
      sort->rows = limit->offset + std::min(*limit->rows, ~std::uint64_t{0} - limit->offset);
    return with_input(BoundLimit{limit->offset, limit->rows}, std::move(inputs[0]), std::move(schema));
  }
  if (std::holds_alternative<Query::Distinct>(operation)) return bind_distinct(std::move(inputs[0]));
  return bind_union(std::move(inputs));
}

}  // namespace

bool BoundProject::only_picks() const noexcept {
  return std::ranges::all_of(columns, [](auto const& column) { return std::holds_alternative<std::size_t>(column); });
}

std::string column_name(std::size_t position) { return "c" + std::to_string(position); }

std::size_t column_position(std::string_view name) { return std::stoul(std::string(name.substr(1))); }

std::vector<std::string> column_names(std::size_t columns) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < columns; ++c) names.push_back(column_name(c));
  return names;
}

Result<Bound> bind(Query const& query, ScannedAs scanned) {
  std::vector<Bound> inputs;
  for (auto const& input : query.node().inputs) {
    GARUDA_TRY_ASSIGN(auto bound, bind(input, scanned));
    inputs.push_back(std::move(bound));
  }
  return bind_operator(query.node().operation, std::move(inputs), scanned);
}

}  // namespace garuda::query
