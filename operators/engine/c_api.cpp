// The C ABI over the C++ API: one translation of errors, one of options.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/shortage.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/engine.hpp"
#include "garuda/garuda.h"

struct garuda_engine {
  garuda::Engine engine;
};

struct garuda_cancellation {
  std::atomic<bool> cancelled{false};
};

namespace {

using garuda::ErrorCode;
using garuda::Result;

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return GARUDA_USAGE;
    case ErrorCode::invalid_input:
      return GARUDA_INVALID_INPUT;
    case ErrorCode::no_device:
      return GARUDA_NO_DEVICE;
    case ErrorCode::out_of_memory:
      return GARUDA_OUT_OF_MEMORY;
    case ErrorCode::limit_exceeded:
      return GARUDA_LIMIT_EXCEEDED;
    case ErrorCode::output:
      return GARUDA_OUTPUT;
    case ErrorCode::device_failure:
      return GARUDA_DEVICE_FAILURE;
    case ErrorCode::cancelled:
      return GARUDA_CANCELLED;
  }
  return GARUDA_LOGIC_ERROR;
}

int report(int code, char const* sentence, char** error) {
  if (error != nullptr) *error = ::strdup(sentence);
  return code;
}

/// Runs `call`, a Result<void>, and turns every way it can fail into a code and a sentence. No exception passes.
template <class Call>
int translated(char** error, Call call) {
  try {
    Result<void> const result = call();
    if (result) return GARUDA_OK;
    return report(code_of(result.error().code()), result.error().describe().c_str(), error);
  } catch (std::exception const& exception) {
    if (auto const shortage = garuda::current_shortage())
      return report(code_of(shortage->code()), shortage->describe().c_str(), error);
    return report(GARUDA_LOGIC_ERROR, exception.what(), error);
  }
}

/// A result together with the tables it reads.
class OwningResult final : public garuda::BatchStream {
 public:
  explicit OwningResult(std::vector<garuda::Table> tables) : tables_(std::move(tables)) {}

  garuda::TableView table(std::size_t position) const { return tables_[position].view(); }
  void hold(std::unique_ptr<garuda::QueryResult> result) { result_ = std::move(result); }

  garuda::Schema const& schema() const noexcept override { return result_->schema(); }
  Result<std::optional<garuda::Batch>> next() override { return result_->next(); }

 private:
  std::vector<garuda::Table> tables_;
  std::unique_ptr<garuda::QueryResult> result_;  // last: views the tables
};

struct Inputs {
  garuda::Table left;
  garuda::Table right;
};

/// Reads both streams to their end and releases them, the right one also when the left one fails.
Result<Inputs> read_inputs(ArrowArrayStream* left, ArrowArrayStream* right) {
  auto left_table = garuda::import_arrow(left);
  auto right_table = garuda::import_arrow(right);
  if (!left_table) return tl::unexpected(std::move(left_table).error().wrap("the left table cannot be read"));
  if (!right_table) return tl::unexpected(std::move(right_table).error().wrap("the right table cannot be read"));
  return Inputs{std::move(*left_table), std::move(*right_table)};
}

Result<garuda::ColumnRef> parse_column(std::string_view text) {
  for (auto const& [prefix, side] : {std::pair{std::string_view("left."), garuda::Side::left},
                                     std::pair{std::string_view("right."), garuda::Side::right}})
    if (text.substr(0, prefix.size()) == prefix)
      return garuda::ColumnRef{side, std::string(text.substr(prefix.size()))};
  return garuda::fail(ErrorCode::usage, fmt::format("a result column is left.NAME or right.NAME: {}", text));
}

Result<garuda::JoinSpec> spec_of(garuda_join_options const& options) {
  if (options.left_key == nullptr || options.right_key == nullptr)
    return garuda::fail(ErrorCode::usage, "the join options name no key columns");
  garuda::JoinSpec spec;
  spec.on = {{options.left_key, options.right_key}};
  spec.ordered = options.ordered != 0;
  if (options.columns == nullptr) return spec;
  spec.columns.emplace();
  for (std::size_t i = 0; i < options.num_columns; ++i) {
    GARUDA_TRY_ASSIGN(auto column, parse_column(options.columns[i]));
    spec.columns->push_back(std::move(column));
  }
  return spec;
}

template <class Options>
Result<void> check_size(Options const& options, std::string_view name) {
  if (options.size == sizeof(Options)) return {};
  return garuda::fail(ErrorCode::usage,
                      fmt::format("size of the {} options must be {}: {}", name, sizeof(Options), options.size));
}

/// The members that the options of all operators have.
template <class Options>
Result<void> set_run_options(Options const& options, garuda::RunOptions& run) {
  GARUDA_TRY_ASSIGN(run.path, garuda::parse_path(options.path == nullptr ? "auto" : options.path));
  if (options.device != nullptr) run.device = options.device;
  run.memory_limit_bytes = options.memory_limit_bytes;
  run.device_memory_limit_bytes = options.device_memory_limit_bytes;
  run.threads = options.threads;
  if (options.cancellation != nullptr) run.control.cancelled = &options.cancellation->cancelled;
  return {};
}

Result<garuda::JoinOptions> options_of(garuda_join_options const& options) {
  garuda::JoinOptions result;
  GARUDA_TRY(set_run_options(options, result));
  GARUDA_TRY_ASSIGN(result.tuning, garuda::parse_join_tuning(options.tuning == nullptr ? "" : options.tuning));
  return result;
}

Result<garuda::GroupByOptions> options_of(garuda_group_by_options const& options) {
  garuda::GroupByOptions result;
  GARUDA_TRY(set_run_options(options, result));
  GARUDA_TRY_ASSIGN(result.tuning, garuda::parse_group_by_tuning(options.tuning == nullptr ? "" : options.tuning));
  return result;
}

Result<garuda::GroupBySpec> spec_of(garuda_group_by_options const& options) {
  garuda::GroupBySpec spec;
  for (std::size_t i = 0; i < options.num_keys; ++i) spec.keys.emplace_back(options.keys[i]);
  GARUDA_TRY_ASSIGN(spec.aggregates, garuda::parse_aggregates(options.aggregates == nullptr ? "" : options.aggregates));
  spec.ordered = options.ordered != 0;
  return spec;
}

/// What both joins check and read before they differ.
template <class Run>
int with_inputs(garuda_engine* engine, ArrowArrayStream* left, ArrowArrayStream* right,
                garuda_join_options const* options, char** error, Run run) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(left != nullptr && right != nullptr);
    GARUDA_TRY_ASSIGN(auto inputs, read_inputs(left, right));
    GARUDA_EXPECTS(engine != nullptr && options != nullptr);
    GARUDA_TRY(check_size(*options, "join"));
    GARUDA_TRY_ASSIGN(auto const spec, spec_of(*options));
    GARUDA_TRY_ASSIGN(auto const join_options, options_of(*options));
    return run(std::move(inputs), spec, join_options);
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

int garuda_join(garuda_engine* engine, ArrowArrayStream* left, ArrowArrayStream* right,
                garuda_join_options const* options, ArrowArrayStream* out, char** error) {
  return with_inputs(engine, left, right, options, error,
                     [&](Inputs inputs, garuda::JoinSpec const& spec, garuda::JoinOptions const& how) -> Result<void> {
                       GARUDA_EXPECTS(out != nullptr);
                       std::vector<garuda::Table> tables;
                       tables.push_back(std::move(inputs.left));
                       tables.push_back(std::move(inputs.right));
                       auto result = std::make_unique<OwningResult>(std::move(tables));
                       GARUDA_TRY_ASSIGN(auto join, engine->engine.join(result->table(0), result->table(1), spec, how));
                       result->hold(std::move(join));
                       garuda::export_arrow(std::move(result), out);
                       return {};
                     });
}

int garuda_join_count(garuda_engine* engine, ArrowArrayStream* left, ArrowArrayStream* right,
                      garuda_join_options const* options, uint64_t* rows, char** error) {
  return with_inputs(engine, left, right, options, error,
                     [&](Inputs inputs, garuda::JoinSpec const& spec, garuda::JoinOptions const& how) -> Result<void> {
                       GARUDA_EXPECTS(rows != nullptr);
                       GARUDA_TRY_ASSIGN(auto const counted,
                                         engine->engine.join_count(inputs.left.view(), inputs.right.view(), spec, how));
                       *rows = counted.rows;
                       return {};
                     });
}

int garuda_group_by(garuda_engine* engine, ArrowArrayStream* table, garuda_group_by_options const* options,
                    ArrowArrayStream* out, char** error) {
  return translated(error, [&]() -> Result<void> {
    GARUDA_EXPECTS(table != nullptr);
    auto input = garuda::import_arrow(table);
    if (!input) return tl::unexpected(std::move(input).error().wrap("the table cannot be read"));
    GARUDA_EXPECTS(engine != nullptr && options != nullptr && out != nullptr);
    GARUDA_TRY(check_size(*options, "group-by"));
    GARUDA_EXPECTS(options->num_keys == 0 || options->keys != nullptr);
    GARUDA_TRY_ASSIGN(auto const spec, spec_of(*options));
    GARUDA_TRY_ASSIGN(auto const how, options_of(*options));
    std::vector<garuda::Table> tables;
    tables.push_back(*std::move(input));
    auto result = std::make_unique<OwningResult>(std::move(tables));
    GARUDA_TRY_ASSIGN(auto groups, engine->engine.group_by(result->table(0), spec, how));
    result->hold(std::move(groups));
    garuda::export_arrow(std::move(result), out);
    return {};
  });
}

void garuda_string_free(char* text) { std::free(text); }

}  // extern "C"
