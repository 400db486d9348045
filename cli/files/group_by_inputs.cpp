#include "cli/files/group_by_inputs.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/interrupt.hpp"
#include "io/table_reader.hpp"

namespace garuda::cli {
namespace {

/// The columns that `request` uses; when it only counts rows, one that garuda can read.
Result<std::vector<std::string>> used_columns(GroupByRequest const& request) {
  auto columns = request.spec.keys;
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column) columns.push_back(*column);
  if (!columns.empty()) return columns;
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(request.table));
  for (auto const& field : fields)
    if (field.field) return std::vector{field.name};
  return fail(ErrorCode::invalid_input, fmt::format("{} has no column of a type that garuda has", request.table.name));
}

/// Whether an aggregate's type is its own, however wide its column is stored. Others may give the type that they get.
bool has_own_type(AggregateFunction function) {
  using enum AggregateFunction;
  switch (function) {
    case count:
    case sum:
    case mean:
    case var:
    case var_pop:
    case std_dev:
    case std_dev_pop:
    case covar:
    case covar_pop:
    case corr:
      return true;
    default:
      return false;
  }
}

Result<io::ReadOptions> read_options(GroupByRequest const& request) {
  io::ReadOptions options;
  GARUDA_TRY_ASSIGN(options.columns, used_columns(request));
  options.as_stored = request.strings == StringForm::utf8;  // views refer to plain values
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column && !has_own_type(aggregate.function)) options.plain_columns.push_back(*column);
  options.threads = request.options.threads;
  options.bytes_read = request.bytes_read;
  options.cancelled = &interrupted();
  return options;
}

}  // namespace

Result<Table> read_input(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const options, read_options(request));
  return io::read_table(request.table, options);
}

Result<spill::FileGroupBy> group_by_of_file(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto options, read_options(request));
  return spill::FileGroupBy{{request.table, std::move(options)}, request.spec, request.options, request.temp_folder};
}

}  // namespace garuda::cli
