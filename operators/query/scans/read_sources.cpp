#include "operators/query/scans/read_sources.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/task_threads.hpp"
#include "garuda/device_table.hpp"
#include "operators/query/scans/scanned_columns.hpp"

namespace garuda::query {
namespace {

using Sources = std::map<TableSource const*, TableSource::Rows>;

/// Adds the scans of a query that are read when it runs, one a source.
void add_scans(std::vector<ScannedTable const*>& scans, Query const& query) {
  auto const& [operation, inputs] = query.node();
  auto const* const scan = std::get_if<Query::Scan>(&operation);
  bool const is_read = scan != nullptr && scan->source != nullptr;
  if (is_read && std::ranges::find(scans, scan->source, &ScannedTable::source) == scans.end()) scans.push_back(scan);
  for (auto const& input : inputs) add_scans(scans, input);
}

/// Reads the sources of scans side by side, so that no thread waits for the last column of one; under a memory limit,
/// which each of them takes for itself, one after the other.
Result<Sources> read_all(std::vector<ScannedTable const*> const& scans, std::vector<ScannedColumns> const& reads,
                         QueryOptions const& options) {
  auto const read = [&](std::size_t i) {
    auto const [columns, rows] = reads_of(scans[i]->table, reads);
    return scans[i]->source->read(columns, rows, options);
  };
  GARUDA_TRY_ASSIGN(auto rows, task_values(scans.size(), options.threads, options.memory_limit_bytes != 0, read));
  Sources sources;
  for (std::size_t i = 0; i < scans.size(); ++i) sources.emplace(scans[i]->source.get(), std::move(rows[i]));
  return sources;
}

/// The query over the rows that were read.
Query over(Sources const& sources, Query const& query) {
  auto node = query.node();
  if (auto* const scan = std::get_if<Query::Scan>(&node.operation); scan != nullptr && scan->source != nullptr) {
    return Query::scan(ScannedTable(sources.at(scan->source.get())));
  }
  for (auto& input : node.inputs) input = over(sources, input);
  return Query::of(std::move(node));
}

class KeepingResult final : public QueryResult {
 public:
  KeepingResult(std::shared_ptr<void const> rows, std::unique_ptr<QueryResult> result)
      : rows_(std::move(rows)), result_(std::move(result)) {}

  Schema const& schema() const noexcept override { return result_->schema(); }
  Result<std::optional<Batch>> next() override {
    GARUDA_TRY_ASSIGN(auto batch, result_->next());
    using Owners = std::pair<std::shared_ptr<void const>, std::shared_ptr<void const>>;
    if (batch) batch->owner = std::make_shared<Owners const>(rows_, std::move(batch->owner));
    return batch;
  }
  Plan const& plan() const noexcept override { return result_->plan(); }
  RunStats stats() const override { return result_->stats(); }
  Result<DeviceTable> take_device_table() override { return result_->take_device_table(); }

 private:
  std::shared_ptr<void const> rows_;  // outlives the result
  std::unique_ptr<QueryResult> result_;
};

}  // namespace

bool has_sources(Query const& query) {
  auto const* const scan = std::get_if<Query::Scan>(&query.node().operation);
  return (scan != nullptr && scan->source != nullptr) || std::ranges::any_of(query.node().inputs, has_sources);
}

Result<ReadQuery> read_sources(Query const& query, QueryOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const scans, scanned_columns(query));
  std::vector<ScannedTable const*> sourced;
  add_scans(sourced, query);
  GARUDA_TRY_ASSIGN(auto read, read_all(sourced, scans, options));
  auto const sources = std::make_shared<Sources const>(std::move(read));
  return ReadQuery{over(*sources, query), sources};
}

std::unique_ptr<QueryResult> keeping(std::shared_ptr<void const> rows, std::unique_ptr<QueryResult> result) {
  return std::make_unique<KeepingResult>(std::move(rows), std::move(result));
}

}  // namespace garuda::query
