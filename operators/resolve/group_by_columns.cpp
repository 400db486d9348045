#include "operators/resolve/group_by_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/nested/nested_layout.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::resolve {
namespace {

/// Most values of a list that are told apart from all others as they come: beyond, all are kept.
constexpr std::uint64_t kMostBounded = 16;

/// Where the values of an aggregate's states come from.
StateColumn state_of(TableView table, ResolvedAggregate const& aggregate) {
  StateColumn state{aggregate.column};
  state.states = aggregate.row->states;
  if (aggregate.as_state) state.states |= contract::kCountState;
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  switch (aggregate.row->making) {
    case Making::column:
    case Making::moments:
      break;
    case Making::list:
      state.form = ValueForm::listed;
      state.kind = value_source(aggregate.input).kind;
      if (aggregate.row->gives_lists() && aggregate.most <= kMostBounded)
        state.list = {static_cast<std::uint32_t>(aggregate.most), aggregate.row->function == AggregateFunction::min_n};
      break;
    case Making::row:
      state.form = ValueForm::row;
      state.kind = rows >> 32 == 0 ? contract::ValueKind::uint32 : contract::ValueKind::uint64;
      break;
    case Making::ranked:
      state.form = ValueForm::ranked;
      state.second = aggregate.second;
      state.kind = contract::ValueKind::int128;
      break;
  }
  return state;
}

/// Whether rows say that they are null: not those of unions, and of run-ends only their values.
Result<bool> knows_nulls(DataType const& type) {
  if (type.id != TypeId::nested) return true;
  GARUDA_TRY_ASSIGN(auto const node, parse_node(*type.nested));
  return node.has_validity();
}

/// Errors: invalid_input, naming the column and its type.
Result<void> check_second(TableView table, ResolvedAggregate const& aggregate) {
  if (!aggregate.second) return {};
  auto const& field = table.schema()[*aggregate.second];
  auto const value_class = value_source(field.type).value_class;
  bool const fits = aggregate.row->making == Making::moments ? (aggregate.row->classes & class_bit(value_class)) != 0
                                                             : value_class != ValueClass::none;
  if (fits) return {};
  return fail(ErrorCode::invalid_input,
              fmt::format("{} is not defined for a second column '{}' of type {}", to_string(aggregate.row->function),
                          field.name, to_string(field.type)));
}

Result<ResolvedAggregate> resolve_aggregate(TableView table, Aggregate const& aggregate, ResolvedGroupBy& resolved) {
  ResolvedAggregate result;
  result.name = aggregate.name.value_or(default_name(aggregate));
  result.quantile = aggregate.function == AggregateFunction::median ? 0.5 : aggregate.quantile;
  result.most = aggregate.most;
  auto value_class = ValueClass::none;
  if (aggregate.column) {
    GARUDA_TRY_ASSIGN(result.column, find_column(table.schema(), *aggregate.column));
    result.input = table.schema()[*result.column].type;
    value_class = value_source(result.input).value_class;
  } else if (aggregate.function != AggregateFunction::count) {
    return fail(ErrorCode::usage, fmt::format("aggregate needs a column: {}", to_string(aggregate.function)));
  }
  GARUDA_TRY(check_parameter(aggregate));
  if (aggregate.second) {
    GARUDA_TRY_ASSIGN(result.second, find_column(table.schema(), *aggregate.second));
  }
  result.row = find_aggregate(aggregate.function, value_class);
  GARUDA_TRY_ASSIGN(bool const has_nulls, knows_nulls(result.input));
  if (result.row == nullptr || !has_nulls)
    return fail(ErrorCode::invalid_input,
                fmt::format("{} is not defined for column '{}' of type {}", to_string(aggregate.function),
                            *aggregate.column, to_string(result.input)));
  GARUDA_TRY(check_second(table, result));
  result.result = result.row->result_type(result.input);
  result.as_state = aggregate.as_state;
  if (result.as_state && !has_exact_state(*result.row))
    return fail(ErrorCode::usage, fmt::format("there is no exact state of {}", to_string(aggregate.function)));
  if (result.as_state) result.result = DataType{TypeId::large_binary};
  if (result.row->making != Making::moments) result.state = add_states(resolved, state_of(table, result));
  return result;
}

Result<void> check_names(TableView table, ResolvedGroupBy const& resolved) {
  std::unordered_set<std::string> names;
  auto const add = [&](std::string const& name) -> Result<void> {
    if (names.insert(name).second) return {};
    return fail(ErrorCode::usage, fmt::format("two columns of the result have one name: '{}'", name));
  };
  for (auto const key : resolved.keys) GARUDA_TRY(add(table.schema()[key].name));
  for (auto const& aggregate : resolved.aggregates) GARUDA_TRY(add(aggregate.name));
  return {};
}

}  // namespace

std::size_t add_states(ResolvedGroupBy& resolved, StateColumn const& wanted) {
  // States that need rows in another order do not share a column: greatest ranks count rows backwards.
  bool const is_ranked = wanted.form == ValueForm::ranked;
  auto found = std::ranges::find_if(resolved.states, [&](StateColumn const& state) {
    return state.column == wanted.column && state.form == wanted.form && state.second == wanted.second &&
           state.part == wanted.part && state.packed == wanted.packed && state.list == wanted.list &&
           (!is_ranked || state.states == wanted.states);
  });
  if (found == resolved.states.end()) found = resolved.states.insert(found, wanted);
  found->states |= wanted.states;
  return static_cast<std::size_t>(found - resolved.states.begin());
}

void ResolvedGroupBy::name_in_errors(std::span<std::string const> names) {
  GARUDA_EXPECTS(names.size() == keys.size() + aggregates.size());
  key_names.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(keys.size()));
  for (std::size_t a = 0; a < aggregates.size(); ++a) aggregates[a].name = names[keys.size() + a];
}

Result<ResolvedGroupBy> resolve_group_by(TableView table, GroupBySpec const& spec) {
  if (spec.keys.empty() && spec.aggregates.empty())
    return fail(ErrorCode::usage, "a group-by needs keys or aggregates");
  ResolvedGroupBy resolved;
  resolved.strings = spec.strings;
  for (auto const& name : spec.keys) {
    GARUDA_TRY_ASSIGN(auto const key, find_column(table.schema(), name));
    if (auto const& type = table.schema()[key].type; type.id == TypeId::nested)
      return fail(ErrorCode::invalid_input,
                  fmt::format("column '{}' cannot be a key, which has any type but nested ones and null: {}", name,
                              to_string(type)));
    resolved.keys.push_back(key);
  }
  for (auto const& aggregate : spec.aggregates) {
    GARUDA_TRY_ASSIGN(auto result, resolve_aggregate(table, aggregate, resolved));
    resolved.aggregates.push_back(std::move(result));
  }
  for (auto& state : resolved.states) {
    if (!state.column) continue;
    if (state.form == ValueForm::plain && state.states != contract::kCountState)
      state.kind = value_source(table.schema()[*state.column].type).kind;
    if (materialize::has_nulls(table, *state.column) || (state.second && materialize::has_nulls(table, *state.second)))
      state.states |= contract::kCountState;
  }
  GARUDA_TRY(check_names(table, resolved));
  return resolved;
}

}  // namespace garuda::resolve
