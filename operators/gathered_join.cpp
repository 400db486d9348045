#include "operators/gathered_join.hpp"

#include <algorithm>
#include <utility>

#include "garuda/types.hpp"
#include "operators/row_bytes.hpp"

namespace garuda::operators {
namespace {

std::vector<std::size_t> columns_of(ResolvedJoin const& columns, Side side) {
  std::vector<std::size_t> positions;
  for (auto const& output : columns.output)
    if (output.side == side) positions.push_back(output.column);
  return positions;
}

/// Keeps the two sides' buffers alive together.
struct BothSides {
  Batch left;
  Batch right;
};

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
    auto batch = join_->output() == JoinOutput::batches ? take_batch() : gather_batch();
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
    PhaseTimer const timer(join_->recorder(), "gather");
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

  void append(PairChunk&& chunk) {
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
  PairChunk pairs_;
  std::optional<PairChunk> pending_;  // read from the join, not in `pairs_` yet
  std::size_t position_ = 0;          // in `pairs_`
  std::uint64_t rows_out_ = 0;
  bool failed_ = false;
};

}  // namespace

std::uint64_t output_row_bytes(TableView left, TableView right, ResolvedJoin const& columns) {
  std::uint64_t bytes = 0;
  for (auto const& output : columns.output)
    bytes += column_row_bytes(output.side == Side::left ? left : right, output.column);
  return bytes;
}

PairGatherer::PairGatherer(Gatherer left, Gatherer right, ResolvedJoin columns)
    : left_(std::move(left)), right_(std::move(right)), columns_(std::move(columns)) {
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (std::size_t i = 0; i < columns_.output.size(); ++i) {
    auto const is_left = columns_.output[i].side == Side::left;
    schema_.push_back(is_left ? left_.schema()[next_left++] : right_.schema()[next_right++]);
    schema_.back().name = columns_.names[i];
  }
}

Result<PairGatherer> PairGatherer::create(TableView left, TableView right, ResolvedJoin const& columns) {
  GARUDA_TRY_ASSIGN(auto left_gatherer, Gatherer::create(left, columns_of(columns, Side::left)));
  GARUDA_TRY_ASSIGN(auto right_gatherer, Gatherer::create(right, columns_of(columns, Side::right)));
  return PairGatherer(std::move(left_gatherer), std::move(right_gatherer), columns);
}

Result<Batch> PairGatherer::gather(PairChunk const& pairs, std::size_t first) const {
  auto sides = std::make_shared<BothSides>();
  GARUDA_TRY_ASSIGN(auto left, left_.gather(std::span(pairs.left).subspan(first)));
  auto const taken = static_cast<std::size_t>(left.rows_taken);
  GARUDA_TRY_ASSIGN(auto right, right_.gather(std::span(pairs.right).subspan(first, taken)));
  sides->left = std::move(left.batch);
  sides->right = std::move(right.batch);
  Batch batch;
  batch.num_rows = std::min(left.rows_taken, right.rows_taken);
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (auto const& output : columns_.output) {
    auto const& column =
        output.side == Side::left ? sides->left.columns[next_left++] : sides->right.columns[next_right++];
    batch.columns.push_back(slice(column, 0, batch.num_rows));
  }
  batch.owner = std::move(sides);
  return batch;
}

Result<std::unique_ptr<JoinResult>> gathered_join(JoinRequest const& request, RivalCost const& rival) {
  GARUDA_TRY_ASSIGN(auto gatherer, PairGatherer::create(request.left, request.right, request.columns));
  GARUDA_TRY_ASSIGN(auto join, PartitionedJoin::prepare(request, JoinOutput::batches, rival));
  if (join == nullptr) return nullptr;
  return std::make_unique<GatheredJoin>(std::move(gatherer), std::move(join));
}

}  // namespace garuda::operators
