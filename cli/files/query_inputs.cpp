#include "cli/files/query_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <utility>

#include "cli/interrupt.hpp"
#include "garuda/engine.hpp"
#include "io/scan_files.hpp"
#include "io/table_reader.hpp"

namespace garuda::cli {
namespace {

Result<io::TableFiles const*> find_files(QueryRequest const& request, std::string const& name) {
  auto const found = std::ranges::find(request.tables, name, &io::NamedFiles::name);
  if (found != request.tables.end()) return &found->files;
  std::string known;
  for (auto const& table : request.tables) known += fmt::format("{}{}", known.empty() ? "" : ", ", table.name);
  return fail(ErrorCode::invalid_input, fmt::format("the plan reads a table that neither --table nor --tables gives "
                                                    "(there are: {}): {}",
                                                    known.empty() ? "none" : known, name));
}

Result<Table> read_table(QueryRequest const& request, io::TableFiles const& files, PlannedTable const& planned,
                         FilesRead& read) {
  io::ReadOptions options;
  options.columns = planned.columns;
  options.wanted = planned.rows;
  options.as_stored = true;
  options.files_read = &read;
  // The limit holds for the tables, too.
  if (request.options.memory_limit_bytes != 0) options.spill_folder.emplace(request.temp_folder);
  options.threads = request.options.threads;
  options.bytes_read = request.bytes_read;
  options.cancelled = &interrupted();
  return io::read_table(files, options);
}

}  // namespace

std::vector<NamedTable> QueryInputs::named() const {
  std::vector<NamedTable> named;
  for (auto const& input : inputs_) {
    named.push_back({input.name, ScannedTable(input.table.view())});
    named.back().table.files = input.files;
    named.back().table.fields = &input.fields;
  }
  return named;
}

void QueryInputs::add(std::string name, Table table, Schema fields, FilesRead files) {
  inputs_.push_back({std::move(name), std::move(table), std::move(fields), files});
}

std::span<std::byte const> message_of(QueryRequest const& request) {
  return std::as_bytes(std::span(request.plan.data(), request.plan.size()));
}

Result<QueryInputs> read_inputs(QueryRequest const& request) {
  std::list<Table> without_rows;  // views of them stay good
  GARUDA_TRY_ASSIGN(
      auto const planned,
      Engine::tables_of_substrait(message_of(request), [&](std::string const& name) -> Result<ScannedTable> {
        GARUDA_TRY_ASSIGN(auto const* const files, find_files(request, name));
        GARUDA_TRY_ASSIGN(auto schema, io::schema_of(*files));
        return ScannedTable(without_rows.emplace_back(std::move(schema), std::vector<Batch>()).view());
      }));
  QueryInputs inputs;
  auto whole = without_rows.begin();
  for (auto const& table : planned) {
    GARUDA_TRY_ASSIGN(auto const* const files, find_files(request, table.name));
    FilesRead share;
    GARUDA_TRY_ASSIGN(auto read, read_table(request, *files, table, share));
    auto rows = io::with_all_columns(std::move(read), (whole++)->schema());
    GARUDA_TRY_ASSIGN(auto fields, io::decoded_fields(rows.schema()));
    inputs.add(table.name, std::move(rows), std::move(fields), share);
  }
  return inputs;
}

}  // namespace garuda::cli
