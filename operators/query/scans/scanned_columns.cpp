#include "operators/query/scans/scanned_columns.hpp"

#include <utility>
#include <variant>

#include "expr/program.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/scans/row_tests.hpp"

namespace garuda::query {
namespace {

/// A projection of a scan reads what its columns are made of; any other operator reads all of the scan.
std::set<std::size_t> columns_above(Bound const& above, Bound const& scan) {
  std::set<std::size_t> columns;
  if (auto const* const project = std::get_if<BoundProject>(&above.operation)) {
    for (auto const& column : project->columns)
      if (auto const* const position = std::get_if<std::size_t>(&column))
        columns.insert(*position);
      else
        expr::visit_columns(std::get<expr::Expression>(column), [&](std::size_t read) { columns.insert(read); });
    return columns;
  }
  for (std::size_t c = 0; c < scan.schema.size(); ++c) columns.insert(c);
  return columns;
}

void add_scans(Bound const& query, std::vector<ScannedColumns>& scans) {
  for (auto const& input : query.inputs) {
    if (auto const* const scan = std::get_if<BoundScan>(&input.operation))
      scans.push_back({scan->table, columns_above(query, input), {}});
    else
      add_scans(input, scans);
  }
}

}  // namespace

Result<std::vector<ScannedColumns>> scanned_columns(Query const& query) {
  GARUDA_TRY_ASSIGN(auto bound, bind(query));
  bound = prune(std::move(bound));
  std::vector<ScannedColumns> scans;
  if (auto const* const scan = std::get_if<BoundScan>(&bound.operation))
    scans.push_back({scan->table, columns_above(bound, bound), {}});
  else
    add_scans(bound, scans);
  auto tests = row_tests(bound);
  GARUDA_EXPECTS(tests.size() == scans.size());
  for (std::size_t s = 0; s < scans.size(); ++s) scans[s].rows = std::move(tests[s]);
  return scans;
}

TableReads reads_of(TableView table, std::span<ScannedColumns const> scans) {
  auto const& schema = table.schema();
  std::set<std::size_t> read;
  TableReads reads;
  for (auto const& scan : scans) {
    if (&scan.table.schema() != &schema) continue;
    read.insert(scan.columns.begin(), scan.columns.end());
    if (reads.rows.passes_all()) continue;
    if (scan.rows.passes_all())
      reads.rows = {};
    else
      reads.rows.parts.push_back(scan.rows);
  }
  for (auto const column : read) reads.columns.push_back(schema[column].name);
  return reads;
}

}  // namespace garuda::query
