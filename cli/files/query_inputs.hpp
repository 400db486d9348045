// The tables of a query, read from their files.
#pragma once

#include <cstddef>
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
  void add(std::string name, Table table);

 private:
  std::vector<std::string> names_;
  std::vector<Table> tables_;
};

/// The bytes of the plan.
std::span<std::byte const> message_of(QueryRequest const& request);

/// Reads the tables that the plan of `request` names, of their columns those that it reads; the others are there
/// without values. Errors: as io::read_table; those of Engine::tables_of_substrait.
Result<QueryInputs> read_inputs(QueryRequest const& request);

}  // namespace garuda::cli
