#include "operators/query/run_query.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/stopwatch.hpp"
#include "expr/sides.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/group_by/pipelined_groups.hpp"
#include "operators/pipeline/pipeline.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/query/join_order.hpp"
#include "operators/query/limited/limited_join.hpp"
#include "operators/query/limited/limited_sort.hpp"
#include "operators/query/plans/query_plan.hpp"
#include "operators/query/results/common_subtrees.hpp"
#include "operators/query/results/finished_query.hpp"
#include "operators/query/results/result_types.hpp"
#include "operators/query/run/device_query.hpp"
#include "operators/query/run/explain_query.hpp"
#include "operators/query/run/one_row.hpp"
#include "operators/query/run/placements.hpp"
#include "operators/query/run/specifications.hpp"
#include "operators/query/run/whole_operators.hpp"
#include "operators/query/scans/read_sources.hpp"
#include "operators/query/semi_filter.hpp"
#include "operators/query/sort.hpp"
#include "operators/query/strict.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {
namespace {

using Ran = HostRows;

/// A node of a plan while its operator is made: the rows that it gives are known once its pipeline has run.
struct Node {
  Plan plan;
  std::optional<std::size_t> step;  ///< of the pipeline; nullopt: the operator is none of its steps
  std::vector<Node> inputs;
};

/// Runs the operators of one query: pipelines from breaker to breaker, those that feed one before it.
class QueryRunner {
 public:
  /// Borrows all of its arguments; run() is given the query and what is below it. `device`: of the query's operators;
  /// nullptr: all run on the host, or one by one.
  QueryRunner(Bound const& query, QueryOptions const& options, contract::DeviceSet& devices, run::QueryRun& run,
              DeviceQuery* device)
      : options_(options),
        devices_(devices),
        run_(run),
        device_(device),
        common_(query),
        placements_(options, devices, device, common_),
        kept_(common_.size()),
        whole_(options, devices, run) {}

  /// `rows`: of the result that are wanted, at most, where any will do. `strings`: the form of those that a pipeline
  /// gives; breakers take views, the query's result does not.
  Result<Ran> run(Bound const& query, std::optional<std::uint64_t> rows = std::nullopt,
                  StringForm strings = StringForm::view) {
    if (rows || strings != StringForm::view) return run_alone(query, rows, strings);
    if (auto const subtree = common_.find(query)) return run_common(query, *subtree);
    return run_alone(query, rows, strings);
  }

  pipeline::PipelineOptions pipeline_options() { return whole_.pipeline_options(); }

 private:
  /// The rows of a common subtree, which runs where they are first wanted and is kept until they are last wanted.
  Result<Ran> run_common(Bound const& query, std::size_t subtree) {
    auto& [rows, uses] = kept_[subtree];
    bool const is_first = !rows;
    if (is_first) {
      GARUDA_TRY_ASSIGN(rows, run_alone(query, std::nullopt, StringForm::view));
    }
    auto plan = is_first ? rows->plan : again(query);
    if (!is_first) set_rows(plan, static_cast<std::uint64_t>(rows->table.num_rows()), 0);
    Ran ran{Table(rows->table.schema(), {rows->table.batches().begin(), rows->table.batches().end()}), std::move(plan)};
    if (++uses == common_.uses(subtree)) rows.reset();
    return ran;
  }

  Result<Ran> run_alone(Bound const& query, std::optional<std::uint64_t> rows, StringForm strings) {
    auto const& operation = query.operation;
    auto const manner = placements_.manner_of(query, !rows && strings == StringForm::utf8);
    if (manner == Manner::device) return device_->run(query, [this](Bound const& input) { return run(input); });
    if (auto const* const group_by = std::get_if<BoundGroupBy>(&operation))
      return run_group_by(*group_by, query, manner);
    if (auto const* const sort = std::get_if<BoundSort>(&operation)) return run_sort(*sort, query);
    if (auto const* const number = std::get_if<BoundNumber>(&operation)) return run_number(*number, query);
    if (auto const* const limit = std::get_if<BoundLimit>(&operation)) return run_limit(*limit, query);
    if (std::holds_alternative<BoundUnion>(operation)) return run_union(query);
    if (manner == Manner::whole) return run_join(std::get<BoundJoin>(operation), query);
    return run_pipeline(query, rows, strings);
  }

  /// The node of an operator that runs on the host.
  Plan host_node(Bound const& query) const { return placements_.node_of(query, Manner::host); }

  Result<Ran> run_pipeline(Bound const& query, std::optional<std::uint64_t> rows, StringForm strings) {
    std::unique_ptr<pipeline::Pipeline> made;
    GARUDA_TRY_ASSIGN(auto node, extend(query, made, !rows && strings == StringForm::utf8));
    return run_made(std::move(node), *made, query.schema.size(), rows, strings);
  }

  Result<Ran> run_made(Node node, pipeline::Pipeline& made, std::size_t columns, std::optional<std::uint64_t> rows,
                       StringForm strings) {
    auto const before = whole_.spilled_bytes();
    GARUDA_TRY_ASSIGN(auto table, run_.arena.execute([&] { return made.run(column_names(columns), rows, strings); }));
    Ran ran{std::move(table), plan_of(std::move(node), made)};
    whole_.set_spilled(ran.plan, before);
    return ran;
  }

  /// Ends the pipeline, whose build sides are freed: a new one begins with its rows.
  Result<Node> end_pipeline(Node node, std::unique_ptr<pipeline::Pipeline>& made, std::size_t columns) {
    GARUDA_TRY_ASSIGN(auto ran, run_made(std::move(node), *made, columns, std::nullopt, StringForm::view));
    made = std::make_unique<pipeline::Pipeline>(std::move(ran.table), whole_.pipeline_options());
    return Node{std::move(ran.plan), std::nullopt, {}};
  }

  Plan plan_of(Node node, pipeline::Pipeline const& made) {
    for (auto& input : node.inputs) node.plan.inputs.push_back(plan_of(std::move(input), made));
    if (node.step) {
      set_rows(node.plan, made.rows_of(*node.step), made.ns_of(*node.step));
      run_.recorder.add_phase(node.plan.operation, made.ns_of(*node.step), 0, made.rows_of(*node.step));
    } else if (!node.plan.inputs.empty() && !node.plan.rows) {
      set_rows(node.plan, node.plan.inputs[0].rows.value_or(0), 0);
    }
    return std::move(node.plan);
  }

  /// Puts the operator behind the steps of the pipeline that feeds it, which begins at a table or a breaker.
  /// `is_result`: as Placements::manner_of has it.
  Result<Node> extend(Bound const& query, std::unique_ptr<pipeline::Pipeline>& made, bool is_result = false) {
    auto const& operation = query.operation;
    auto const manner = placements_.manner_of(query, is_result);
    if (manner == Manner::table) {
      auto const& scan = std::get<BoundScan>(operation);
      made = std::make_unique<pipeline::Pipeline>(scan.table, whole_.pipeline_options());
      Node node{placements_.node_of(query, manner), std::nullopt, {}};
      set_rows(node.plan, static_cast<std::uint64_t>(scan.table.num_rows()), 0);
      if (scan.files) count_files(*scan.files, run_.recorder);
      return node;
    }
    if (manner != Manner::step) {
      auto const* const join = std::get_if<BoundJoin>(&operation);
      GARUDA_TRY_ASSIGN(auto ran, join != nullptr && manner == Manner::whole ? run_join(*join, query) : run(query));
      made = std::make_unique<pipeline::Pipeline>(std::move(ran.table), whole_.pipeline_options());
      return Node{std::move(ran.plan), std::nullopt, {}};
    }
    if (auto const* const join = std::get_if<BoundJoin>(&operation)) {
      auto const side = one_row_side(*join, query);
      return side ? extend_by_row(*join, query, *side, made) : extend_by_probe(*join, query, made);
    }
    Node node{placements_.node_of(query, manner), std::nullopt, {}};
    auto const* const project = std::get_if<BoundProject>(&operation);
    bool const only_picks = project != nullptr && project->only_picks();
    GARUDA_TRY_ASSIGN(auto input, extend(query.inputs[0], made, is_result && only_picks));
    auto const before = made->num_steps();
    GARUDA_TRY(project != nullptr ? made->project(project->columns)
                                  : made->filter(std::get<BoundFilter>(operation).predicate));
    if (made->num_steps() > before) node.step = before;
    node.inputs.push_back(std::move(input));
    return node;
  }

  static Result<std::optional<expr::Expression>> where_of(BoundJoin const& join, Bound const& query) {
    if (!join.where) return join.pairs;
    return pair_expression(*join.where, query.inputs[0].schema, query.inputs[1].schema);
  }

  /// The probe side without groups that will not match; nullopt: it stays as it is.
  static std::optional<Bound> filtered_probe(BoundJoin const& join, Bound const& probe, TableView built) {
    auto const parts = contract::parts_of(join.kind);
    if (parts.rows(other_side(join.build)) != contract::SideRows::none) return std::nullopt;
    auto keys = join.keys;
    if (join.build == Side::left)
      for (auto& [of_probe, of_build] : keys) std::swap(of_probe, of_build);
    return with_semi_filter(probe, built, std::move(keys), join.nulls_equal);
  }

  Result<Node> extend_by_row(BoundJoin const& join, Bound const& query, Side side,
                             std::unique_ptr<pipeline::Pipeline>& made) {
    auto const one = side == Side::left ? 0U : 1U;
    GARUDA_TRY_ASSIGN(auto row, run(query.inputs[one]));
    GARUDA_TRY_ASSIGN(auto others, extend(query.inputs[1 - one], made));
    GARUDA_TRY_ASSIGN(auto const project, with_row(join, side, row.table.view()));
    Node joined{placements_.node_of(query, Manner::step), std::nullopt, {}};
    auto const before = made->num_steps();
    GARUDA_TRY(made->project(project.columns));
    if (made->num_steps() > before) joined.step = before;
    joined.inputs.push_back(std::move(others));
    joined.inputs.insert(one == 0 ? joined.inputs.begin() : joined.inputs.end(), Node{std::move(row.plan), {}, {}});
    return joined;
  }

  Result<Node> extend_by_probe(BoundJoin const& join, Bound const& query, std::unique_ptr<pipeline::Pipeline>& made) {
    GARUDA_TRY_ASSIGN(auto where, where_of(join, query));
    auto const build = join.build == Side::left ? 0U : 1U;
    GARUDA_TRY_ASSIGN(auto built, run(query.inputs[build]));
    auto const& written = query.inputs[1 - build];
    // Rows that others read, too, are not for one join to leave out.
    auto const filtered = common_.feeds(written) ? std::nullopt : filtered_probe(join, written, built.table.view());
    GARUDA_TRY_ASSIGN(auto probing, extend(filtered ? *filtered : written, made));
    pipeline::Probe probe{built.table.view(), join.build,        join.kind,          join.nulls_equal,
                          join.keys,          join.left_columns, join.right_columns, std::move(where)};
    auto probed = made->probe(probe, devices_);
    auto const columns = written.schema.size();
    if (!probed && whole_.limit() != nullptr && contract::is_shortage(probed.error())) {
      GARUDA_TRY_ASSIGN(probing, end_pipeline(std::move(probing), made, columns));
      probed = made->probe(probe, devices_);
    }
    Node joined{placements_.node_of(query, Manner::step), std::nullopt, {}};
    joined.inputs.push_back(std::move(probing));
    joined.inputs.insert(build == 0 ? joined.inputs.begin() : joined.inputs.end(), Node{std::move(built.plan), {}, {}});
    if (probed) {
      made->keep(std::move(built.table));
      joined.step = made->num_steps() - 1;
      return joined;
    }
    if (whole_.limit() == nullptr || !contract::is_shortage(probed.error()))
      return tl::unexpected(std::move(probed).error());
    GARUDA_TRY(probe_parts(probe, columns, joined.plan, made));
    return joined;
  }

  /// Joins the rows of a pipeline of no steps with a build side that does not fit; a new one begins with the result.
  Result<void> probe_parts(pipeline::Probe const& probe, std::size_t columns, Plan& plan,
                           std::unique_ptr<pipeline::Pipeline>& made) {
    auto const before = whole_.spilled_bytes();
    Stopwatch const watch;
    GARUDA_TRY_ASSIGN(auto const rows,
                      run_.arena.execute([&] { return made->run(column_names(columns), std::nullopt); }));
    bool const builds_right = probe.side == Side::right;
    auto const join = [&](TableView left, TableView right) {
      return run_.arena.execute([&]() -> Result<Table> {
        auto part = probe;
        part.build = builds_right ? right : left;
        pipeline::Pipeline joined(builds_right ? left : right, whole_.pipeline_options());
        GARUDA_TRY(joined.probe(part, devices_));
        return joined.run(column_names(joined.num_columns()), std::nullopt, StringForm::view);
      });
    };
    LimitedJoin const limited{probe.kind, probe.keys, probe.side, true, join, *whole_.limit(), run_, options_.control};
    GARUDA_TRY_ASSIGN(auto table, builds_right ? join_within_limit(rows.view(), probe.build, limited)
                                               : join_within_limit(probe.build, rows.view(), limited));
    set_rows(plan, static_cast<std::uint64_t>(table.num_rows()), watch.elapsed_ns());
    whole_.set_spilled(plan, before);
    made = std::make_unique<pipeline::Pipeline>(std::move(table), whole_.pipeline_options());
    return {};
  }

  Result<std::vector<Ran>> run_inputs(Bound const& query, std::optional<std::uint64_t> rows = std::nullopt) {
    std::vector<Ran> inputs;
    for (auto const& input : query.inputs) {
      GARUDA_TRY_ASSIGN(auto ran, run(input, rows));
      inputs.push_back(std::move(ran));
    }
    return inputs;
  }

  Result<Ran> run_sort(BoundSort const& sort, Bound const& query) {
    std::vector<Ran> inputs;
    GARUDA_TRY_ASSIGN(auto input,
                      sort.rows && !sort.columns.empty() ? run_top(sort, query.inputs[0]) : run(query.inputs[0]));
    inputs.push_back(std::move(input));
    auto const table = inputs[0].table.view();
    return whole_.run(host_node(query), std::move(inputs), [&, table] {
      return whole_.limit() != nullptr
                 ? sort_within_limit(table, sort.columns, sort.rows, *whole_.limit(), options_.control)
                 : sort_rows(table, sort.columns, sort.rows, options_.control);
    });
  }

  /// Rows among which are the first ones of an order.
  Result<Ran> run_top(BoundSort const& sort, Bound const& input) {
    std::unique_ptr<pipeline::Pipeline> made;
    GARUDA_TRY_ASSIGN(auto node, extend(input, made));
    auto const& [key, descending, nulls_first] = sort.columns[0];
    made->keep_top(key, {descending, nulls_first}, *sort.rows);
    return run_made(std::move(node), *made, input.schema.size(), std::nullopt, StringForm::view);
  }

  Result<Ran> run_number(BoundNumber const& number, Bound const& query) {
    GARUDA_TRY_ASSIGN(auto inputs, run_inputs(query));
    auto const table = inputs[0].table.view();
    GARUDA_TRY_ASSIGN(auto ran, whole_.run(host_node(query), std::move(inputs), [&, table] {
      return whole_.limit() != nullptr ? number_within_limit(table, number, *whole_.limit(), options_.control)
                                       : number_rows(table, number, options_.control);
    }));
    return Ran{with_positions(std::move(ran.table)), std::move(ran.plan)};
  }

  Result<Ran> run_limit(BoundLimit const& limit, Bound const& query) {
    std::optional<std::uint64_t> wanted;
    if (limit.rows) wanted = limit.offset + std::min(*limit.rows, ~std::uint64_t{0} - limit.offset);
    GARUDA_TRY_ASSIGN(auto inputs, run_inputs(query, wanted));
    auto const table = inputs[0].table.view();
    return whole_.run(host_node(query), std::move(inputs), [&, table]() -> Result<Table> {
      return pipeline::slice_rows(table, limit.offset, limit.rows.value_or(~std::uint64_t{0}));
    });
  }

  Result<Ran> run_union(Bound const& query) {
    GARUDA_TRY_ASSIGN(auto inputs, run_inputs(query));
    std::vector<Table> tables;
    for (auto& ran : inputs) {
      // Breakers and pipelines give strings in forms of their own.
      GARUDA_TRY_ASSIGN(auto table, run_.arena.execute([&] {
        return in_types_of(query.schema, std::move(ran.table), whole_.pipeline_options());
      }));
      tables.push_back(std::move(table));
    }
    return whole_.run(host_node(query), std::move(inputs),
                      [&]() -> Result<Table> { return pipeline::append_rows(tables); });
  }

  Result<Ran> run_join(BoundJoin const& join, Bound const& query) {
    GARUDA_TRY_ASSIGN(auto inputs, run_inputs(query));
    GARUDA_TRY_ASSIGN(auto ran, whole_.join(join, std::move(inputs)));
    say_work(ran.plan, query);
    return ran;
  }

  Result<Ran> run_group_by(BoundGroupBy const& group_by, Bound const& query, Manner manner) {
    auto const spec = spec_of(group_by);
    auto const shown = shown_names(group_by, query.schema);
    std::vector<Ran> inputs;
    auto const group_whole = [&]() -> Result<Ran> {
      GARUDA_TRY_ASSIGN(auto ran, whole_.group_by(spec, shown, std::move(inputs)));
      say_work(ran.plan, query);
      return ran;
    };
    if (manner == Manner::whole) {
      GARUDA_TRY_ASSIGN(inputs, run_inputs(query));
      return group_whole();
    }
    std::unique_ptr<pipeline::Pipeline> made;
    auto const names = column_names(query.inputs[0].schema.size());
    GARUDA_TRY_ASSIGN(auto node, extend(query.inputs[0], made));
    GARUDA_TRY_ASSIGN(auto grouped, run_.arena.execute([&] { return made->run_grouped(names, spec, shown); }));
    auto below = plan_of(std::move(node), *made);
    if (!grouped.are_groups) {
      inputs.push_back({std::move(grouped.table), std::move(below)});
      return group_whole();
    }
    auto plan = placements_.node_of(query, manner);
    plan.details.emplace_back("grouping", "as rows come, in groups of each thread");
    run_.recorder.add_phase(plan.operation, grouped.ns, 0, grouped.rows);
    set_rows(plan, static_cast<std::uint64_t>(grouped.table.num_rows()), grouped.ns);
    plan.inputs.push_back(std::move(below));
    return Ran{with_positions(std::move(grouped.table)), std::move(plan)};
  }

  QueryOptions const& options_;
  contract::DeviceSet& devices_;
  run::QueryRun& run_;
  DeviceQuery* device_;
  CommonSubtrees common_;
  Placements placements_;
  struct Kept {
    std::optional<Ran> rows;
    std::size_t uses = 0;  ///< so far
  };
  std::vector<Kept> kept_;
  WholeOperators whole_;
};

/// Runs the query once more on the host where the device gives up on it.
Result<Ran> run_where_possible(QueryRunner& runner, Bound const& query, QueryOptions const& options, run::QueryRun& run,
                               DeviceQuery* device) {
  auto ran = runner.run(query, std::nullopt, StringForm::utf8);
  if (ran || device == nullptr || !device->gave_up()) return ran;
  run.recorder.note("the query runs on the host: " + *device->gave_up());
  GARUDA_TRY_ASSIGN(ran, runner.run(query, std::nullopt, StringForm::utf8));
  GARUDA_TRY(check_strict(query, options, device));
  ran->plan.notes.push_back("the query runs on the host: " + *device->gave_up());
  return ran;
}

}  // namespace

Result<std::unique_ptr<QueryResult>> run_query(Query const& query, QueryOptions const& options,
                                               contract::DeviceSet& devices) {
  run::QueryRun run(options);
  GARUDA_TRY_ASSIGN(auto bound, bind(query));
  GARUDA_TRY_ASSIGN(auto const wanted, bind(query, ScannedAs::fields).map([](Bound const& as) { return as.schema; }));
  GARUDA_TRY_ASSIGN(bound, run.arena.execute([&] { return order_joins(prune(std::move(bound)), options.control); }));
  bound = prune(std::move(bound));
  GARUDA_TRY_ASSIGN(auto const device, DeviceQuery::open(bound, options, devices, run));
  GARUDA_TRY(check_strict(bound, options, device.get()));
  QueryRunner runner(bound, options, devices, run, device.get());
  GARUDA_TRY_ASSIGN(auto ran, run_where_possible(runner, bound, options, run, device.get()));
  GARUDA_TRY_ASSIGN(ran.table, run.arena.execute([&] {
    return in_types_of(wanted, std::move(ran.table), runner.pipeline_options());
  }));
  auto stats = run.stats(ran.plan);
  stats.rows = rows_read(ran.plan);
  stats.rows_out = static_cast<std::uint64_t>(ran.table.num_rows());
  return finished_query(wanted, std::move(ran.table), std::move(ran.plan), std::move(stats));
}

Result<Plan> explain_query(Query const& query, QueryOptions const& options, contract::DeviceSet& devices) {
  run::QueryRun run(options);
  GARUDA_TRY_ASSIGN(auto bound, bind(query));
  auto written = plan_of_written(bound);
  GARUDA_TRY_ASSIGN(bound, run.arena.execute([&] { return estimate_rows(prune(std::move(bound)), options.control); }));
  bound = prune(std::move(bound));
  GARUDA_TRY_ASSIGN(auto const device, DeviceQuery::open(bound, options, devices, run));
  GARUDA_TRY(check_strict(bound, options, device.get()));
  CommonSubtrees const common(bound);
  Placements const placements(options, devices, device.get(), common);
  WholeOperators whole(options, devices, run);
  QueryExplainer explainer(common, placements, whole, run, !has_sources(query));
  GARUDA_TRY_ASSIGN(auto plan, explainer.explain(bound));
  plan = run.recorder.with_notes(std::move(plan));
  plan.written.push_back(std::move(written));
  return plan;
}

}  // namespace garuda::query
