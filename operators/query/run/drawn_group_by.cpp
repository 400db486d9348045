#include "operators/query/run/drawn_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "operators/query/run/specifications.hpp"

namespace garuda::query {
namespace {

/// Whether an expression asks for the values of all its parts in every row.
bool asks_for_all(expr::Expression const& expression) {
  using enum expr::Function;
  auto const function = expression.function;
  if (expression.form == expr::Expression::Form::call &&
      (function == select || function == coalesce || function == all || function == any))
    return false;
  return std::ranges::all_of(expression.arguments, asks_for_all);
}

/// Parts of an expression that draws evaluate, at most: what several parts read is put into each of them.
constexpr std::size_t kMostParts = 256;

std::size_t parts_of(expr::Expression const& expression) {
  std::size_t parts = 1;
  for (auto const& argument : expression.arguments) parts += parts_of(argument);
  return parts;
}

/// Puts what a projection has in the place of its columns. Returns whether it computes some of it.
bool place(BoundProject const& project, expr::Expression& expression) {
  bool computes = false;
  if (expression.form == expr::Expression::Form::column) {
    auto const& column = project.columns[expression.column];
    auto const* const picked = std::get_if<std::size_t>(&column);
    if (picked != nullptr)
      expression.column = *picked;
    else
      expression = expr::Expression(std::get<expr::Expression>(column));
    return picked == nullptr;
  }
  for (auto& argument : expression.arguments) computes = place(project, argument) || computes;
  return computes;
}

/// The columns of the group-by's input as the operators below it make them.
struct Inputs {
  std::vector<ProjectedColumn> columns;
  std::optional<expr::Expression> filter;

  /// Has them read the input of a projection. False: they cannot. A projection computes its columns in rows that a
  /// filter above it fails, too, and where an expression above it does not ask for them: these may have no value.
  bool pass(BoundProject const& project) {
    if (filter && !project.only_picks()) return false;
    if (filter) place(project, *filter);
    auto placed = columns;
    bool passes = true;
    for (auto& column : placed) {
      if (auto* const expression = std::get_if<expr::Expression>(&column)) {
        bool const asks = asks_for_all(*expression);
        passes = (!place(project, *expression) || asks) && parts_of(*expression) <= kMostParts && passes;
      } else {
        column = ProjectedColumn(project.columns[std::get<std::size_t>(column)]);
      }
    }
    if (passes) columns = std::move(placed);
    return passes;
  }
};

/// The columns behind those of the source, each once.
class Values {
 public:
  explicit Values(DrawnGroupBy& drawn) : drawn_(drawn), first_(drawn.schema.size()) {}

  std::string name_of(std::string key, expr::Expression value) {
    auto const found = std::ranges::find(keys_, key);
    auto const position = static_cast<std::size_t>(found - keys_.begin());
    auto name = column_name(first_ + position);
    if (found != keys_.end()) return name;
    keys_.push_back(std::move(key));
    drawn_.schema.push_back({name, value.type, true});
    drawn_.values.push_back(std::move(value));
    return name;
  }

 private:
  DrawnGroupBy& drawn_;
  std::size_t first_;
  std::vector<std::string> keys_;
};

/// Has an aggregate read the columns of `drawn`. False: it reads two of which one is computed.
bool place_aggregate(Aggregate& aggregate, Inputs const& inputs, Values& values) {
  auto const place = [&](std::optional<std::string>& name) {
    if (!name) return true;
    auto const& column = inputs.columns[column_position(*name)];
    auto const* const position = std::get_if<std::size_t>(&column);
    if (position != nullptr) name = column_name(*position);
    if (position == nullptr && !aggregate.second) name = values.name_of(*name, std::get<expr::Expression>(column));
    return position != nullptr || !aggregate.second;
  };
  return place(aggregate.column) && place(aggregate.second);
}

/// Why states of evaluated values are not what the path blends; nullptr: they are.
char const* refusal_of(resolve::StateColumn const& state, DataType const& type) {
  if (state.form != resolve::ValueForm::plain || state.second || state.has_lists())
    return "an aggregate of values that draws evaluate is made of others than these";
  bool const is_counted = state.kind == contract::ValueKind::none;
  if (state.kind == contract::ValueKind::bytes ||
      (!is_counted && (byte_width(type) > 16 || type.id == TypeId::float16)))
    return "draws do not evaluate values of this type";
  return nullptr;
}

}  // namespace

std::optional<DrawnGroupBy> drawn_group_by(Bound const& query) {
  auto const& group_by = std::get<BoundGroupBy>(query.operation);
  auto const& schema = query.inputs[0].schema;
  DrawnGroupBy drawn;
  Inputs inputs;
  for (std::size_t c = 0; c < schema.size(); ++c) inputs.columns.emplace_back(c);
  // Columns that are picked below all that is evaluated are picked before rows are drawn.
  auto below = inputs;
  std::vector<Bound const*> passed;
  for (auto const* next = &query.inputs[0];; next = &next->inputs[0]) {
    auto const* const filter = std::get_if<BoundFilter>(&next->operation);
    auto const* const project = std::get_if<BoundProject>(&next->operation);
    if (filter != nullptr && !below.filter)
      below.filter = filter->predicate;
    else if (project == nullptr || !below.pass(*project))
      break;
    passed.push_back(next);
    if (project != nullptr && project->only_picks()) continue;
    inputs = below;
    drawn.drawn = passed;
  }
  drawn.source = drawn.drawn.empty() ? &query.inputs[0] : &drawn.drawn.back()->inputs[0];
  drawn.filter = inputs.filter;
  drawn.schema = drawn.source->schema;
  for (std::size_t c = 0; c < drawn.schema.size(); ++c) drawn.schema[c].name = column_name(c);
  drawn.spec = spec_of(group_by);
  for (std::size_t k = 0; k < group_by.num_keys; ++k) {
    auto const* const position = std::get_if<std::size_t>(&inputs.columns[k]);
    if (position == nullptr) return std::nullopt;
    drawn.spec.keys[k] = column_name(*position);
  }
  Values values(drawn);
  for (std::size_t a = 0; a < drawn.spec.aggregates.size(); ++a) {
    auto& aggregate = drawn.spec.aggregates[a];
    aggregate.name = fmt::format("aggregate {}", a);  // keys have the names of any positions
    if (!place_aggregate(aggregate, inputs, values)) return std::nullopt;
  }
  return drawn.filter || !drawn.values.empty() ? std::optional(std::move(drawn)) : std::nullopt;
}

Result<resolve::ResolvedGroupBy> DrawnGroupBy::resolved(TableView table) const {
  GARUDA_TRY_ASSIGN(auto resolved, resolve::resolve_group_by(table, spec));
  auto const first = schema.size() - values.size();
  bool const may_be_empty = spec.keys.empty() && filter;
  for (auto& state : resolved.states) {
    if (may_be_empty) state.states |= contract::kCountState;
    bool const is_evaluated = state.column && *state.column >= first;
    if (is_evaluated) {
      if (auto const* const reason = refusal_of(state, schema[*state.column].type))
        return fail(ErrorCode::invalid_input, reason);
      state.form = resolve::ValueForm::evaluated;
      state.expression = *state.column - first;
      state.states |= contract::kCountState;  // it may be null
    } else if (state.has_lists() || state.kind == contract::ValueKind::bytes) {
      return fail(ErrorCode::invalid_input,
                  "the host keeps and compares values of rows by their groups, which rows "
                  "that fail a filter have none of");
    }
  }
  for (auto const& aggregate : resolved.aggregates)
    if (aggregate.row->making == resolve::Making::moments || aggregate.as_state)
      return fail(ErrorCode::invalid_input,
                  fmt::format("the host cuts products before rows are filtered: {}", aggregate.name));
  return resolved;
}

TableWithoutValues::TableWithoutValues(TableView table, Schema const& schema) : schema_(&schema) {
  columns_.reserve(table.num_batches());
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& batch = table.batch(b);
    auto& columns = columns_.emplace_back(batch.columns.begin(), batch.columns.end());
    ArrayView none;
    none.length = batch.num_rows;
    none.null_count = 0;
    columns.resize(schema.size(), none);
    batches_.push_back({batch.num_rows, columns, batch.owner});
  }
}

}  // namespace garuda::query
