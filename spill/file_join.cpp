#include "spill/file_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/contract/join_kind.hpp"
#include "spill/join_pairs.hpp"
#include "spill/part_runs.hpp"
#include "spill/sorted_runs.hpp"

namespace garuda::spill {
namespace {

/// The joins of all pairs of tables of two files, one after the other.
class SpilledJoin final : public JoinResult {
 public:
  SpilledJoin(Engine& engine, FileJoin const& request)
      : engine_(engine), request_(request), runs_("join", request.options.control) {}

  Result<void> start() {
    GARUDA_TRY(open());
    GARUDA_TRY_ASSIGN(result_, join_nothing());
    schema_ = result_->schema();
    auto const plan_of_nothing = result_->plan();
    GARUDA_TRY(pairs_->read());
    GARUDA_TRY_ASSIGN(auto const any, start_next());
    if (!any) {
      runs_.started(plan_of_nothing);
      plan_ = described_plan();
    }
    return {};
  }

  Result<Plan> explain() {
    GARUDA_TRY(open());
    GARUDA_TRY_ASSIGN(auto const empty, join_nothing());
    GARUDA_TRY(pairs_->read());
    GARUDA_TRY_ASSIGN(auto first, pairs_->next());
    if (!first) {
      runs_.started(empty->plan());
      return described_plan();
    }
    auto const explain = request_.count ? &Engine::explain_join_count : &Engine::explain_join;
    GARUDA_TRY_ASSIGN(auto const plan, (engine_.*explain)(first->left.view(), first->right.view(), spec_for(*first),
                                                          options_for(*first)));
    runs_.started(plan);
    return described_plan();
  }

  Result<Engine::Counted> count() {
    GARUDA_TRY(open());
    GARUDA_TRY_ASSIGN(auto const empty,
                      engine_.join_count(pair_.left.view(), pair_.right.view(), request_.spec, options_of_nothing()));
    GARUDA_TRY(pairs_->read());
    std::uint64_t rows = 0;
    while (true) {
      GARUDA_TRY_ASSIGN(auto const pair, pairs_->next());
      if (!pair) break;
      GARUDA_TRY_ASSIGN(auto const counted,
                        engine_.join_count(pair->left.view(), pair->right.view(), spec_for(*pair), options_for(*pair)));
      runs_.started(counted.plan);
      runs_.add_rows_out(counted.rows);
      runs_.ended(counted.stats, pairs_->is_whole());
      rows += counted.rows;
    }
    runs_.started(empty.plan);
    return Engine::Counted{rows, described_plan(), stats()};
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }

  RunStats stats() const override {
    auto stats = runs_.stats();
    stats.rows_left = pairs_->rows_left();
    stats.rows_right = pairs_->rows_right();
    return stats;
  }

  Result<std::optional<Batch>> next() override {
    GARUDA_TRY_ASSIGN(auto batch, is_sorted() ? next_sorted() : next_of_pairs());
    if (batch) runs_.add_rows_out(static_cast<std::uint64_t>(batch->num_rows));
    return batch;
  }

 private:
  /// Opens the files. Until their first pair comes, `pair_` is one of tables without rows.
  Result<void> open() {
    GARUDA_TRY_ASSIGN(pairs_, JoinPairs::open(engine_, request_, runs_.recorder()));
    GARUDA_TRY_ASSIGN(pair_.left, pairs_->left().without_rows());
    GARUDA_TRY_ASSIGN(pair_.right, pairs_->right().without_rows());
    return {};
  }

  /// Options for tables without rows: there is nothing to limit.
  JoinOptions options_of_nothing() const {
    auto options = request_.options;
    options.memory_limit_bytes = 0;
    return options;
  }

  /// The join of tables without rows: what is wrong with the request shows before a file is read, and it gives the
  /// result its schema when no rows come.
  Result<std::unique_ptr<JoinResult>> join_nothing() {
    return engine_.join(pair_.left.view(), pair_.right.view(), request_.spec, options_of_nothing());
  }

  /// How the next pair is joined.
  JoinOptions options_for(TablePair const& pair) const {
    auto options = request_.options;
    runs_.settle(options, pairs_->limit_bytes(), pair.data_bytes);
    if (pairs_->is_whole()) options.control = request_.options.control;
    return options;
  }

  /// The specification of the pair's join.
  JoinSpec spec_for(TablePair const& pair) const {
    auto spec = request_.spec;
    spec.kind = pair.kind;
    if (!is_sorted() || !spec.columns) return spec;
    spec.columns->push_back({Side::left, pairs_->left().row_column()});
    if (contract::parts_of(spec.kind).pairs) spec.columns->push_back({Side::right, pairs_->right().row_column()});
    return spec;
  }

  /// Whether the rows of pairs have to be put in order.
  bool is_sorted() const noexcept { return request_.spec.ordered && !request_.count && !pairs_->is_whole(); }

  /// The columns of `result`, that of a pair, by which they are.
  OrderColumns order_columns(Schema const& result) const {
    OrderColumns columns;
    columns.first = request_.spec.columns ? static_cast<int>(request_.spec.columns->size())
                                          : pairs_->left().schema()->num_fields() - 1;
    if (contract::parts_of(request_.spec.kind).pairs) columns.second = static_cast<int>(result.size()) - 1;
    return columns;
  }

  Plan described_plan() const {
    auto plan = runs_.plan();
    if (pairs_->is_whole()) return plan;
    plan.details.emplace_back(
        "spilling", fmt::format("{}; {} bytes for one pair's join", runs_.describe_partitions("of both tables by key"),
                                pairs_->limit_bytes()));
    plan.notes.push_back(fmt::format("both tables were spilled: {} and {} rows do not fit the memory limit",
                                     pairs_->rows_left(), pairs_->rows_right()));
    if (is_sorted()) plan.details.emplace_back("order", "rows of each pair in temporary files, which are merged");
    return plan;
  }

  Result<std::optional<Batch>> next_of_pairs() {
    while (result_ != nullptr) {
      GARUDA_TRY_ASSIGN(auto batch, result_->next());
      if (batch) return batch;
      runs_.ended(result_->stats(), pairs_->is_whole());
      GARUDA_TRY(start_next());
    }
    return std::nullopt;
  }

  /// Joins all pairs first, each of which gives its rows in order.
  Result<std::optional<Batch>> next_sorted() {
    if (!sorted_) {
      sorted_.emplace(order_columns_, pairs_->limit_bytes(), pairs_->folder(), request_.options.control,
                      runs_.recorder());
      GARUDA_TRY(sorted_->take_all(pair_schema_, [this] { return next_of_pairs(); }));
    }
    return sorted_->next();
  }

  /// Starts the join of the next pair; false after the last.
  Result<bool> start_next() {
    // Before its tables, which make room for those that follow.
    result_.reset();
    pair_ = TablePair{};
    GARUDA_TRY_ASSIGN(auto pair, pairs_->next());
    if (!pair) return false;
    pair_ = *std::move(pair);
    GARUDA_TRY_ASSIGN(result_,
                      engine_.join(pair_.left.view(), pair_.right.view(), spec_for(pair_), options_for(pair_)));
    runs_.started(result_->plan());
    plan_ = described_plan();
    pair_schema_ = result_->schema();
    auto schema = pair_schema_;
    if (is_sorted()) {
      order_columns_ = order_columns(schema);
      if (order_columns_.second) schema.erase(schema.begin() + *order_columns_.second);
      schema.erase(schema.begin() + order_columns_.first);
    }
    // Which columns may be null depends on the kind of the whole join.
    for (std::size_t i = 0; i < schema_.size(); ++i) schema[i].nullable = schema_[i].nullable;
    schema_ = std::move(schema);
    return true;
  }

  Engine& engine_;
  FileJoin request_;
  PartRuns runs_;
  std::unique_ptr<JoinPairs> pairs_;  // refers to the three above
  TablePair pair_;
  std::unique_ptr<JoinResult> result_;  // of the pair
  Schema pair_schema_;                  // with the columns that rows are ordered by
  OrderColumns order_columns_;
  std::optional<OrderedBatches> sorted_;
  Schema schema_;
  Plan plan_;
};

}  // namespace

Result<std::unique_ptr<JoinResult>> join_files(Engine& engine, FileJoin const& request) {
  auto join = std::make_unique<SpilledJoin>(engine, request);
  GARUDA_TRY(join->start());
  return join;
}

Result<Plan> explain_join_of_files(Engine& engine, FileJoin const& request) {
  return SpilledJoin(engine, request).explain();
}

Result<Engine::Counted> count_join_of_files(Engine& engine, FileJoin const& request) {
  return SpilledJoin(engine, request).count();
}

}  // namespace garuda::spill
