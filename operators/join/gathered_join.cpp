#include "operators/join/gathered_join.hpp"

#include <utility>

#include "operators/join/pair_gatherer.hpp"

namespace garuda::join {
namespace {

/// Pulls batches out of a PartitionedJoin, or pairs, of which it gathers full chunks; then gathers the rows that come
/// alone.
class GatheredJoin final : public JoinResult {
 public:
  GatheredJoin(PairGatherer gatherer, std::unique_ptr<PartitionedJoin> join, contract::JoinParts const& parts,
               Control control)
      : gatherer_(std::move(gatherer)), join_(std::move(join)), control_(std::move(control)), plan_(join_->plan()) {
    for (auto const side : {Side::right, Side::left})
      if (parts.alone(side) != contract::Alone::none) sides_alone_.push_back(side);
  }

  Schema const& schema() const noexcept override { return gatherer_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return join_->stats(rows_out_); }

  Result<std::optional<Batch>> next() override {
    if (ended_) return std::nullopt;
    auto batch = next_batch();
    ended_ = !batch || !*batch;
    if (batch && *batch) rows_out_ += static_cast<std::uint64_t>((*batch)->num_rows);
    if (ended_) plan_ = join_->plan();
    return batch;
  }

 private:
  Result<std::optional<Batch>> next_batch() {
    if (control_.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");  // batches may be ready
    if (has_matches_) {
      GARUDA_TRY_ASSIGN(auto batch, next_matches());
      if (batch) return batch;
      has_matches_ = false;
    }
    return gather_alone();
  }

  /// Rows of both sides.
  Result<std::optional<Batch>> next_matches() {
    if (join_->output() == JoinOutput::marks) return std::nullopt;
    return join_->output() == JoinOutput::rows ? join_->next_batch() : gather_batch();
  }

  Result<std::optional<Batch>> gather_batch() {
    if (position_ == pairs_.size()) GARUDA_TRY(fill_pairs());
    if (pairs_.size() == 0) return std::nullopt;
    run::PhaseTimer const timer(join_->recorder(), "gather");
    GARUDA_TRY_ASSIGN(auto batch, join_->arena().execute([&] { return gatherer_.gather(pairs_, position_); }));
    position_ += static_cast<std::size_t>(batch.num_rows);
    return batch;
  }

  /// Rows of one side.
  Result<std::optional<Batch>> gather_alone() {
    while (!alone_ || alone_->at_end()) {
      if (sides_alone_.empty()) return std::nullopt;
      side_ = sides_alone_.back();
      sides_alone_.pop_back();
      GARUDA_TRY_ASSIGN(alone_, join_->alone_rows(side_));
    }
    run::PhaseTimer const timer(join_->recorder(), "gather");
    return join_->arena().execute([&]() -> Result<std::optional<Batch>> {
      GARUDA_TRY_ASSIGN(auto batch, gatherer_.gather(side_, *alone_, join_->chunk_rows(), control_));
      return batch;
    });
  }

  /// Small chunks of many partitions make one batch.
  Result<void> fill_pairs() {
    pairs_ = {};
    position_ = 0;
    while (pairs_.size() < join_->chunk_rows()) {
      if (!pending_) {
        GARUDA_TRY_ASSIGN(pending_, join_->next_pairs());
        if (!pending_) return {};
      }
      if (pairs_.size() != 0 && pairs_.size() + pending_->size() > join_->chunk_rows()) return {};
      append(*std::exchange(pending_, std::nullopt));
    }
    return {};
  }

  void append(run::PairChunk&& chunk) {
    if (pairs_.size() == 0) {
      pairs_ = std::move(chunk);
      return;
    }
    pairs_.left.insert(pairs_.left.end(), chunk.left.begin(), chunk.left.end());
    pairs_.right.insert(pairs_.right.end(), chunk.right.begin(), chunk.right.end());
  }

  PairGatherer gatherer_;
  std::unique_ptr<PartitionedJoin> join_;
  Control control_;
  Plan plan_;
  bool has_matches_ = true;
  run::PairChunk pairs_;
  std::optional<run::PairChunk> pending_;  // read from the join, not in `pairs_` yet
  std::size_t position_ = 0;               // in `pairs_`
  std::vector<Side> sides_alone_;          // whose rows are still to come, the next one last
  std::optional<AloneRows> alone_;         // of side_
  Side side_ = Side::left;
  std::uint64_t rows_out_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<JoinResult>> gathered_join(resolve::JoinRequest const& request, PlannedJoin planned,
                                                  std::unique_ptr<run::QueryRun> run) {
  GARUDA_TRY_ASSIGN(auto gatherer, PairGatherer::create(request.left, request.right, request.columns));
  GARUDA_TRY_ASSIGN(auto join, PartitionedJoin::prepare(request, std::move(planned), std::move(run)));
  return std::make_unique<GatheredJoin>(std::move(gatherer), std::move(join), request.columns.parts,
                                        request.options.control);
}

}  // namespace garuda::join
