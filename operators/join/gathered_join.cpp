#include "operators/join/gathered_join.hpp"

#include <utility>

#include "operators/join/pair_gatherer.hpp"

namespace garuda::join {
namespace {

/// Pulls batches out of a PartitionedJoin, or pairs, of which it gathers full chunks.
class GatheredJoin final : public JoinResult {
 public:
  GatheredJoin(PairGatherer gatherer, std::unique_ptr<PartitionedJoin> join)
      : gatherer_(std::move(gatherer)), join_(std::move(join)), plan_(join_->plan()) {}

  Schema const& schema() const noexcept override { return gatherer_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return join_->stats(rows_out_); }

  Result<std::optional<Batch>> next() override {
    if (failed_) return std::nullopt;
    auto batch = join_->output() == JoinOutput::rows ? take_batch() : gather_batch();
    if (!batch) failed_ = true;
    return batch;
  }

 private:
  Result<std::optional<Batch>> take_batch() {
    GARUDA_TRY_ASSIGN(auto batch, join_->next_batch());
    if (batch)
      rows_out_ += static_cast<std::uint64_t>(batch->num_rows);
    else
      plan_ = join_->plan();
    return batch;
  }

  Result<std::optional<Batch>> gather_batch() {
    if (position_ == pairs_.size()) GARUDA_TRY(fill_pairs());
    if (pairs_.size() == 0) {
      plan_ = join_->plan();
      return std::nullopt;
    }
    run::PhaseTimer const timer(join_->recorder(), "gather");
    GARUDA_TRY_ASSIGN(auto batch, join_->arena().execute([&] { return gatherer_.gather(pairs_, position_); }));
    position_ += static_cast<std::size_t>(batch.num_rows);
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
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
  Plan plan_;
  run::PairChunk pairs_;
  std::optional<run::PairChunk> pending_;  // read from the join, not in `pairs_` yet
  std::size_t position_ = 0;               // in `pairs_`
  std::uint64_t rows_out_ = 0;
  bool failed_ = false;
};

}  // namespace

Result<std::unique_ptr<JoinResult>> gathered_join(resolve::JoinRequest const& request, PlannedJoin planned,
                                                  std::unique_ptr<run::QueryRun> run) {
  GARUDA_TRY_ASSIGN(auto gatherer, PairGatherer::create(request.left, request.right, request.columns));
  GARUDA_TRY_ASSIGN(auto join, PartitionedJoin::prepare(request, JoinOutput::rows, std::move(planned), std::move(run)));
  return std::make_unique<GatheredJoin>(std::move(gatherer), std::move(join));
}

}  // namespace garuda::join
