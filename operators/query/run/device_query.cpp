#include "operators/query/run/device_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/stopwatch.hpp"
#include "expr/sides.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_types.hpp"
#include "operators/device/rows/group_programs.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/query/plans/query_plan.hpp"
#include "operators/query/results/finished_query.hpp"
#include "operators/query/run/specifications.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::query {
namespace {

/// Tables on devices that the query scans.
void add_residents(Bound const& query, std::vector<device::DeviceTableState const*>& tables) {
  if (auto const* const scan = std::get_if<BoundScan>(&query.operation);
      scan != nullptr && scan->table.resident() != nullptr)
    tables.push_back(scan->table.resident());
  for (auto const& input : query.inputs) add_residents(input, tables);
}

/// The path of the options, where operators over rows run on its device; nullptr: they run on the host. Under a limit
/// of memory rows are kept as its operators of the host say.
contract::PathRow const* path_of_rows(QueryOptions const& options) {
  auto const* const row = plan::find_path(options.path);
  if (row == nullptr || row->api != DeviceApi::vulkan || options.memory_limit_bytes != 0) return nullptr;
  return row->takes_whole_tables || row->draws_rows ? row : nullptr;
}

std::optional<std::string> no_place(Schema const& schema) {
  for (auto const& field : schema)
    if (!device::stored_words(field.type))
      return fmt::format("a column of type {} cannot be kept on a device", to_string(field.type));
  return std::nullopt;
}

std::optional<std::string> reason_of(Result<void> const& checked) {
  return checked ? std::nullopt : std::optional(checked.error().message());
}

/// The expression over the columns of the table that has the operator's.
expr::Expression placed(expr::Expression expression, DeviceRows const& rows) {
  expr::visit_columns(expression, [&](std::size_t& column) { column = rows.places[column].value(); });
  return expression;
}

std::vector<bool> every_column(Schema const& schema) { return std::vector<bool>(schema.size(), true); }

/// Makes what it holds the rows' table.
void own(DeviceRows& rows, DeviceTable table) {
  rows.owned.emplace(std::move(table));
  rows.table = &rows.owned->state();
}

void place_all(DeviceRows& rows) {
  rows.places.clear();
  for (std::size_t c = 0; c < rows.table->columns.size(); ++c) rows.places.emplace_back(c);
}

/// The columns of the table that the operator has, each once, in the order of its own; says where each comes to lie.
std::vector<std::size_t> distinct_places(DeviceRows const& rows, std::vector<bool> const& needed,
                                         std::vector<std::optional<std::size_t>>& places) {
  std::vector<std::size_t> kept;
  places.assign(needed.size(), std::nullopt);
  for (std::size_t c = 0; c < needed.size(); ++c) {
    if (!needed[c]) continue;
    auto const found = std::ranges::find(kept, rows.places[c].value());
    places[c] = static_cast<std::size_t>(found - kept.begin());
    if (found == kept.end()) kept.push_back(*rows.places[c]);
  }
  return kept;
}

}  // namespace

Result<std::unique_ptr<DeviceQuery>> DeviceQuery::open(Bound const& query, QueryOptions const& options,
                                                       contract::DeviceSet& devices, run::QueryRun& run) {
  std::vector<device::DeviceTableState const*> residents;
  add_residents(query, residents);
  auto const* const path = path_of_rows(options);
  if (residents.empty() && path == nullptr) return nullptr;
  std::unique_ptr<DeviceQuery> made(new DeviceQuery(options, devices, run));
  made->path_ = path != nullptr ? path : plan::find_path(Path::compute);
  if (!residents.empty()) {
    made->device_ = residents.front()->device;
    auto const index = std::optional<std::size_t>(made->device_.info->index);
    GARUDA_TRY(plan::check_path(options, Placement::automatic, index));
    // Engines open devices of their own.
    auto const is_elsewhere = [&](device::DeviceTableState const* table) {
      return table->device.info->index != *index || table->device.info != &devices.devices()[*index];
    };
    if (*index >= devices.devices().size() || std::ranges::any_of(residents, is_elsewhere))
      return fail(ErrorCode::usage,
                  "a query scans tables of the host, or of one device of its engine; these are on others");
    return made;
  }
  auto const machine = plan::machine_of(devices, run.threads());
  GARUDA_TRY_ASSIGN(auto const index, plan::requested_device(machine.devices, options));
  if (!index) return nullptr;
  run::PhaseTimer const timer(run.recorder, "open device");
  GARUDA_TRY_ASSIGN(made->device_.open, vulkan::open_vulkan(devices, *index));
  made->device_.info = &devices.devices()[*index];
  made->check_device();
  return made;
}

void DeviceQuery::check_device() {
  if (!path_->draws_rows) return;
  // Rows that were drawn are listed and fetched by compute passes.
  auto const tuning = compute::compute_tuning(device_.open.device->traits());
  if (tuning) return;
  gave_up_ = tuning.error().message();
  run_.recorder.note("filters and expressions run on the host: " + *gave_up_);
}

std::optional<std::string> DeviceQuery::refusal(Bound const& query) const {
  auto const& operation = query.operation;
  if (auto const* const scan = std::get_if<BoundScan>(&operation))
    return scan->table.resident() != nullptr ? std::nullopt : std::optional<std::string>("the table is the host's");
  if (gave_up_) return gave_up_;
  bool const groups = std::holds_alternative<BoundGroupBy>(operation);
  if (groups && drawn(query)) return std::nullopt;
  for (auto const& input : query.inputs)
    if (auto const* const project = std::get_if<BoundProject>(&operation); project == nullptr)
      if (auto reason = no_place(input.schema)) return reason;
  if (auto const* const filter = std::get_if<BoundFilter>(&operation))
    return reason_of(device::check_device_expression(filter->predicate, query.schema.size()));
  if (auto const* const project = std::get_if<BoundProject>(&operation)) {
    if (auto reason = no_place(query.schema)) return reason;
    bool computes = false;
    for (auto const& column : project->columns) {
      auto const* const expression = std::get_if<expr::Expression>(&column);
      if (expression == nullptr) continue;
      computes = true;
      if (auto reason = reason_of(device::check_device_expression(*expression, query.inputs[0].schema.size())))
        return reason;
    }
    return computes ? std::nullopt : refusal(query.inputs[0]);
  }
  if ((groups || std::holds_alternative<BoundJoin>(operation)) && path_->draws_rows)
    return fmt::format("path {} joins and groups tables of the host", path_->name);
  if (auto const* const join = std::get_if<BoundJoin>(&operation)) {
    if (join->keys.empty()) return "joins without keys take tables of the host";
    if (join->pairs) return "a condition that is more than comparisons is tested on the host";
    return options_.join_tuning == JoinTuning{}
               ? std::nullopt
               : std::optional<std::string>("a tuning is of joins of the host's tables");
  }
  if (auto const* const group_by = std::get_if<BoundGroupBy>(&operation)) {
    if (!(options_.group_by_tuning == GroupByTuning{})) return "a tuning is of group-bys of the host's tables";
    auto named = query.inputs[0].schema;
    for (std::size_t c = 0; c < named.size(); ++c) named[c].name = column_name(c);
    auto const resolved = resolve::resolve_group_by(TableView(named, {}), spec_of(*group_by));
    if (!resolved) return resolved.error().message();
    return reason_of(device::check_device_group_by(named, *resolved));
  }
  return kWorkOfHost;
}

Result<HostRows> DeviceQuery::run(Bound const& query, RunOnHost const& run_on_host) {
  run_on_host_ = run_on_host;
  auto ran = [&]() -> Result<HostRows> {
    GARUDA_TRY_ASSIGN(auto held, rows_of(query, every_column(query.schema)));
    if (auto* const table = std::get_if<Table>(&held.rows)) return HostRows{std::move(*table), std::move(held.plan)};
    GARUDA_TRY_ASSIGN(auto table, bring_down(std::get<DeviceRows>(held.rows)));
    return HostRows{std::move(table), std::move(held.plan)};
  }();
  if (!ran && contract::is_shortage(ran.error()) && !gave_up_) gave_up_ = ran.error().message();
  return ran;
}

Result<Table> DeviceQuery::bring_down(DeviceRows const& rows) {
  run::PhaseTimer timer(run_.recorder, "download");
  std::vector<std::size_t> columns;
  for (auto const& place : rows.places) columns.push_back(place.value());
  GARUDA_TRY_ASSIGN(auto down, device::download_columns(*rows.table, columns, options_.control));
  timer.count(down.bytes, rows.table->rows);
  return with_positions(std::move(down.table));
}

device::RowsOptions DeviceQuery::rows_options() const {
  return {options_.control, &run_.recorder, options_.device_memory_limit_bytes, path_->draws_rows};
}

Plan DeviceQuery::node_of(Bound const& query) const {
  auto plan = query::node_of(query);
  plan.path = path_->path;
  plan.device = device_.info->name;
  plan.driver = device_.info->driver;
  plan.on_device = true;
  plan.reason = options_.picks_path() ? "its tables live on the device"
                                      : fmt::format("path {} was asked for", to_string(options_.path));
  return plan;
}

Plan DeviceQuery::plan_of(Bound const& query, std::uint64_t rows, std::vector<Plan> inputs) const {
  auto plan = node_of(query);
  plan.inputs = std::move(inputs);
  set_rows(plan, rows, 0);
  return plan;
}

tl::unexpected<Error> DeviceQuery::unsettled(Bound const& query) {
  auto const node = query::node_of(query);
  gave_up_ = fmt::format("a row has no value, or one that shaders do not compute: {} {}", node.operation, node.choices);
  return fail(ErrorCode::invalid_input, *gave_up_);
}

Result<HeldRows> DeviceQuery::rows_of(Bound const& query, std::vector<bool> const& needed) {
  auto const& operation = query.operation;
  if (auto const* const table = std::get_if<BoundScan>(&operation)) return scan(*table, needed);
  if (!computes(query)) {
    GARUDA_TRY_ASSIGN(auto ran, run_on_host_(query));
    return HeldRows{std::move(ran.table), std::move(ran.plan)};
  }
  if (auto const* const predicate = std::get_if<BoundFilter>(&operation)) return filter(*predicate, query, needed);
  if (auto const* const columns = std::get_if<BoundProject>(&operation)) return project(*columns, query, needed);
  if (auto const* const joined = std::get_if<BoundJoin>(&operation)) return join(*joined, query);
  if (auto const drawn = this->drawn(query)) return group_drawn(*drawn, query);
  return group_by(std::get<BoundGroupBy>(operation), query);
}

Result<HeldRows> DeviceQuery::input_of(Bound const& query, std::vector<bool> const& needed) {
  GARUDA_TRY_ASSIGN(auto held, rows_of(query, needed));
  if (auto const* const table = std::get_if<Table>(&held.rows)) {
    GARUDA_TRY_ASSIGN(auto rows, upload(table->view(), needed));
    held.rows = std::move(rows);
  }
  return held;
}

Result<DeviceRows> DeviceQuery::upload(TableView table, std::vector<bool> const& needed) {
  std::vector<std::size_t> wanted;
  DeviceRows rows;
  for (std::size_t c = 0; c < needed.size(); ++c) {
    rows.places.push_back(needed[c] ? std::optional(wanted.size()) : std::nullopt);
    if (needed[c]) wanted.push_back(c);
  }
  device::UploadOptions options;
  options.control = options_.control;
  options.stats = &run_.recorder;
  GARUDA_TRY_ASSIGN(auto uploaded, device::upload_table(table, wanted, device_, options));
  auto const limit = options_.device_memory_limit_bytes;
  if (limit != 0 && uploaded.device_bytes() > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the columns of a query take more device memory than the limit of {} bytes: {}", limit,
                            uploaded.device_bytes()));
  own(rows, std::move(uploaded));
  return rows;
}

Result<HeldRows> DeviceQuery::scan(BoundScan const& scan, std::vector<bool> const& needed) {
  Plan plan;
  plan.operation = "table";
  plan.device = "host";
  set_rows(plan, static_cast<std::uint64_t>(scan.table.num_rows()), 0);
  if (scan.files) count_files(*scan.files, run_.recorder);
  DeviceRows rows;
  if (scan.table.resident() == nullptr) {
    GARUDA_TRY_ASSIGN(rows, upload(scan.table, needed));
  } else {
    plan.device = device_.info->name;
    plan.on_device = true;
    rows.table = scan.table.resident();
    place_all(rows);
  }
  return HeldRows{std::move(rows), std::move(plan)};
}

Result<HeldRows> DeviceQuery::filter(BoundFilter const& filter, Bound const& query, std::vector<bool> const& needed) {
  auto read = needed;
  expr::visit_columns(filter.predicate, [&](std::size_t column) { read[column] = true; });
  GARUDA_TRY_ASSIGN(auto input, input_of(query.inputs[0], read));
  auto& rows = std::get<DeviceRows>(input.rows);
  Stopwatch const watch;
  DeviceRows result;
  auto const kept = distinct_places(rows, needed, result.places);
  GARUDA_TRY_ASSIGN(auto filtered,
                    device::filter_device_table(*rows.table, placed(filter.predicate, rows), kept, rows_options()));
  if (!filtered) return unsettled(query);
  own(result, std::move(*filtered));
  auto plan = plan_of(query, result.table->rows, {std::move(input.plan)});
  if (path_->draws_rows) plan.details.emplace_back("rows", "drawn as points; those that fail are clipped");
  plan.ns = watch.elapsed_ns();
  return HeldRows{std::move(result), std::move(plan)};
}

Result<HeldRows> DeviceQuery::project(BoundProject const& project, Bound const& query,
                                      std::vector<bool> const& needed) {
  std::vector<bool> read(query.inputs[0].schema.size(), false);
  bool computes = false;
  for (std::size_t c = 0; c < needed.size(); ++c) {
    if (!needed[c]) continue;
    if (auto const* const position = std::get_if<std::size_t>(&project.columns[c])) {
      read[*position] = true;
      continue;
    }
    computes = true;
    expr::visit_columns(std::get<expr::Expression>(project.columns[c]),
                        [&](std::size_t column) { read[column] = true; });
  }
  GARUDA_TRY_ASSIGN(auto input, input_of(query.inputs[0], read));
  auto& rows = std::get<DeviceRows>(input.rows);
  Stopwatch const watch;
  if (computes) {
    GARUDA_TRY(take_copy(rows, read));
    GARUDA_TRY(compute(project, query, needed, rows));
  } else {
    std::vector<std::optional<std::size_t>> places(needed.size());
    for (std::size_t c = 0; c < needed.size(); ++c)
      if (needed[c]) places[c] = rows.places[std::get<std::size_t>(project.columns[c])];
    rows.places = std::move(places);
  }
  auto plan = plan_of(query, rows.table->rows, {std::move(input.plan)});
  if (computes && path_->draws_rows) plan.details.emplace_back("rows", "drawn as points; values are their colours");
  plan.ns = watch.elapsed_ns();
  return HeldRows{std::move(rows), std::move(plan)};
}

Result<void> DeviceQuery::compute(BoundProject const& project, Bound const& query, std::vector<bool> const& needed,
                                  DeviceRows& rows) {
  std::vector<std::optional<std::size_t>> places(needed.size());
  std::vector<device::DeviceExpression> columns;
  Schema schema;
  for (std::size_t c = 0; c < needed.size(); ++c) {
    if (!needed[c]) continue;
    places[c] = columns.size();
    if (auto const* const position = std::get_if<std::size_t>(&project.columns[c])) {
      auto const place = rows.places[*position].value();
      columns.emplace_back(place);
      schema.push_back(rows.table->schema[place]);
    } else {
      columns.emplace_back(placed(std::get<expr::Expression>(project.columns[c]), rows));
      schema.push_back(query.schema[c]);
    }
  }
  GARUDA_TRY_ASSIGN(auto made,
                    device::project_device_table(std::move(*rows.owned), columns, std::move(schema), rows_options()));
  if (!made) return unsettled(query);
  own(rows, std::move(*made));
  rows.places = std::move(places);
  return {};
}

Result<void> DeviceQuery::take_copy(DeviceRows& rows, std::vector<bool> const& needed) {
  if (rows.owned) return {};
  std::vector<std::optional<std::size_t>> places;
  auto const kept = distinct_places(rows, needed, places);
  GARUDA_TRY_ASSIGN(auto copied, device::copy_columns(*rows.table, kept, rows_options()));
  own(rows, std::move(copied));
  rows.places = std::move(places);
  return {};
}

Result<TableView> DeviceQuery::named_view(DeviceRows& rows) {
  bool is_twice = false;
  for (auto place = rows.places.begin(); place != rows.places.end(); ++place)
    is_twice = is_twice || std::find(rows.places.begin(), place, *place) != place;
  if (is_twice) GARUDA_TRY(take_copy(rows, std::vector<bool>(rows.places.size(), true)));
  if (!rows.owned) {
    rows.names = rows.table->schema;
    for (std::size_t c = 0; c < rows.names.size(); ++c) rows.names[c].name = fmt::format("unused {}", c);
    for (std::size_t c = 0; c < rows.places.size(); ++c) rows.names[rows.places[c].value()].name = column_name(c);
    return TableView(rows.names, {&rows.table->batch, 1}, rows.table);
  }
  std::vector<device::DeviceExpression> columns;
  Schema schema;
  for (std::size_t c = 0; c < rows.places.size(); ++c) {
    columns.emplace_back(rows.places[c].value());
    schema.push_back(rows.table->schema[*rows.places[c]]);
    schema.back().name = column_name(c);
  }
  GARUDA_TRY_ASSIGN(auto named,
                    device::project_device_table(std::move(*rows.owned), columns, std::move(schema), rows_options()));
  own(rows, std::move(named.value()));
  place_all(rows);
  return rows.owned->view();
}

Result<HeldRows> DeviceQuery::kept(QueryResult& result, Bound const& query, std::vector<Plan> inputs) {
  auto plan = result.plan();
  say_work(plan, query);
  plan.inputs = std::move(inputs);
  auto taken = result.take_device_table();
  if (taken) {
    auto const stats = result.stats();
    run_.recorder.absorb(stats);
    DeviceRows rows;
    own(rows, std::move(*taken));
    place_all(rows);
    set_rows(plan, rows.table->rows, stats.total_ns);
    return HeldRows{std::move(rows), std::move(plan)};
  }
  if (taken.error().code() != ErrorCode::usage) return tl::unexpected<Error>(taken.error());
  GARUDA_TRY_ASSIGN(auto table, collect(result));
  auto const stats = result.stats();
  run_.recorder.absorb(stats);
  set_rows(plan, static_cast<std::uint64_t>(table.num_rows()), stats.total_ns);
  return HeldRows{with_positions(std::move(table)), std::move(plan)};
}

Result<HeldRows> DeviceQuery::join(BoundJoin const& join, Bound const& query) {
  GARUDA_TRY_ASSIGN(auto left_rows, input_of(query.inputs[0], every_column(query.inputs[0].schema)));
  GARUDA_TRY_ASSIGN(auto right_rows, input_of(query.inputs[1], every_column(query.inputs[1].schema)));
  GARUDA_TRY_ASSIGN(auto const left, named_view(std::get<DeviceRows>(left_rows.rows)));
  GARUDA_TRY_ASSIGN(auto const right, named_view(std::get<DeviceRows>(right_rows.rows)));
  auto const spec = spec_of(join);
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
  JoinOptions const options{options_, options_.join_tuning};
  GARUDA_TRY_ASSIGN(auto result, join::hash_join({left, right, spec, std::move(columns), options, &devices_}));
  return kept(*result, query, {std::move(left_rows.plan), std::move(right_rows.plan)});
}

Result<HeldRows> DeviceQuery::group_by(BoundGroupBy const& group_by, Bound const& query) {
  GARUDA_TRY_ASSIGN(auto input, input_of(query.inputs[0], every_column(query.inputs[0].schema)));
  GARUDA_TRY_ASSIGN(auto const table, named_view(std::get<DeviceRows>(input.rows)));
  auto const spec = spec_of(group_by);
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
  GroupByOptions const options{options_, options_.group_by_tuning};
  GARUDA_TRY_ASSIGN(auto result, group_by::group_by({table, spec, std::move(columns), options, &devices_}));
  return kept(*result, query, {std::move(input.plan)});
}

std::optional<DrawnGroupBy> DeviceQuery::drawn(Bound const& query) const {
  auto const& tuning = options_.group_by_tuning;
  if (!path_->draws_rows || tuning.radix_bits > 0 || !device::draws_expressions(device_)) return std::nullopt;
  auto drawn = drawn_group_by(query);
  if (!drawn || !drawn->resolved(TableView(drawn->schema, {}))) return std::nullopt;
  auto const columns = drawn->source->schema.size();
  auto const refuses = [&](expr::Expression const& expression) {
    return !device::check_device_expression(expression, columns);
  };
  if ((drawn->filter && refuses(*drawn->filter)) || std::ranges::any_of(drawn->values, refuses)) return std::nullopt;
  return drawn;
}

Result<HeldRows> DeviceQuery::group_drawn(DrawnGroupBy const& drawn, Bound const& query) {
  auto const& source = *drawn.source;
  std::vector<bool> read(source.schema.size(), false);
  auto const note = [&](std::size_t column) { read[column] = true; };
  if (drawn.filter) expr::visit_columns(*drawn.filter, note);
  for (auto const& value : drawn.values) expr::visit_columns(value, note);
  // The host reads keys and columns that nothing computes, the device what expressions read.
  auto const rows_of_source = [&]() -> Result<HeldRows> {
    if (computes(source)) return rows_of(source, every_column(source.schema));
    GARUDA_TRY_ASSIGN(auto ran, run_on_host_(source));
    return HeldRows{std::move(ran.table), std::move(ran.plan)};
  };
  GARUDA_TRY_ASSIGN(auto held, rows_of_source());
  DeviceRows rows;
  if (auto* const there = std::get_if<DeviceRows>(&held.rows)) {
    rows = std::move(*there);
    GARUDA_TRY_ASSIGN(held.rows, bring_down(rows));
  } else {
    GARUDA_TRY_ASSIGN(rows, upload(std::get<Table>(held.rows).view(), read));
  }
  auto filter = drawn.filter;
  if (filter) filter = placed(std::move(*filter), rows);
  std::vector<expr::Expression> values;
  for (auto const& value : drawn.values) values.push_back(placed(value, rows));
  GARUDA_TRY_ASSIGN(auto const programs, device::GroupPrograms::create(*rows.table, filter, values, rows_options()));

  TableWithoutValues const table(std::get<Table>(held.rows).view(), drawn.schema);
  GARUDA_TRY_ASSIGN(auto columns, drawn.resolved(table.view()));
  columns.name_in_errors(shown_names(std::get<BoundGroupBy>(query.operation), query.schema));
  GroupByOptions options{options_, options_.group_by_tuning};
  options.tuning.radix_bits = 0;  // rows stay in the order that expressions know
  resolve::GroupByRequest request{table.view(), drawn.spec, std::move(columns), options, &devices_};
  request.expressions = &programs->expressions();
  auto plan = std::move(held.plan);
  for (auto node = drawn.drawn.rbegin(); node != drawn.drawn.rend(); ++node) {
    auto drawn_here = node_of(**node);
    drawn_here.inputs.push_back(std::move(plan));
    plan = std::move(drawn_here);
    bool const is_filter = std::holds_alternative<BoundFilter>((*node)->operation);
    plan.details.emplace_back("rows", is_filter ? "drawn by the group-by, which clips those that fail"
                                                : "drawn by the group-by, whose vertices compute values");
  }
  GARUDA_TRY_ASSIGN(auto result, group_by::group_by(std::move(request)));
  auto grouped = kept(*result, query, {std::move(plan)});
  if (!grouped && programs->expressions().has_given_up()) return unsettled(query);
  return grouped;
}

}  // namespace garuda::query
