#include "operators/query/results/finished_query.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "operators/query/bind.hpp"

namespace garuda::query {
namespace {

class FinishedQuery final : public QueryResult {
 public:
  FinishedQuery(Table table, Plan plan, RunStats stats)
      : table_(std::move(table)), plan_(std::move(plan)), stats_(std::move(stats)) {}

  Schema const& schema() const noexcept override { return table_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return stats_; }
  Result<std::optional<Batch>> next() override {
    if (next_ == table_.batches().size()) return std::nullopt;
    return table_.batches()[next_++];
  }

 private:
  Table table_;
  Plan plan_;
  RunStats stats_;
  std::size_t next_ = 0;
};

/// The same rows; name_of(c) is the name of column c.
template <class NameOf>
Table with_names(Table const& table, NameOf const& name_of) {
  auto schema = table.schema();
  for (std::size_t c = 0; c < schema.size(); ++c) schema[c].name = name_of(c);
  return {std::move(schema), {table.batches().begin(), table.batches().end()}};
}

}  // namespace

Table with_positions(Table table) { return with_names(table, column_name); }

std::unique_ptr<QueryResult> finished_query(Schema const& wanted, Table table, Plan plan, RunStats stats) {
  auto named = with_names(table, [&](std::size_t c) { return wanted[c].name; });
  return std::make_unique<FinishedQuery>(std::move(named), std::move(plan), std::move(stats));
}

}  // namespace garuda::query
