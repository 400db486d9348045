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

/// The state that all joins of one pair of files share.
class PairedJoin {
 public:
  PairedJoin(Engine& engine, FileJoin const& request)
      : engine_(engine), request_(request), runs_("join", request.options.control) {}

  Result<void> open() {
    GARUDA_TRY_ASSIGN(pairs_, JoinPairs::open(engine_, request_, runs_.recorder()));
    return {};
  }

  Engine& engine() noexcept { return engine_; }
  FileJoin const& request() const noexcept { return request_; }
  JoinPairs& pairs() noexcept { return *pairs_; }
  PartRuns& runs() noexcept { return runs_; }

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
    bool const has_right = contract::parts_of(request_.spec.kind).pairs;
    OrderColumns columns;
    columns.first = request_.spec.columns ? static_cast<int>(request_.spec.columns->size())
                                          : pairs_->left().schema()->num_fields() - 1;
    if (has_right) columns.second = static_cast<int>(result.size()) - 1;
    return columns;
  }

  Plan plan() const {
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

  RunStats stats() const {
    auto stats = runs_.stats();
    stats.rows_left = pairs_->rows_left();
    stats.rows_right = pairs_->rows_right();
    return stats;
  }

 private:
  Engine& engine_;
  FileJoin request_;
  PartRuns runs_;
  std::unique_ptr<JoinPairs> pairs_;  // refers to the two above
};

/// Tables without rows.
Result<TablePair> pair_of_nothing(PairedJoin& join) {
  TablePair nothing;
  GARUDA_TRY_ASSIGN(nothing.left, join.pairs().left().without_rows());
  GARUDA_TRY_ASSIGN(nothing.right, join.pairs().right().without_rows());
  return nothing;
}

/// How they are joined or counted: there is nothing to limit.
JoinOptions options_of_nothing(PairedJoin& join) {
  auto options = join.request().options;
  options.memory_limit_bytes = 0;
  return options;
}

/// The join of tables without rows: what is wrong with the request shows before a file is read, and it gives the
/// result its schema when no rows come.
Result<std::unique_ptr<JoinResult>> join_nothing(PairedJoin& join, TablePair& nothing) {
  GARUDA_TRY_ASSIGN(nothing, pair_of_nothing(join));
  return join.engine().join(nothing.left.view(), nothing.right.view(), join.request().spec, options_of_nothing(join));
}

/// The joins of all pairs, one after the other.
class SpilledJoin final : public JoinResult {
 public:
  SpilledJoin(Engine& engine, FileJoin const& request) : join_(engine, request) {}

  Result<void> start() {
    GARUDA_TRY(join_.open());
    GARUDA_TRY_ASSIGN(result_, join_nothing(join_, pair_));
    schema_ = result_->schema();
    auto const plan_of_nothing = result_->plan();
    GARUDA_TRY(join_.pairs().read());
    GARUDA_TRY_ASSIGN(auto const any, start_next());
    if (!any) {
      join_.runs().started(plan_of_nothing);
      plan_ = join_.plan();
    }
    return {};
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return join_.stats(); }

  Result<std::optional<Batch>> next() override {
    GARUDA_TRY_ASSIGN(auto batch, join_.is_sorted() ? next_sorted() : next_of_pairs());
    if (batch) join_.runs().add_rows_out(static_cast<std::uint64_t>(batch->num_rows));
    return batch;
  }

 private:
  Result<std::optional<Batch>> next_of_pairs() {
    while (result_ != nullptr) {
      GARUDA_TRY_ASSIGN(auto batch, result_->next());
      if (batch) return batch;
      join_.runs().ended(result_->stats(), join_.pairs().is_whole());
      GARUDA_TRY(start_next());
    }
    return std::nullopt;
  }

  /// Joins all pairs first, each of which gives its rows in order.
  Result<std::optional<Batch>> next_sorted() {
    if (!sorted_) {
      auto& pairs = join_.pairs();
      sorted_.emplace(order_columns_, pairs.limit_bytes(), pairs.folder(), join_.request().options.control,
                      join_.runs().recorder());
      while (true) {
        GARUDA_TRY_ASSIGN(auto batch, next_of_pairs());
        if (!batch) break;
        GARUDA_TRY(sorted_->add(pair_schema_, *std::move(batch)));
      }
      GARUDA_TRY(sorted_->finish());
    }
    return sorted_->next();
  }

  /// Starts the join of the next pair; false after the last.
  Result<bool> start_next() {
    // Before its tables, which make room for those that follow.
    result_.reset();
    pair_ = TablePair{};
    GARUDA_TRY_ASSIGN(auto pair, join_.pairs().next());
    if (!pair) return false;
    pair_ = *std::move(pair);
    GARUDA_TRY_ASSIGN(result_, join_.engine().join(pair_.left.view(), pair_.right.view(), join_.spec_for(pair_),
                                                   join_.options_for(pair_)));
    join_.runs().started(result_->plan());
    plan_ = join_.plan();
    pair_schema_ = result_->schema();
    auto schema = pair_schema_;
    if (join_.is_sorted()) {
      order_columns_ = join_.order_columns(schema);
      if (order_columns_.second) schema.erase(schema.begin() + *order_columns_.second);
      schema.erase(schema.begin() + order_columns_.first);
    }
    // What may be null depends on the kind of the whole join.
    for (std::size_t i = 0; i < schema_.size(); ++i) schema[i].nullable = schema_[i].nullable;
    schema_ = std::move(schema);
    return true;
  }

  PairedJoin join_;
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
  PairedJoin join(engine, request);
  GARUDA_TRY(join.open());
  TablePair pair;
  GARUDA_TRY_ASSIGN(auto const empty, join_nothing(join, pair));
  GARUDA_TRY(join.pairs().read());
  GARUDA_TRY_ASSIGN(auto first, join.pairs().next());
  if (!first) {
    join.runs().started(empty->plan());
    return join.plan();
  }
  auto const explain = request.count ? &Engine::explain_join_count : &Engine::explain_join;
  GARUDA_TRY_ASSIGN(auto const plan, (engine.*explain)(first->left.view(), first->right.view(), join.spec_for(*first),
                                                       join.options_for(*first)));
  join.runs().started(plan);
  return join.plan();
}

Result<Engine::Counted> count_join_of_files(Engine& engine, FileJoin const& request) {
  PairedJoin join(engine, request);
  GARUDA_TRY(join.open());
  GARUDA_TRY_ASSIGN(auto const nothing, pair_of_nothing(join));
  GARUDA_TRY_ASSIGN(auto const empty, engine.join_count(nothing.left.view(), nothing.right.view(), request.spec,
                                                        options_of_nothing(join)));
  GARUDA_TRY(join.pairs().read());
  std::uint64_t rows = 0;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const pair, join.pairs().next());
    if (!pair) break;
    GARUDA_TRY_ASSIGN(auto const counted, engine.join_count(pair->left.view(), pair->right.view(), join.spec_for(*pair),
                                                            join.options_for(*pair)));
    join.runs().started(counted.plan);
    join.runs().add_rows_out(counted.rows);
    join.runs().ended(counted.stats, join.pairs().is_whole());
    rows += counted.rows;
  }
  join.runs().started(empty.plan);
  return Engine::Counted{rows, join.plan(), join.stats()};
}

}  // namespace garuda::spill
