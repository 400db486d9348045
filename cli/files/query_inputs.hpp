// The tables of a query, read from their files.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments/query_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/substrait.hpp"
#include "garuda/table.hpp"

namespace garuda::cli {

/// Tables, and their names.
class QueryInputs {
 public:
  /// Views of all tables, which this must outlive.
  std::vector<NamedTable> named() const;
  /// `fields`: what the columns of the table stand for. `files`: the share of its files that was read.
  void add(std::string name, Table table, Schema fields, FilesRead files);

 private:
  struct Input {
    std::string name;
    Table table;
    Schema fields;
    FilesRead files;
  };

  std::list<Input> inputs_;  // fields are referred to
};

/// The bytes of the plan.
std::span<std::byte const> message_of(QueryRequest const& request);

/// Reads the tables that the plan of `request` names, of their columns those that it reads, as their files store them,
/// and of Parquet files the row groups that it may need; other columns are there without values. Errors: as
/// io::read_table; those of Engine::tables_of_substrait.
Result<QueryInputs> read_inputs(QueryRequest const& request);

}  // namespace garuda::cli
