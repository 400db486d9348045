// Pipelines as they are made: columns become slots, and each step is told what the steps behind it read.
#include "operators/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "core/dictionary.hpp"
#include "expr/dictionary_parts.hpp"
#include "expr/sides.hpp"
#include "expr/vector.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/join/join_build.hpp"
#include "operators/pipeline/probe_step.hpp"

namespace garuda::pipeline {
namespace {

void add_to(std::vector<bool>& set, std::vector<Slot> const& slots) {
  for (auto const slot : slots) set[slot] = true;
}

/// The slots of a set that another one does not have.
std::vector<Slot> without(std::vector<Slot> const& slots, std::vector<bool> const& others) {
  std::vector<Slot> left;
  for (auto const slot : slots)
    if (!others[slot] && std::ranges::find(left, slot) == left.end()) left.push_back(slot);
  return left;
}

}  // namespace

Pipeline::Pipeline(TableView source, PipelineOptions options) : source_(source), options_(std::move(options)) {
  columns_.sources.push_back({source, 0});
  columns_.num_origins = 1;
  for (std::size_t c = 0; c < source.num_columns(); ++c)
    visible_.push_back(columns_.add({std::size_t{0}, c, source.schema()[c]}));
}

TableView Pipeline::keep(Table table) {
  kept_.push_back(std::make_unique<Table>(std::move(table)));
  return kept_.back()->view();
}

expr::Expression Pipeline::over_slots(expr::Expression expression) const {
  put_slots(expression);
  return expression;
}

/// Columns become slots, or the one value that they are.
void Pipeline::put_slots(expr::Expression& expression) const {
  for (auto& argument : expression.arguments) put_slots(argument);
  if (expression.form != expr::Expression::Form::column) return;
  expression.column = visible_[expression.column];
  if (auto const constant = constants_.find(expression.column); constant != constants_.end())
    expression = constant->second;
}

/// The expression, parts of which are evaluated once a dictionary value where it reads the source alone.
Result<expr::Expression> Pipeline::with_dictionary_parts(expr::Expression expression) {
  // Rows of the source in place are all read; of those that steps before leave there may be few.
  constexpr std::int64_t kRowsOfValueInPlace = 2;
  constexpr std::int64_t kRowsOfValue = 16;
  bool is_of_source = true;
  expr::visit_columns(expression, [&](std::size_t slot) { is_of_source &= columns_.slots[slot].source == 0; });
  if (!is_of_source) return expression;
  std::vector<Slot> slots(source_.num_columns());
  expr::visit_columns(expression, [&](std::size_t& slot) {
    auto const column = columns_.slots[slot].column;
    slots[column] = slot;
    slot = column;
  });
  GARUDA_TRY_ASSIGN(auto split, expr::evaluate_dictionaries(source_, std::move(expression),
                                                            is_range_ ? kRowsOfValueInPlace : kRowsOfValue));
  for (auto& part : split.parts) {
    auto const view = keep(std::move(part));
    columns_.sources.push_back({view, 0});
    slots.push_back(columns_.add({columns_.sources.size() - 1, 0, view.schema()[0]}));
  }
  expr::visit_columns(split.expression, [&](std::size_t& column) { column = slots[column]; });
  return std::move(split.expression);
}

Result<void> Pipeline::filter(expr::Expression predicate) {
  GARUDA_TRY_ASSIGN(auto expression, with_dictionary_parts(over_slots(std::move(predicate))));
  GARUDA_TRY_ASSIGN(auto made, Predicate::create(expression));
  steps_.push_back(std::make_unique<FilterStep>(std::move(made)));
  is_range_ = false;
  return {};
}

/// The column of int64 that an expression makes float64s of, and nothing else.
std::optional<Slot> Pipeline::integers_of(expr::Expression const& expression) const {
  if (expression.form != expr::Expression::Form::call || expression.function != expr::Function::cast) return {};
  auto const& value = expression.arguments[0];
  bool const is_column = value.form == expr::Expression::Form::column;
  if (expression.type.id != TypeId::float64 || value.type.id != TypeId::int64 || !is_column) return {};
  // A slot may hold a dictionary where the expression has its values.
  return columns_.slots[value.column].field.type == value.type ? std::optional(value.column) : std::nullopt;
}

Result<void> Pipeline::project(std::span<ProjectedColumn const> columns) {
  std::vector<Slot> visible;
  std::vector<ComputeStep::Computed> computed;
  for (auto const& column : columns) {
    if (auto const* const position = std::get_if<std::size_t>(&column)) {
      visible.push_back(visible_[*position]);
      continue;
    }
    GARUDA_TRY_ASSIGN(auto expression, with_dictionary_parts(over_slots(std::get<expr::Expression>(column))));
    Field const field{{}, expression.type, true};
    auto const integers = integers_of(expression);
    auto const constant =
        expression.form == expr::Expression::Form::constant ? std::optional(expression) : std::nullopt;
    GARUDA_TRY_ASSIGN(auto program, SlotProgram::create(std::move(expression), expr::Nulls::kept));
    visible.push_back(columns_.add({std::nullopt, 0, field}));
    computed.push_back({visible.back(), field, std::move(program)});
    if (constant) constants_.emplace(visible.back(), *constant);
    if (integers) integers_.emplace(visible.back(), *integers);
  }
  visible_ = std::move(visible);
  if (!computed.empty()) steps_.push_back(std::make_unique<ComputeStep>(std::move(computed)));
  return {};
}

/// The part of the limit that other build sides leave; 0: there is no limit. Errors: limit_exceeded where words of so
/// many rows alone do not fit.
Result<std::uint64_t> Pipeline::build_bytes_left(std::uint64_t build_rows) const {
  constexpr std::uint64_t kWordBytes = 8;
  auto const limit = options_.memory_limit_bytes;
  if (limit == 0) return std::uint64_t{0};
  auto const left = limit - std::min(limit, build_bytes_);
  if (left > build_rows * kWordBytes) return left;
  return fail(ErrorCode::limit_exceeded,
              fmt::format("a build side of {} rows needs {} bytes of host memory and more, over what is left of the "
                          "limit: {}",
                          build_rows, build_rows * kWordBytes, left));
}

Result<void> Pipeline::probe(Probe const& probe, contract::DeviceSet& devices) {
  auto const parts = contract::parts_of(probe.kind);
  auto const build = probe.side;
  bool const builds_right = build == Side::right;
  std::vector<std::string> names;
  std::vector<std::size_t> build_keys;
  std::vector<Field> probe_fields;
  ProbeSpec spec;
  for (auto const& [left, right] : probe.keys) {
    build_keys.push_back(builds_right ? right : left);
    names.push_back(probe.build.schema()[build_keys.back()].name);
    spec.keys.push_back(visible_[builds_right ? left : right]);
    probe_fields.push_back(columns_.slots[spec.keys.back()].field);
  }
  GARUDA_TRY_ASSIGN(auto const left_bytes, build_bytes_left(static_cast<std::uint64_t>(probe.build.num_rows())));
  JoinBuildOptions options{probe.nulls_equal, options_.threads, left_bytes, 0, options_.control};
  join::JoinBuildState state(probe.build, std::move(names), build_keys, std::move(options), devices, options_.stats);
  GARUDA_TRY_ASSIGN(spec.side, state.side_for(probe_fields, options_.control));
  build_bytes_ += state.host_bytes();

  columns_.sources.push_back({probe.build, columns_.num_origins});
  std::vector<Slot> build_slots;
  for (std::size_t c = 0; c < probe.build.num_columns(); ++c) {
    auto field = probe.build.schema()[c];
    field.nullable |= parts.gives_unmatched(other_side(build));
    build_slots.push_back(columns_.add({columns_.sources.size() - 1, c, std::move(field)}));
  }
  if (parts.gives_unmatched(build) && parts.pairs)
    for (auto const slot : visible_) {
      columns_.slots[slot].field.nullable = true;
      constants_.erase(slot);  // null beside rows of the build side that have no match
    }
  auto const& lefts = builds_right ? visible_ : build_slots;
  auto const& rights = builds_right ? build_slots : visible_;
  spec.probe_rows = parts.rows(other_side(build));
  bool const can_leave_out = !parts.gives_unmatched(other_side(build)) && !probe.nulls_equal;
  for (std::size_t k = 0; k < spec.keys.size() && can_leave_out && spec.misses == nullptr; ++k)
    if (KeyFilter::is_for(probe.build.schema()[build_keys[k]].type, probe_fields[k].type))
      spec.misses = std::make_unique<MissFilter>(probe.build, build_keys[k], spec.keys[k]);
  spec.build_rows = parts.rows(build);
  spec.pairs = parts.pairs;
  spec.num_build_rows = static_cast<std::uint64_t>(probe.build.num_rows());
  spec.build_origin = columns_.num_origins++;
  spec.lanes = options_.lanes;
  spec.control = options_.control;
  if (probe.where) {
    auto where = *probe.where;
    expr::visit_columns(where, [&](std::size_t& column) {
      column = column < lefts.size() ? lefts[column] : rights[column - lefts.size()];
    });
    GARUDA_TRY_ASSIGN(spec.where, Predicate::create(where));
  }
  std::vector<Slot> visible;
  for (auto const column : probe.left_columns) visible.push_back(lefts[column]);
  for (auto const column : probe.right_columns) visible.push_back(rights[column]);
  if (parts.left == contract::SideRows::all || parts.right == contract::SideRows::all) {
    spec.mark = columns_.add({std::nullopt, 0, {{}, {TypeId::boolean}, false}});
    visible.push_back(*spec.mark);
  }
  GARUDA_TRY_ASSIGN(auto step, ProbeStep::create(std::move(spec), columns_));
  is_range_ = is_range_ && !step->takes_rows();
  steps_.push_back(std::move(step));
  visible_ = std::move(visible);
  return {};
}

void Pipeline::keep_top(std::size_t key, TopColumn column, std::uint64_t rows) {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 16;
  auto const slot = visible_[key];
  if (rows == 0 || rows > kMostRows || !expr::kind_of(columns_.slots[slot].field.type)) return;
  steps_.push_back(std::make_unique<TopStep>(slot, column, rows));
  is_range_ = false;
}

/// Whether a column that was read comes along with its rows: what is computed has no other place, and values of a fixed
/// width are taken from the chunk, which a cache holds, faster than from the table.
bool Pipeline::comes_along(Slot slot) const {
  auto const& [source, column, field] = columns_.slots[slot];
  if (!source) return true;
  auto const kind = expr::kind_of(field.type);
  return kind && *kind != expr::Kind::bytes && field.type.id != TypeId::dictionary;
}

/// `read`: the slots that chunks have when they come to the step.
Live Pipeline::live_behind(std::size_t step, std::vector<bool> const& read) const {
  std::vector<bool> wanted(columns_.slots.size());
  add_to(wanted, visible_);
  for (auto later = step + 1; later < steps_.size(); ++later) add_to(wanted, steps_[later]->reads());
  Live live{{}, std::vector<bool>(columns_.num_origins), std::move(wanted)};
  for (Slot slot = 0; slot < live.wanted.size(); ++slot) {
    if (!live.wanted[slot]) continue;
    auto const& source = columns_.slots[slot].source;
    if (read[slot] && comes_along(slot))
      live.slots.push_back(slot);
    else if (source)
      live.origins[columns_.sources[*source].origin] = true;
  }
  return live;
}

Result<void> Pipeline::prepare(std::vector<std::string> names, StringForm strings) {
  stages_.clear();
  std::vector<bool> is_range(columns_.num_origins);
  is_range[0] = true;
  std::vector<bool> read(columns_.slots.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    auto& step = *steps_[s];
    stages_.push_back(std::make_unique<Stage>());
    auto const missing = without(step.reads(), read);
    GARUDA_TRY_ASSIGN(stages_.back()->loader, Loader::create(columns_, missing, is_range, StringForm::view));
    add_to(read, missing);
    auto live = live_behind(s, read);
    if (step.takes_rows()) {
      read.assign(read.size(), false);
      add_to(read, live.slots);
      is_range[0] = false;
    }
    step.set_live(std::move(live));
    add_to(read, step.makes());
  }
  // Strings that were read by row numbers are views; the result has them as their table does.
  for (Slot slot = 0; slot < read.size(); ++slot) read[slot] = read[slot] && (is_range[0] || comes_along(slot));
  auto const missing = without(visible_, read);
  GARUDA_TRY_ASSIGN(written_, Loader::create(columns_, missing, is_range, strings));
  result_ = live_behind(steps_.size(), read);
  written_schema_ = schema_of(std::move(names));
  return {};
}

Pipeline::GroupedColumns Pipeline::grouped_columns(std::span<std::string const> names, GroupBySpec const& spec) const {
  GroupedColumns read;
  for (std::size_t c = 0; c < visible_.size(); ++c) {
    auto const is_of = [&](Aggregate const& aggregate) {
      return aggregate.column == names[c] || aggregate.second == names[c];
    };
    bool const is_key = std::ranges::find(spec.keys, names[c]) != spec.keys.end();
    if (!is_key && std::ranges::none_of(spec.aggregates, is_of)) continue;
    auto const integers = integers_.find(visible_[c]);
    read.are_summed.push_back(group_by::only_sums(spec, names[c]));
    bool const has_integers = integers != integers_.end() && read.are_summed.back();
    if (has_integers) read.integers.push_back(read.slots.size());
    read.slots.push_back(has_integers ? integers->second : visible_[c]);
    read.names.push_back(names[c]);
  }
  return read;
}

/// Has decimals computed in 64 bits from now on that go into sums, and into steps that take them, alone.
void Pipeline::allow_narrow(GroupedColumns const& read) {
  std::vector<bool> narrow(columns_.slots.size(), true);
  for (std::size_t c = 0; c < read.slots.size(); ++c)
    if (!read.are_summed[c]) narrow[read.slots[c]] = false;
  for (auto step = steps_.size(); step-- > 0 && steps_[step]->takes_narrow();) steps_[step]->allow_narrow(narrow);
}

Field Pipeline::field_of(Slot slot) const {
  auto field = columns_.slots[slot].field;
  for (auto const& [read, of_table] : written_.fields())
    if (read == slot) field.type = of_table->type;
  return field;
}

bool Pipeline::has_one_dictionary(Slot slot) const {
  auto const& known = columns_.slots[slot];
  if (known.field.type.id != TypeId::dictionary || !known.source) return false;
  auto const arrays = column_arrays(columns_.sources[*known.source].table, known.column);
  return have_one_distinct_dictionary(arrays, *known.field.type.value) &&
         arrays.front().dictionary->length <= std::numeric_limits<std::int32_t>::max();
}

Schema Pipeline::schema_of(std::vector<std::string> names) const {
  Schema schema;
  for (std::size_t c = 0; c < visible_.size(); ++c) {
    schema.push_back(field_of(visible_[c]));
    schema.back().name = std::move(names[c]);
  }
  return schema;
}

}  // namespace garuda::pipeline
