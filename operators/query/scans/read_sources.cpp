#include "operators/query/scans/read_sources.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "garuda/device_table.hpp"
#include "operators/query/scans/scanned_columns.hpp"

namespace garuda::query {
namespace {

using Sources = std::map<TableSource const*, TableSource::Rows>;

/// Reads the sources that are scanned in a query and are not there yet.
Result<void> read_into(Sources& sources, Query const& query, std::vector<ScannedColumns> const& scans,
                       QueryOptions const& options) {
  auto const& [operation, inputs] = query.node();
  if (auto const* const scan = std::get_if<Query::Scan>(&operation);
      scan != nullptr && scan->source != nullptr && !sources.contains(scan->source.get())) {
    auto const [columns, rows] = reads_of(scan->table, scans);
    GARUDA_TRY_ASSIGN(auto read, scan->source->read(columns, rows, options));
    sources.emplace(scan->source.get(), std::move(read));
  }
  for (auto const& input : inputs) GARUDA_TRY(read_into(sources, input, scans, options));
  return {};
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
  auto const sources = std::make_shared<Sources>();
  GARUDA_TRY(read_into(*sources, query, scans, options));
  return ReadQuery{over(*sources, query), sources};
}

std::unique_ptr<QueryResult> keeping(std::shared_ptr<void const> rows, std::unique_ptr<QueryResult> result) {
  return std::make_unique<KeepingResult>(std::move(rows), std::move(result));
}

}  // namespace garuda::query
