#include "spill/file_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/stopwatch.hpp"
#include "operators/run/run_recorder.hpp"
#include "spill/join_pairs.hpp"

namespace garuda::spill {
namespace {

/// What all joins of one pair of files have in common.
class PairedJoin {
 public:
  PairedJoin(Engine& engine, FileJoin const& request) : engine_(engine), request_(request) {}

  Result<void> open() {
    GARUDA_TRY_ASSIGN(pairs_, JoinPairs::open(engine_, request_, recorder_));
    return {};
  }

  Engine& engine() noexcept { return engine_; }
  FileJoin const& request() const noexcept { return request_; }
  JoinPairs& pairs() noexcept { return *pairs_; }
  JoinPairs const& pairs() const noexcept { return *pairs_; }

  /// How the next pair is joined: what its tables take is no longer free, and all pairs go the way of the first.
  JoinOptions options_for(TablePair const& pair) const {
    auto options = request_.options;
    auto const limit = pairs_->limit_bytes();
    options.memory_limit_bytes = limit - std::min(limit - 1, pair.data_bytes);
    if (plan_) options.path = plan_->path;
    if (!pairs_->is_whole()) options.control.on_progress = nullptr;
    return options;
  }

  /// Takes the plan of the first pair, or of tables without rows where there is no pair: it says what ran where.
  void started(Plan const& plan) {
    if (plan_) return;
    plan_ = plan;
    stats_.path = plan.path;
    stats_.device = plan.device;
    stats_.driver = plan.driver;
  }

  /// Takes what the join of a pair did.
  void ended(RunStats const& stats) {
    for (auto const& phase : stats.phases) recorder_.add_phase(phase.name, phase.ns, phase.bytes, phase.items);
    for (auto const& [name, value] : stats.counters) recorder_.add_counter(name, value);
    ++pairs_done_;
    auto const& on_progress = request_.options.control.on_progress;
    if (on_progress && !pairs_->is_whole()) on_progress({"join", pairs_done_, 0, rows_out_});
  }

  /// What is asked for of the pair.
  JoinSpec spec_for(TablePair const& pair) const {
    auto spec = request_.spec;
    spec.kind = pair.kind;
    return spec;
  }

  void add_rows_out(std::uint64_t rows) noexcept { rows_out_ += rows; }

  Plan plan() const {
    auto plan = plan_.value_or(Plan{});
    if (pairs_->is_whole()) return plan;
    plan.details.emplace_back("spilling", describe_spilling());
    plan.notes.push_back(fmt::format("both tables were spilled: {} and {} rows do not fit the memory limit",
                                     pairs_->rows_left(), pairs_->rows_right()));
    return plan;
  }

  /// What was spilled so far.
  std::string describe_spilling() const {
    std::uint64_t partitions = 0;
    std::uint64_t bytes = 0;
    for (auto const& [name, value] : recorder_.counters()) {
      if (name == "spilled_partitions") partitions = value;
      if (name == "spilled_bytes") bytes = value;
    }
    return fmt::format("{} partitions of both tables by key, {} bytes in temporary files; {} bytes for one pair's join",
                       partitions, bytes, pairs_->limit_bytes());
  }

  RunStats stats() const {
    auto stats = stats_;
    stats.rows_left = pairs_->rows_left();
    stats.rows_right = pairs_->rows_right();
    stats.rows_out = rows_out_;
    stats.total_ns = watch_.elapsed_ns();
    stats.phases = recorder_.phases();
    stats.counters = recorder_.counters();
    return stats;
  }

 private:
  Engine& engine_;
  FileJoin request_;
  Stopwatch watch_;
  run::RunRecorder recorder_;
  std::unique_ptr<JoinPairs> pairs_;  // refers to the two above
  std::optional<Plan> plan_;
  RunStats stats_;
  std::uint64_t pairs_done_ = 0;
  std::uint64_t rows_out_ = 0;
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
      join_.started(plan_of_nothing);
      plan_ = join_.plan();
    }
    return {};
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return join_.stats(); }

  Result<std::optional<Batch>> next() override {
    while (result_ != nullptr) {
      GARUDA_TRY_ASSIGN(auto batch, result_->next());
      if (batch) {
        join_.add_rows_out(static_cast<std::uint64_t>(batch->num_rows));
        return batch;
      }
      join_.ended(result_->stats());
      GARUDA_TRY(start_next());
    }
    return std::nullopt;
  }

 private:
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
    join_.started(result_->plan());
    plan_ = join_.plan();
    // What may be null depends on the kind of the whole join.
    auto const whole = std::exchange(schema_, result_->schema());
    for (std::size_t i = 0; i < whole.size(); ++i) schema_[i].nullable = whole[i].nullable;
    return true;
  }

  PairedJoin join_;
  TablePair pair_;
  std::unique_ptr<JoinResult> result_;  // of the pair
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
    join.started(empty->plan());
    return join.plan();
  }
  auto const explain = request.count ? &Engine::explain_join_count : &Engine::explain_join;
  GARUDA_TRY_ASSIGN(auto const plan, (engine.*explain)(first->left.view(), first->right.view(), join.spec_for(*first),
                                                       join.options_for(*first)));
  join.started(plan);
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
    join.started(counted.plan);
    join.add_rows_out(counted.rows);
    join.ended(counted.stats);
    rows += counted.rows;
  }
  join.started(empty.plan);
  return Engine::Counted{rows, join.plan(), join.stats()};
}

}  // namespace garuda::spill
