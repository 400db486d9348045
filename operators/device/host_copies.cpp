#include "operators/device/host_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/stopwatch.hpp"
#include "operators/device/device_table.hpp"

namespace garuda::device {
namespace {

class ResultOfCopies final : public QueryResult {
 public:
  ResultOfCopies(HostCopies copies, std::unique_ptr<QueryResult> result)
      : copies_(std::move(copies)), result_(std::move(result)) {}

  Schema const& schema() const noexcept override { return result_->schema(); }
  Plan const& plan() const noexcept override { return result_->plan(); }
  Result<std::optional<Batch>> next() override { return result_->next(); }
  RunStats stats() const override { return copies_.with_copies(result_->stats()); }

 private:
  HostCopies copies_;  // outlives the result, which reads it
  std::unique_ptr<QueryResult> result_;
};

}  // namespace

Result<TableView> HostCopies::add(TableView table, std::vector<std::size_t> columns, Control const& control) {
  std::ranges::sort(columns);
  auto const twice = std::ranges::unique(columns);
  columns.erase(twice.begin(), twice.end());
  Stopwatch const copying;
  GARUDA_TRY_ASSIGN(auto copy, download_columns(*table.resident(), columns, control));
  elapsed_ns_ += copying.elapsed_ns();
  bytes_ += copy.bytes;
  auto schema = copy.table.schema();
  for (std::size_t c = 0; c < columns.size(); ++c) schema[c].name = table.schema()[columns[c]].name;
  auto const batches = copy.table.batches();
  tables_.push_back(std::make_unique<Table>(std::move(schema), std::vector<Batch>(batches.begin(), batches.end())));
  return tables_.back()->view();
}

std::string HostCopies::note(std::string const& reason) const {
  return fmt::format("{} bytes were brought down from the device: {}", bytes_, reason);
}

RunStats HostCopies::with_copies(RunStats stats) const {
  stats.phases.insert(stats.phases.begin(), PhaseStats{"download", elapsed_ns_, bytes_, 0});
  stats.total_ns += elapsed_ns_;
  return stats;
}

std::unique_ptr<QueryResult> result_of_copies(HostCopies copies, std::unique_ptr<QueryResult> result) {
  return std::make_unique<ResultOfCopies>(std::move(copies), std::move(result));
}

}  // namespace garuda::device
