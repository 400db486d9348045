// Plans of Substrait by the C ABI.
#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/garuda.h"
#include "operators/engine/c_api.hpp"

namespace garuda::c_api {
namespace {

/// The checked arguments of a plan of Substrait: the tables that it names among those that were given.
struct Planned {
  std::span<std::byte const> plan;
  std::vector<NamedTable> tables;
  std::vector<SharedRows> inputs;
  QueryOptions options;
};

Result<QueryOptions> query_options_of(garuda_run_options const* run) {
  GARUDA_TRY_ASSIGN(auto const join, options_of<JoinOptions>(run, parse_join_tuning));
  GARUDA_TRY_ASSIGN(auto const group_by, options_of<GroupByOptions>(run, parse_group_by_tuning));
  return QueryOptions{join, join.tuning, group_by.tuning, false};
}

Result<Planned> planned_of(garuda_engine const* engine, garuda_plan const* plan, garuda_run_options const* run) {
  GARUDA_EXPECTS(engine != nullptr && plan != nullptr);
  GARUDA_TRY(check_size(*plan, "plan"));
  GARUDA_EXPECTS((plan->num_bytes == 0 || plan->bytes != nullptr) &&
                 (plan->num_tables == 0 || plan->tables != nullptr));
  std::map<std::string, garuda_table const*> given;
  for (std::size_t t = 0; t < plan->num_tables; ++t) {
    GARUDA_EXPECTS(plan->tables[t].name != nullptr && plan->tables[t].table != nullptr);
    if (!given.emplace(plan->tables[t].name, plan->tables[t].table).second)
      return fail(ErrorCode::usage, fmt::format("two tables of a plan are called: {}", plan->tables[t].name));
  }
  Planned planned{{static_cast<std::byte const*>(plan->bytes), plan->num_bytes}, {}, {}, {}};
  GARUDA_TRY_ASSIGN(planned.options, query_options_of(run));
  planned.options.strict = plan->strict != 0;
  auto const find = [&](std::string const& name) -> Result<TableView> {
    auto const found = given.find(name);
    if (found != given.end()) return found->second->rows->view();
    return fail(ErrorCode::invalid_input, fmt::format("the plan reads a table that it was not given: {}", name));
  };
  GARUDA_TRY_ASSIGN(auto const read, Engine::tables_of_substrait(planned.plan, find));
  for (auto const& [name, columns, tested] : read) {
    auto const& rows = given.at(name)->rows;
    GARUDA_TRY_ASSIGN(auto const table,
                      rows->checked(planned.options.threads, std::set<std::string_view>(columns.begin(), columns.end()),
                                    &planned.options.control));
    planned.tables.push_back({name, ScannedTable(table)});
    planned.inputs.push_back(rows);
  }
  return planned;
}

}  // namespace
}  // namespace garuda::c_api

using garuda::Result;
using garuda::c_api::give;
using garuda::c_api::new_result;
using garuda::c_api::planned_of;
using garuda::c_api::translated;

extern "C" {

int garuda_run_substrait(garuda_engine* engine, garuda_plan const* plan, garuda_run_options const* run,
                         garuda_result** result, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(result != nullptr);
    GARUDA_TRY_ASSIGN(auto const planned, planned_of(engine, plan, run));
    GARUDA_TRY_ASSIGN(auto rows, engine->engine.run_substrait(planned.plan, planned.tables, planned.options));
    *result = new_result(planned.inputs, std::move(rows));
    return {};
  });
}

int garuda_explain_substrait(garuda_engine* engine, garuda_plan const* plan, garuda_run_options const* run, char** json,
                             char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const planned, planned_of(engine, plan, run));
    GARUDA_TRY_ASSIGN(auto const explained,
                      engine->engine.explain_substrait(planned.plan, planned.tables, planned.options));
    return give(garuda::to_json(explained), json);
  });
}

}  // extern "C"
