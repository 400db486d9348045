#include "python/extension/engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/group_states.hpp"
#include "python/extension/capsules.hpp"

namespace nb = nanobind;

namespace garuda::python {
namespace {

/// How and where to run, as Python gives it; parsed once for many calls.
struct Settings {
  RunOptions run;
  std::string tuning;
  StringForm strings;
};

Settings make_settings(std::string const& path, std::optional<std::string> device, std::string tuning,
                       std::uint64_t memory_limit, std::uint64_t device_memory_limit, std::uint32_t threads,
                       bool allow_cuda, std::uint64_t expected_rows, std::string const& strings) {
  unwrap(check_threads(threads));
  return {{.path = unwrap(parse_path(path)),
           .allow_cuda = allow_cuda,
           .device = std::move(device),
           .memory_limit_bytes = memory_limit,
           .device_memory_limit_bytes = device_memory_limit,
           .threads = threads,
           .expected_rows = expected_rows,
           .control = {}},
          std::move(tuning),
          unwrap(parse_string_form(strings))};
}

/// Raised where a name is looked up, so that Python has a KeyError.
void require_column(TableView table, std::string const& name) {
  if (auto found = find_column(table.schema(), name); !found) raise("unknown_column", std::move(found).error());
}

/// Whether to run in place on one thread (see Watch), which gains more than further threads would: an upper bound of
/// the work, all pairs of a join, takes some 20 ms. Tables on devices, and what names a device or its path, may have
/// pipelines to compile.
bool is_brief(RunOptions const& run, std::vector<SharedRows> const& inputs) {
  if (run.device || (run.path != Path::automatic && run.path != Path::cpu)) return false;
  std::int64_t work = 1;
  for (auto const& input : inputs) {
    auto const rows = input->view().num_rows();
    if (rows > kSmallRows || input->on_device() != nullptr) return false;
    work *= std::max<std::int64_t>(rows, 1);
  }
  return work <= kSmallPairs;
}

/// Gives a brief query one thread, unless the caller says how many.
template <class Query>
Query with_threads(Query query) {
  query.is_brief = is_brief(query.options, query.inputs());
  if (query.is_brief && query.options.threads == 0) query.options.threads = 1;
  return query;
}

struct JoinQuery {
  SharedEngine engine;
  SharedRows left, right;
  JoinSpec spec;
  JoinOptions options;
  std::shared_ptr<JoinBuild const> build{};  // of the right rows
  bool is_brief = false;

  std::vector<SharedRows> inputs() const { return {left, right}; }
  Result<std::unique_ptr<QueryResult>> start(Control control) const { return with(&Engine::join, std::move(control)); }
  Result<Engine::Counted> count(Control control) const { return with(&Engine::join_count, std::move(control)); }
  Result<Plan> explain(Control control) const { return with(&Engine::explain_join, std::move(control)); }

 private:
  /// Calls the engine with rows whose values are right.
  template <class T>
  Result<T> with(Result<T> (Engine::*call)(TableView, JoinRight const&, JoinSpec const&, JoinOptions const&),
                 Control control) const {
    auto controlled = options;
    controlled.control = std::move(control);
    auto const columns = [&](Side side) { return engine::columns_of(spec, side); };
    GARUDA_TRY_ASSIGN(auto const left_rows, left->checked(options.threads, columns(Side::left), &controlled.control));
    GARUDA_TRY_ASSIGN(auto const right_rows,
                      right->checked(options.threads, columns(Side::right), &controlled.control));
    return (*engine.*call)(left_rows, build != nullptr ? JoinRight(*build) : JoinRight(right_rows), spec, controlled);
  }
};

struct GroupByQuery {
  SharedEngine engine;
  SharedRows table;
  GroupBySpec spec;
  GroupByOptions options;
  bool is_brief = false;

  std::vector<SharedRows> inputs() const { return {table}; }
  Result<std::unique_ptr<QueryResult>> start(Control control) const {
    return with(&Engine::group_by, std::move(control));
  }
  Result<Plan> explain(Control control) const { return with(&Engine::explain_group_by, std::move(control)); }

 private:
  template <class T>
  Result<T> with(Result<T> (Engine::*call)(TableView, GroupBySpec const&, GroupByOptions const&),
                 Control control) const {
    auto controlled = options;
    controlled.control = std::move(control);
    GARUDA_TRY_ASSIGN(auto const rows, table->checked(options.threads, engine::columns_of(spec), &controlled.control));
    return (*engine.*call)(rows, spec, controlled);
  }
};

/// The rows as queries scan them; their values are right.
Result<ScannedTable> scanned(HeldTable const& held, std::uint32_t threads, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const rows, held.rows->checked(threads, {}, &control));
  ScannedTable table(rows);
  if (held.stored != nullptr) {
    table.files = held.stored->files;
    table.fields = &held.stored->fields;
  }
  return table;
}

/// A plan of Substrait, and the tables that it reads by their names.
struct PlanQuery {
  SharedEngine engine;
  std::string plan;
  std::vector<std::pair<std::string, HeldTable>> tables;
  QueryOptions options;
  bool is_brief = false;

  std::vector<SharedRows> inputs() const {
    std::vector<SharedRows> all;
    for (auto const& [name, table] : tables) all.push_back(table.rows);
    return all;
  }
  Result<std::unique_ptr<QueryResult>> start(Control control) const {
    auto controlled = options;
    controlled.control = std::move(control);
    GARUDA_TRY_ASSIGN(auto const named, checked(controlled.control));
    return engine->run_substrait(std::as_bytes(std::span(plan)), named, controlled);
  }
  Result<Plan> explain(Control control) const {
    auto controlled = options;
    controlled.control = std::move(control);
    GARUDA_TRY_ASSIGN(auto const named, checked(controlled.control));
    return engine->explain_substrait(std::as_bytes(std::span(plan)), named, controlled);
  }

 private:
  /// The tables, whose values are right.
  Result<std::vector<NamedTable>> checked(Control const& control) const {
    std::vector<NamedTable> named;
    for (auto const& [name, held] : tables) {
      GARUDA_TRY_ASSIGN(auto table, scanned(held, options.threads, control));
      named.push_back({name, std::move(table)});
    }
    return named;
  }
};

/// Columns of a stored table as they were before it was stored.
struct StoredQuery {
  SharedEngine engine;
  HeldTable table;
  std::vector<std::string> columns;
  bool is_brief = false;

  std::vector<SharedRows> inputs() const { return {table.rows}; }
  Result<std::unique_ptr<QueryResult>> start(Control control) const {
    QueryOptions options;
    options.path = Path::cpu;
    options.control = std::move(control);
    GARUDA_TRY_ASSIGN(auto rows, scanned(table, options.threads, options.control));
    std::vector<NamedExpression> wanted;
    for (auto const& name : columns) wanted.push_back({name, column(name)});
    return engine->run(Query::scan(std::move(rows)).project(std::move(wanted)), options);
  }
};

/// A query that runs, what it reads and what may end it.
struct Run {
  SharedEngine engine;
  std::vector<SharedRows> inputs;
  SharedWatch watch;
  std::unique_ptr<QueryResult> rows;  // last: views the inputs, and looks at the watch
};

template <class Query>
std::shared_ptr<Run> start(Query const& query, nb::object on_progress) {
  auto const watch = watching(std::move(on_progress), query.is_brief);
  auto rows = run(*watch, [query, watch] { return query.start(watch->control()); });
  return {new Run{query.engine, query.inputs(), watch, std::move(rows)}, destroy_unless_forked<Run>};
}

/// Collects all rows on the device where the inputs are, if they were made there, else on the host.
template <class Query>
Result<SharedRows> collect_rows(Query const& query, QueryResult& result) {
  auto const inputs = query.inputs();
  if (!inputs.empty() && inputs.front()->on_device() != nullptr) {
    auto there = result.take_device_table();
    if (there) return share(query.engine, *std::move(there));
    if (there.error().code() != ErrorCode::usage) return propagate(std::move(there));
  }
  GARUDA_TRY_ASSIGN(auto here, collect(result));
  return share(query.engine, std::move(here));
}

template <class Query>
HeldTable run_query(Query const& query, nb::object on_progress) {
  auto const watch = watching(std::move(on_progress), query.is_brief);
  using Outcome = std::pair<SharedRows, Origin>;
  auto [rows, origin] = run(*watch, [query, watch]() -> Result<Outcome> {
    GARUDA_TRY_ASSIGN(auto const result, query.start(watch->control()));
    GARUDA_TRY_ASSIGN(auto collected, collect_rows(query, *result));
    return Outcome{std::move(collected), Origin{result->plan(), result->stats()}};
  });
  return {std::move(rows), std::move(origin)};
}

template <class Query>
std::pair<std::string, std::string> explain(Query const& query) {
  auto const watch = watching(nb::none(), query.is_brief);
  auto const plan = run(*watch, [query, watch] { return query.explain(watch->control()); });
  return {to_string(plan), to_json(plan)};
}

/// The number of rows, and the statistics as JSON.
std::pair<std::uint64_t, std::string> count(JoinQuery const& query, nb::object on_progress) {
  auto const watch = watching(std::move(on_progress), query.is_brief);
  auto const counted = run(*watch, [query, watch] { return query.count(watch->control()); });
  return {counted.rows, to_json(counted.stats)};
}

HeldBuild make_build(HeldEngine const& engine, HeldTable const& table, std::vector<std::string> keys, bool nulls_equal,
                     Settings const& settings, nb::object on_progress) {
  for (auto const& key : keys) require_column(table.rows->view(), key);
  auto const tuning = unwrap(parse_join_tuning(settings.tuning));
  JoinBuildOptions const options{.nulls_equal = nulls_equal,
                                 .threads = settings.run.threads,
                                 .memory_limit_bytes = settings.run.memory_limit_bytes,
                                 .radix_bits = tuning.radix_bits,
                                 .control = {}};
  auto const watch = watching(std::move(on_progress));
  auto build = run(*watch, [watch, held = engine.engine, rows = table.rows, keys, options]() -> Result<JoinBuild> {
    auto controlled = options;
    controlled.control = watch->control();
    GARUDA_TRY_ASSIGN(
        auto const checked,
        rows->checked(options.threads, std::set<std::string_view>(keys.begin(), keys.end()), &controlled.control));
    return held->build(checked, keys, controlled);
  });
  return {engine.engine, table.rows, {new JoinBuild(std::move(build)), destroy_unless_forked<JoinBuild const>}};
}

JoinQuery make_join(HeldEngine const& engine, HeldTable const& left, HeldTable const& right,
                    std::vector<std::pair<std::string, std::string>> on, std::string const& how,
                    std::optional<std::string> const& where, std::optional<std::vector<std::string>> const& columns,
                    bool nulls_equal, bool ordered, bool allow_cross, Settings const& settings,
                    std::optional<HeldBuild> const& build) {
  JoinQuery query{engine.engine, left.rows, right.rows, {}, {settings.run, {}}};
  if (build) query.build = build->build;
  for (auto const& [left_key, right_key] : on) {
    require_column(left.rows->view(), left_key);
    require_column(right.rows->view(), right_key);
  }
  query.spec = {.on = std::move(on),
                .kind = unwrap(parse_join_kind(how)),
                .nulls_equal = nulls_equal,
                .columns = {},
                .ordered = ordered,
                .allow_cross = allow_cross,
                .strings = settings.strings};
  if (where) query.spec.where = unwrap(parse_condition(*where));
  if (columns) {
    query.spec.columns.emplace();
    for (auto const& name : *columns) {
      auto column = unwrap(parse_column_ref(name));
      require_column((column.side == Side::left ? left : right).rows->view(), column.name);
      query.spec.columns->push_back(std::move(column));
    }
  }
  query.options.tuning = unwrap(parse_join_tuning(settings.tuning));
  return with_threads(std::move(query));
}

GroupByQuery make_group_by(HeldEngine const& engine, HeldTable const& table, std::vector<std::string> keys,
                           std::string const& aggregates, std::vector<bool> const& as_states, bool ordered,
                           Settings const& settings) {
  GroupByQuery query{engine.engine,
                     table.rows,
                     {std::move(keys), unwrap(parse_aggregates(aggregates)), ordered, settings.strings},
                     {settings.run, {}}};
  for (std::size_t i = 0; i < std::min(as_states.size(), query.spec.aggregates.size()); ++i)
    query.spec.aggregates[i].as_state = as_states[i];
  for (auto const& key : query.spec.keys) require_column(table.rows->view(), key);
  for (auto const& aggregate : query.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column) require_column(table.rows->view(), *column);
  query.options.tuning = unwrap(parse_group_by_tuning(settings.tuning));
  return with_threads(std::move(query));
}

PlanQuery make_plan(HeldEngine const& engine, nb::bytes const& plan,
                    std::vector<std::pair<std::string, HeldTable>> const& tables, Settings const& settings,
                    bool strict) {
  PlanQuery query{engine.engine, std::string(plan.c_str(), plan.size()), {}, {settings.run, {}, {}, strict}};
  for (auto const& [name, table] : tables) query.tables.emplace_back(name, HeldTable{table.rows, {}, table.stored});
  query.options.join_tuning = unwrap(parse_join_tuning(settings.tuning));
  query.options.group_by_tuning = unwrap(parse_group_by_tuning(settings.tuning));
  return with_threads(std::move(query));
}

/// `groups`: of each row, 64 bits each.
HeldTable merged_states(HeldTable const& states, nb::bytes const& groups, std::uint64_t num_groups) {
  auto const watch = watching();
  std::vector<std::uint64_t> numbers(groups.size() / sizeof(std::uint64_t));
  std::memcpy(numbers.data(), groups.c_str(), numbers.size() * sizeof(std::uint64_t));
  auto merged = run(*watch, [watch, held = states.rows, numbers = std::move(numbers), num_groups]() -> Result<Table> {
    auto const control = watch->control();
    GARUDA_TRY_ASSIGN(auto const rows, held->checked(0, {}, &control));
    return merge_states(rows, numbers, num_groups, control);
  });
  return {share(nullptr, std::move(merged))};
}

/// `rows`: a table of the columns that `aggregates` are of, without rows or with any.
HeldTable finished_states(HeldTable const& states, HeldTable const& rows, std::string const& aggregates) {
  auto const watch = watching();
  auto parsed = unwrap(parse_aggregates(aggregates));
  auto values =
      run(*watch, [watch, held = states.rows, types = rows.rows, parsed = std::move(parsed)]() -> Result<Table> {
        auto const control = watch->control();
        GARUDA_TRY_ASSIGN(auto const made, held->checked(0, {}, &control));
        return values_of_states(made, types->view().schema(), parsed, control);
      });
  return {share(nullptr, std::move(values))};
}

/// The batches of a query that runs, on the host.
class HeldStream {
 public:
  explicit HeldStream(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  HeldStream(HeldStream&&) = default;
  ~HeldStream() {
    Unlocked const unlocked;  // what still runs ends first
    run_.reset();
  }

  /// The next batch as a table; nullopt after the last.
  std::optional<HeldTable> next() {
    (void)here();
    auto batch = next_of(run_);
    if (!batch) return std::nullopt;
    std::vector<Batch> batches;
    batches.push_back(*std::move(batch));
    return HeldTable{share(run_->engine, Table(run_->rows->schema(), std::move(batches)))};
  }

  /// Hands all batches that are left to a consumer of Arrow streams.
  nb::capsule stream() {
    (void)here();
    ArrowArrayStream out;
    export_arrow(std::make_unique<RunStream>(std::exchange(run_, nullptr)), &out);
    return to_capsule(out);
  }

  Run& here() const {
    if (!run_) raise(Error(ErrorCode::usage, "the rows of this stream were handed on before, or it was interrupted"));
    return *run_;
  }

 private:
  /// Gives the next batch; called with the global lock. A call that was left has the run for itself.
  static std::optional<Batch> next_of(std::shared_ptr<Run>& held) {
    try {
      return run(*held->watch, [held] { return held->rows->next(); });
    } catch (nb::python_error const&) {
      Unlocked const unlocked;
      held.reset();
      throw;
    }
  }

  class RunStream final : public BatchStream {
   public:
    explicit RunStream(std::shared_ptr<Run> run) : run_(std::move(run)), schema_(run_->rows->schema()) {}
    Schema const& schema() const noexcept override { return schema_; }
    /// The library that reads in the main thread may not look after signals before the last batch. It raises what it
    /// makes of the error.
    Result<std::optional<Batch>> next() override {
      if (!run_) return fail(ErrorCode::cancelled, "this stream was interrupted");
      if (!is_main_thread() || Py_IsInitialized() == 0) {
        Going const going(run_->watch->cancelled());
        return run_->rows->next();
      }
      Locked const locked;
      try {
        return next_of(run_);
      } catch (Failure const& failure) {
        return tl::unexpected(failure.error);
      } catch (nb::python_error const&) {
        return fail(ErrorCode::cancelled, "this stream was interrupted");
      }
    }

   private:
    std::shared_ptr<Run> run_;
    Schema schema_;
  };

  std::shared_ptr<Run> run_;
};

template <class Query, class... Extra>
void bind_query(nb::class_<Query, Extra...>& query) {
  query.def("run", run_query<Query>, nb::arg("on_progress").none())
      .def(
          "stream",
          [](Query const& held, nb::object on_progress) { return HeldStream(start(held, std::move(on_progress))); },
          nb::arg("on_progress").none())
      .def("explain", explain<Query>);
}

}  // namespace

void bind_queries(nb::module_& module) {
  module.def(
      "read_stored",
      [](HeldEngine const& engine, HeldTable const& table, std::vector<std::string> columns) {
        for (auto const& name : columns) require_column(table.rows->view(), name);
        return run_query(StoredQuery{engine.engine, table, std::move(columns)}, nb::none());
      },
      nb::arg("engine"), nb::arg("table"), nb::arg("columns"));
  module.def("merge_states", merged_states, nb::arg("states"), nb::arg("groups"), nb::arg("num_groups"));
  module.def("values_of_states", finished_states, nb::arg("states"), nb::arg("rows"), nb::arg("aggregates"));
  nb::class_<Settings>(module, "Settings")
      .def(nb::new_(&make_settings), nb::arg("path"), nb::arg("device").none(), nb::arg("tuning"),
           nb::arg("memory_limit"), nb::arg("device_memory_limit"), nb::arg("threads"), nb::arg("allow_cuda"),
           nb::arg("expected_rows"), nb::arg("strings"))
      .def_prop_ro("is_limited", [](Settings const& settings) { return settings.run.memory_limit_bytes != 0; })
      .def_prop_ro("threads", [](Settings const& settings) { return settings.run.threads; });

  auto join = nb::class_<JoinQuery>(module, "Join")
                  .def(nb::new_(&make_join), nb::arg("engine"), nb::arg("left"), nb::arg("right"), nb::arg("on"),
                       nb::arg("how"), nb::arg("where").none(), nb::arg("columns").none(), nb::arg("nulls_equal"),
                       nb::arg("ordered"), nb::arg("allow_cross"), nb::arg("settings"), nb::arg("build").none())
                  .def("count", count, nb::arg("on_progress").none());
  bind_query(join);
  nb::class_<HeldBuild>(module, "JoinBuild")
      .def(nb::new_(&make_build), nb::arg("engine"), nb::arg("table"), nb::arg("keys"), nb::arg("nulls_equal"),
           nb::arg("settings"), nb::arg("on_progress").none())
      .def_prop_ro("table", [](HeldBuild const& held) { return HeldTable{held.rows}; })
      .def_prop_ro("host_bytes", [](HeldBuild const& held) { return held.build->host_bytes(); });
  auto group_by = nb::class_<GroupByQuery>(module, "GroupBy")
                      .def(nb::new_(&make_group_by), nb::arg("engine"), nb::arg("table"), nb::arg("keys"),
                           nb::arg("aggregates"), nb::arg("as_states"), nb::arg("ordered"), nb::arg("settings"));
  bind_query(group_by);
  auto plan = nb::class_<PlanQuery>(module, "PlanQuery")
                  .def(nb::new_(&make_plan), nb::arg("engine"), nb::arg("plan"), nb::arg("tables"), nb::arg("settings"),
                       nb::arg("strict"));
  bind_query(plan);

  nb::class_<HeldStream>(module, "Stream")
      .def("next", &HeldStream::next)
      .def("stream", &HeldStream::stream)
      .def("schema", [](HeldStream const& held) { return schema_capsule(held.here().rows->schema()); })
      .def("fields",
           [](HeldStream const& held) {
             nb::list fields;
             for (auto const& field : held.here().rows->schema())
               fields.append(nb::make_tuple(field.name, to_string(field.type), field.nullable));
             return fields;
           })
      .def("plan_text", [](HeldStream const& held) { return to_string(held.here().rows->plan()); })
      .def("plan_json", [](HeldStream const& held) { return to_json(held.here().rows->plan()); })
      .def("stats_json", [](HeldStream const& held) { return to_json(held.here().rows->stats()); });
}

}  // namespace garuda::python
