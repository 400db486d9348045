// The C ABI over the C++ API: tables, joins, group-bys, and what comes of them.
#include "operators/engine/c_api.hpp"

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "garuda/engine.hpp"
#include "garuda/garuda.h"

namespace {

using garuda::ErrorCode;
using garuda::Result;
using garuda::c_api::check_size;
using garuda::c_api::give;
using garuda::c_api::new_result;
using garuda::c_api::options_of;
using garuda::c_api::Query;
using garuda::c_api::translated;
using garuda::engine::columns_of;
using garuda::engine::Rows;

class QueryStream final : public garuda::BatchStream {
 public:
  explicit QueryStream(std::shared_ptr<Query> query) : query_(std::move(query)) {}

  garuda::Schema const& schema() const noexcept override { return query_->rows->schema(); }
  Result<std::optional<garuda::Batch>> next() override { return query_->rows->next(); }

 private:
  std::shared_ptr<Query> query_;
};

Result<garuda::StringForm> strings_of(char const* name) {
  return garuda::parse_string_form(name == nullptr ? "utf8" : name);
}

Result<garuda::JoinSpec> spec_of(garuda_join_options const& options) {
  GARUDA_TRY(check_size(options, "join"));
  if (options.num_keys > 0 && (options.left_keys == nullptr || options.right_keys == nullptr))
    return garuda::fail(ErrorCode::usage, "the join options name no key columns");
  garuda::JoinSpec spec;
  spec.allow_cross = options.allow_cross != 0;
  for (std::size_t i = 0; i < options.num_keys; ++i) {
    GARUDA_EXPECTS(options.left_keys[i] != nullptr && options.right_keys[i] != nullptr);
    spec.on.emplace_back(options.left_keys[i], options.right_keys[i]);
  }
  if (options.how != nullptr) {
    GARUDA_TRY_ASSIGN(spec.kind, garuda::parse_join_kind(options.how));
  }
  spec.nulls_equal = options.nulls_equal != 0;
  spec.ordered = options.ordered != 0;
  if (options.where != nullptr) {
    GARUDA_TRY_ASSIGN(spec.where, garuda::parse_condition(options.where));
  }
  GARUDA_TRY_ASSIGN(spec.strings, strings_of(options.strings));
  if (options.columns == nullptr) return spec;
  spec.columns.emplace();
  for (std::size_t i = 0; i < options.num_columns; ++i) {
    GARUDA_EXPECTS(options.columns[i] != nullptr);
    GARUDA_TRY_ASSIGN(auto column, garuda::parse_column_ref(options.columns[i]));
    spec.columns->push_back(std::move(column));
  }
  return spec;
}

Result<garuda::GroupBySpec> spec_of(garuda_group_by_options const& options) {
  GARUDA_TRY(check_size(options, "group-by"));
  GARUDA_EXPECTS(options.num_keys == 0 || options.keys != nullptr);
  garuda::GroupBySpec spec;
  for (std::size_t i = 0; i < options.num_keys; ++i) {
    GARUDA_EXPECTS(options.keys[i] != nullptr);
    spec.keys.emplace_back(options.keys[i]);
  }
  GARUDA_TRY_ASSIGN(spec.aggregates, garuda::parse_aggregates(options.aggregates == nullptr ? "" : options.aggregates));
  spec.ordered = options.ordered != 0;
  GARUDA_TRY_ASSIGN(spec.strings, strings_of(options.strings));
  return spec;
}

/// The checked arguments of a join.
struct Join {
  garuda::TableView left;
  garuda::JoinRight right{garuda::TableView()};
  garuda::JoinSpec spec;
  garuda::JoinOptions options;
};
Result<Join> join_of(garuda_engine const* engine, garuda_table const* left, garuda_table const* right,
                     garuda_join_options const* options) {
  GARUDA_EXPECTS(engine != nullptr && left != nullptr && right != nullptr && options != nullptr);
  Join join;
  GARUDA_TRY_ASSIGN(join.spec, spec_of(*options));
  GARUDA_TRY_ASSIGN(join.options, options_of<garuda::JoinOptions>(options->run, garuda::parse_join_tuning));
  GARUDA_TRY_ASSIGN(join.left, left->rows->checked(join.options.threads, columns_of(join.spec, garuda::Side::left),
                                                   &join.options.control));
  GARUDA_TRY_ASSIGN(
      auto const right_rows,
      right->rows->checked(join.options.threads, columns_of(join.spec, garuda::Side::right), &join.options.control));
  join.right = right->build ? garuda::JoinRight(*right->build) : garuda::JoinRight(right_rows);
  return join;
}

struct GroupBy {
  garuda::TableView table;
  garuda::GroupBySpec spec;
  garuda::GroupByOptions options;
};
Result<GroupBy> group_by_of(garuda_engine const* engine, garuda_table const* table,
                            garuda_group_by_options const* options) {
  GARUDA_EXPECTS(engine != nullptr && table != nullptr && options != nullptr);
  GroupBy group_by;
  GARUDA_TRY_ASSIGN(group_by.spec, spec_of(*options));
  GARUDA_TRY_ASSIGN(group_by.options, options_of<garuda::GroupByOptions>(options->run, garuda::parse_group_by_tuning));
  GARUDA_TRY_ASSIGN(group_by.table, table->rows->checked(group_by.options.threads, columns_of(group_by.spec),
                                                         &group_by.options.control));
  return group_by;
}

template <class Place>
garuda_table* new_table(Place table, garuda::Offsets offsets = garuda::Offsets::checked) {
  return new garuda_table{std::make_shared<Rows>(std::move(table), offsets)};
}

Result<Query*> take(garuda_result* result) {
  GARUDA_EXPECTS(result != nullptr);
  if (result->query->is_taken) return garuda::fail(ErrorCode::usage, "the rows of this result were taken before");
  result->query->is_taken = true;
  return result->query.get();
}

int explain_join(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                 garuda_join_options const* options, decltype(&garuda::Engine::explain_join) explain, char** json,
                 char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const join, join_of(engine, left, right, options));
    GARUDA_TRY_ASSIGN(auto const plan, (engine->engine.*explain)(join.left, join.right, join.spec, join.options));
    return give(garuda::to_json(plan), json);
  });
}

}  // namespace

extern "C" {

garuda_cancellation* garuda_cancellation_create(void) { return new (std::nothrow) garuda_cancellation; }

void garuda_cancellation_set(garuda_cancellation* cancellation) { cancellation->cancelled = true; }

void garuda_cancellation_destroy(garuda_cancellation* cancellation) { delete cancellation; }

int garuda_engine_create(garuda_engine** engine, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(engine != nullptr);
    GARUDA_TRY_ASSIGN(auto created, garuda::Engine::create());
    *engine = new garuda_engine{std::move(created)};
    return {};
  });
}

void garuda_engine_destroy(garuda_engine* engine) { delete engine; }

int garuda_table_read(ArrowArrayStream* stream, garuda_table** table, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(stream != nullptr);
    GARUDA_TRY_ASSIGN(auto read, garuda::import_arrow(stream, garuda::Offsets::deferred));
    GARUDA_EXPECTS(table != nullptr);
    *table = new_table(std::move(read), garuda::Offsets::deferred);
    return {};
  });
}

int garuda_table_upload(garuda_engine* engine, garuda_table const* table, char const* device, garuda_table** out,
                        char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(engine != nullptr && table != nullptr && out != nullptr);
    garuda::DeviceTableOptions options;
    if (device != nullptr) options.device = device;
    GARUDA_TRY_ASSIGN(auto const rows, table->rows->checked(0));
    GARUDA_TRY_ASSIGN(auto uploaded, engine->engine.upload(rows, options));
    *out = new_table(std::move(uploaded));
    return {};
  });
}

int garuda_table_build_index(garuda_table* table, char const* column, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(table != nullptr && column != nullptr);
    auto* const on_device = std::get_if<garuda::DeviceTable>(&table->rows->place());
    if (on_device == nullptr)
      return garuda::fail(garuda::ErrorCode::usage,
                          "an index is of a table in the memory of a device: upload it first");
    return on_device->build_index(column);
  });
}

int garuda_table_stream(garuda_table const* table, ArrowArrayStream* out, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(table != nullptr && out != nullptr);
    auto rows = table->rows;
    if (auto const* const on_device = std::get_if<garuda::DeviceTable>(&rows->place())) {
      GARUDA_TRY_ASSIGN(auto downloaded, on_device->download());
      rows = std::make_shared<Rows>(std::move(downloaded), garuda::Offsets::checked);
    }
    GARUDA_TRY(rows->checked(0));
    auto const* const on_host = std::get_if<garuda::Table>(&rows->place());
    garuda::export_arrow(std::shared_ptr<garuda::Table const>(std::move(rows), on_host), out);
    return {};
  });
}

uint64_t garuda_table_rows(garuda_table const* table) { return static_cast<uint64_t>(table->rows->view().num_rows()); }

void garuda_table_destroy(garuda_table* table) { delete table; }

int garuda_join_build(garuda_engine* engine, garuda_table const* table, char const* const* keys, size_t num_keys,
                      int nulls_equal, garuda_run_options const* run, garuda_table** build, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(engine != nullptr && table != nullptr && build != nullptr && (num_keys == 0 || keys != nullptr));
    GARUDA_TRY_ASSIGN(auto const options, options_of<garuda::JoinOptions>(run, garuda::parse_join_tuning));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < num_keys; ++i) {
      GARUDA_EXPECTS(keys[i] != nullptr);
      names.emplace_back(keys[i]);
    }
    GARUDA_TRY_ASSIGN(auto const rows,
                      table->rows->checked(options.threads, std::set<std::string_view>(names.begin(), names.end()),
                                           &options.control));
    GARUDA_TRY_ASSIGN(auto built, engine->engine.build(rows, names,
                                                       {.nulls_equal = nulls_equal != 0,
                                                        .threads = options.threads,
                                                        .memory_limit_bytes = options.memory_limit_bytes,
                                                        .radix_bits = options.tuning.radix_bits,
                                                        .control = options.control}));
    *build = new garuda_table{table->rows, std::move(built)};
    return {};
  });
}

int garuda_join(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                garuda_join_options const* options, garuda_result** result, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(result != nullptr);
    GARUDA_TRY_ASSIGN(auto const join, join_of(engine, left, right, options));
    GARUDA_TRY_ASSIGN(auto rows, engine->engine.join(join.left, join.right, join.spec, join.options));
    *result = new_result({left->rows, right->rows}, std::move(rows));
    return {};
  });
}

int garuda_join_count(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                      garuda_join_options const* options, uint64_t* rows, char** statistics, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(rows != nullptr);
    GARUDA_TRY_ASSIGN(auto const join, join_of(engine, left, right, options));
    GARUDA_TRY_ASSIGN(auto const counted, engine->engine.join_count(join.left, join.right, join.spec, join.options));
    *rows = counted.rows;
    return statistics == nullptr ? Result<void>{} : give(garuda::to_json(counted.stats), statistics);
  });
}

int garuda_group_by(garuda_engine* engine, garuda_table const* table, garuda_group_by_options const* options,
                    garuda_result** result, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(result != nullptr);
    GARUDA_TRY_ASSIGN(auto const group_by, group_by_of(engine, table, options));
    GARUDA_TRY_ASSIGN(auto rows, engine->engine.group_by(group_by.table, group_by.spec, group_by.options));
    *result = new_result({table->rows}, std::move(rows));
    return {};
  });
}

int garuda_explain_join(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                        garuda_join_options const* options, char** json, char** error) {
  return explain_join(engine, left, right, options, &garuda::Engine::explain_join, json, error);
}

int garuda_explain_join_count(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                              garuda_join_options const* options, char** json, char** error) {
  return explain_join(engine, left, right, options, &garuda::Engine::explain_join_count, json, error);
}

int garuda_explain_group_by(garuda_engine* engine, garuda_table const* table, garuda_group_by_options const* options,
                            char** json, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const group_by, group_by_of(engine, table, options));
    GARUDA_TRY_ASSIGN(auto const plan,
                      engine->engine.explain_group_by(group_by.table, group_by.spec, group_by.options));
    return give(garuda::to_json(plan), json);
  });
}

int garuda_result_stream(garuda_result* result, ArrowArrayStream* out, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(out != nullptr);
    GARUDA_TRY(take(result));
    garuda::export_arrow(std::make_unique<QueryStream>(result->query), out);
    return {};
  });
}

int garuda_result_table(garuda_result* result, garuda_table** table, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(table != nullptr);
    GARUDA_TRY_ASSIGN(auto* const query, take(result));
    if (auto on_device = query->rows->take_device_table()) {
      *table = new_table(*std::move(on_device));
      return {};
    } else if (on_device.error().code() != ErrorCode::usage) {
      return tl::unexpected(std::move(on_device).error());
    }
    GARUDA_TRY_ASSIGN(auto rows, garuda::collect(*query->rows));
    *table = new_table(std::move(rows));
    return {};
  });
}

int garuda_result_plan(garuda_result const* result, char** json, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(result != nullptr);
    return give(garuda::to_json(result->query->rows->plan()), json);
  });
}

int garuda_result_statistics(garuda_result const* result, char** json, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(result != nullptr);
    return give(garuda::to_json(result->query->rows->stats()), json);
  });
}

void garuda_result_destroy(garuda_result* result) { delete result; }

void garuda_string_free(char* text) { std::free(text); }

}  // extern "C"
