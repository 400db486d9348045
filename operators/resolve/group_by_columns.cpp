#include "operators/resolve/group_by_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/escaped_text.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda {
namespace {

constexpr std::array<std::pair<AggregateFunction, std::string_view>, 5> kFunctionNames{
    {{AggregateFunction::count, "count"},
     {AggregateFunction::sum, "sum"},
     {AggregateFunction::min, "min"},
     {AggregateFunction::max, "max"},
     {AggregateFunction::mean, "mean"}}};

Result<Aggregate> parse_aggregate(std::string_view text) {
  Aggregate aggregate;
  auto const equals = find_unescaped(text, '=');
  if (equals != std::string_view::npos) {
    GARUDA_TRY_ASSIGN(aggregate.name, unescape(text.substr(equals + 1)));
    if (aggregate.name->empty()) return fail(ErrorCode::usage, fmt::format("aggregate has an empty name: {}", text));
  }
  auto const call = text.substr(0, equals);
  auto const colon = call.find(':');
  if (colon != std::string_view::npos) {
    GARUDA_TRY_ASSIGN(aggregate.column, unescape(call.substr(colon + 1)));
    if (aggregate.column->empty())
      return fail(ErrorCode::usage, fmt::format("aggregate has an empty column: {}", text));
  }
  auto const function = call.substr(0, colon);
  auto const* const found = std::find_if(kFunctionNames.begin(), kFunctionNames.end(),
                                         [&](auto const& entry) { return entry.second == function; });
  if (found == kFunctionNames.end())
    return fail(ErrorCode::usage, fmt::format("aggregate must be one of count, sum, min, max, mean: '{}'", function));
  aggregate.function = found->first;
  return aggregate;
}

}  // namespace

std::string_view to_string(AggregateFunction function) noexcept {
  for (auto const& [value, name] : kFunctionNames)
    if (value == function) return name;
  return "unknown";
}

Result<std::vector<Aggregate>> parse_aggregates(std::string_view text) {
  std::vector<Aggregate> aggregates;
  if (text.empty()) return aggregates;
  for (auto const part : split_unescaped(text, ',')) {
    GARUDA_TRY_ASSIGN(auto aggregate, parse_aggregate(part));
    aggregates.push_back(std::move(aggregate));
  }
  return aggregates;
}

}  // namespace garuda

namespace garuda::resolve {
namespace {

std::string default_name(Aggregate const& aggregate) {
  if (!aggregate.column) return std::string(to_string(aggregate.function));
  return fmt::format("{}_{}", to_string(aggregate.function), *aggregate.column);
}

/// Adds `states` to those of `column`, and returns the position of its state column.
std::size_t add_states(ResolvedGroupBy& resolved, std::optional<std::size_t> column, contract::StateSet states) {
  auto found = std::find_if(resolved.states.begin(), resolved.states.end(),
                            [&](StateColumn const& state) { return state.column == column; });
  if (found == resolved.states.end()) found = resolved.states.insert(found, StateColumn{column});
  found->states |= states;
  return static_cast<std::size_t>(found - resolved.states.begin());
}

Result<ResolvedAggregate> resolve_aggregate(TableView table, Aggregate const& aggregate, ResolvedGroupBy& resolved) {
  ResolvedAggregate result;
  result.name = aggregate.name.value_or(default_name(aggregate));
  std::optional<std::size_t> column;
  auto value_class = ValueClass::none;
  if (aggregate.column) {
    GARUDA_TRY_ASSIGN(column, find_column(table.schema(), *aggregate.column));
    result.input = table.schema()[*column].type;
    value_class = value_source(result.input).value_class;
  } else if (aggregate.function != AggregateFunction::count) {
    return fail(ErrorCode::usage, fmt::format("aggregate needs a column: {}", to_string(aggregate.function)));
  }
  result.row = find_aggregate(aggregate.function, value_class);
  if (result.row == nullptr || result.input.id == TypeId::nested)
    return fail(ErrorCode::invalid_input,
                fmt::format("{} is not defined for column '{}' of type {}", to_string(aggregate.function),
                            *aggregate.column, to_string(result.input)));
  result.result = result.row->result_type(result.input);
  result.state = add_states(resolved, column, result.row->states);
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

Result<ResolvedGroupBy> resolve_group_by(TableView table, GroupBySpec const& spec) {
  if (spec.keys.empty() && spec.aggregates.empty())
    return fail(ErrorCode::usage, "a group-by needs keys or aggregates");
  ResolvedGroupBy resolved;
  for (auto const& name : spec.keys) {
    GARUDA_TRY_ASSIGN(auto const key, find_column(table.schema(), name));
    if (auto const& type = table.schema()[key].type; type.id == TypeId::nested)
      return fail(ErrorCode::invalid_input,
                  fmt::format("column '{}' of a nested type cannot be a key: {}", name, to_string(type)));
    resolved.keys.push_back(key);
  }
  for (auto const& aggregate : spec.aggregates) {
    GARUDA_TRY_ASSIGN(auto result, resolve_aggregate(table, aggregate, resolved));
    resolved.aggregates.push_back(std::move(result));
  }
  for (auto& state : resolved.states) {
    if (!state.column) continue;
    if (state.states != contract::kCountState) state.kind = value_source(table.schema()[*state.column].type).kind;
    if (materialize::has_nulls(table, *state.column)) state.states |= contract::kCountState;
  }
  GARUDA_TRY(check_names(table, resolved));
  return resolved;
}

}  // namespace garuda::resolve
