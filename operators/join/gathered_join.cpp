#include "operators/join/gathered_join.hpp"

#include <algorithm>
#include <utility>

#include "expr/sides.hpp"
#include "keys/codes/key_column.hpp"

namespace garuda::join {
namespace {

/// A shared key is a left column; the right side's own keys are another gatherer's.
std::vector<std::size_t> columns_of(resolve::ResolvedJoin const& columns, Side side) {
  std::vector<std::size_t> positions;
  for (auto const& output : columns.output)
    if (output.side == side) positions.push_back(output.column);
  return positions;
}

}  // namespace

/// The columns of both sides, gathered, and what keeps them alive.
struct PairGatherer::Gathered {
  std::int64_t num_rows = 0;
  Batch left;
  Batch right;
  Batch right_keys;  // of rows without a left row
  std::vector<keys::WidenedArray> widened_keys;
  std::shared_ptr<contract::MarkBitmap const> marks;  // of a mark join
  std::int64_t first_mark = 0;
};

PairGatherer::PairGatherer(Gatherer left, Gatherer right, resolve::ResolvedJoin columns)
    : left_(std::move(left)), right_(std::move(right)), columns_(std::move(columns)) {
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (std::size_t i = 0; i < columns_.output.size(); ++i) {
    auto const side = columns_.output[i].side;
    schema_.push_back(side == Side::left ? left_.schema()[next_left++] : right_.schema()[next_right++]);
    schema_.back().name = columns_.names[i];
    // Unmatched rows of the other side have nulls here.
    if (columns_.parts.rows(other_side(side)) != contract::SideRows::none) schema_.back().nullable = true;
    if (auto const key = columns_.shared_key(columns_.output[i])) schema_.back().type = columns_.shared_key_type(*key);
  }
  if (columns_.has_mark) schema_.push_back({columns_.names.back(), {.id = TypeId::boolean}, false});
}

Result<PairGatherer> PairGatherer::create(TableView left, TableView right, resolve::ResolvedJoin const& columns) {
  GARUDA_TRY_ASSIGN(auto left_gatherer, Gatherer::create(left, columns_of(columns, Side::left), columns.strings));
  GARUDA_TRY_ASSIGN(auto right_gatherer, Gatherer::create(right, columns_of(columns, Side::right), columns.strings));
  PairGatherer gatherer(std::move(left_gatherer), std::move(right_gatherer), columns);
  if (columns.shares_keys && columns.parts.right != contract::SideRows::none) {
    GARUDA_TRY_ASSIGN(gatherer.right_keys_, Gatherer::create(right, columns.key_columns(Side::right), columns.strings));
  }
  return gatherer;
}

Result<Batch> PairGatherer::gather(run::PairChunk const& pairs, std::size_t first) const {
  Gathered gathered;
  GARUDA_TRY_ASSIGN(auto left, left_.gather(std::span(pairs.left).subspan(first)));
  auto const taken = static_cast<std::size_t>(left.rows_taken);
  GARUDA_TRY_ASSIGN(auto right, right_.gather(std::span(pairs.right).subspan(first, taken)));
  gathered.num_rows = std::min(left.rows_taken, right.rows_taken);
  gathered.left = std::move(left.batch);
  gathered.right = std::move(right.batch);
  return batch_of(std::move(gathered));
}

Result<Batch> PairGatherer::gather(Side side, UnmatchedRows& rows, std::uint64_t most, Control const& control) const {
  GARUDA_TRY_ASSIGN(auto const ids, rows.peek(most, control));
  Gathered gathered;
  auto const other = other_side(side);
  auto& own = side == Side::left ? gathered.left : gathered.right;
  auto& nulls = side == Side::left ? gathered.right : gathered.left;
  GARUDA_TRY_ASSIGN(auto of_side, gatherer(side).gather(ids));
  gathered.num_rows = of_side.rows_taken;
  own = std::move(of_side.batch);
  auto const taken = static_cast<std::size_t>(gathered.num_rows);
  if (!gatherer(other).schema().empty()) {
    std::vector<std::int64_t> const none(taken, -1);
    GARUDA_TRY_ASSIGN(auto of_other, gatherer(other).gather(std::span<std::int64_t const>(none)));
    nulls = std::move(of_other.batch);
  }
  if (side == Side::right && right_keys_) {
    GARUDA_TRY_ASSIGN(auto of_keys, right_keys_->gather(ids.first(taken)));
    gathered.num_rows = of_keys.rows_taken;
    gathered.right_keys = std::move(of_keys.batch);
  }
  if (columns_.has_mark) {
    gathered.marks = rows.matched();
    gathered.first_mark = ids.front();  // all rows come, so those of the batch are neighbours
  }
  rows.take(static_cast<std::uint64_t>(gathered.num_rows));
  return batch_of(std::move(gathered));
}

Result<Batch> PairGatherer::batch_of(Gathered gathered) const {
  auto const owner = std::make_shared<Gathered>(std::move(gathered));
  Batch batch{owner->num_rows, {}, owner};
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (auto const& output : columns_.output) {
    auto const* column =
        output.side == Side::left ? &owner->left.columns[next_left++] : &owner->right.columns[next_right++];
    auto const key = columns_.shared_key(output);
    bool const is_right = key && !owner->right_keys.columns.empty();
    if (is_right) column = &owner->right_keys.columns[*key];
    batch.columns.push_back(slice(*column, 0, batch.num_rows));
    if (!key) continue;
    auto const& type = is_right ? right_keys_->schema()[*key].type : left_.schema()[next_left - 1].type;
    auto const common = columns_.shared_key_type(*key);
    if (type == common) continue;
    GARUDA_TRY_ASSIGN(auto wide, keys::widen(batch.columns.back(), type, common, 0));
    batch.columns.back() = wide.view;
    owner->widened_keys.push_back(std::move(wide));
  }
  if (columns_.has_mark) {
    ArrayView mark;
    mark.length = batch.num_rows;
    mark.offset = owner->first_mark;
    mark.null_count = 0;
    mark.values = owner->marks->data();
    batch.columns.push_back(mark);
  }
  return batch;
}

namespace {

/// Pulls batches out of a PartitionedJoin, or pairs, of which it gathers full chunks; then gathers the unmatched
/// rows.
class GatheredJoin final : public JoinResult {
 public:
  GatheredJoin(PairGatherer gatherer, std::unique_ptr<PartitionedJoin> join, contract::JoinParts const& parts,
               Control control)
      : gatherer_(std::move(gatherer)), join_(std::move(join)), control_(std::move(control)), plan_(join_->plan()) {
    for (auto const side : {Side::right, Side::left})
      if (parts.rows(side) != contract::SideRows::none) unmatched_sides_.push_back(side);
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
    return gather_unmatched();
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
  Result<std::optional<Batch>> gather_unmatched() {
    while (!unmatched_ || unmatched_->at_end()) {
      if (unmatched_sides_.empty()) return std::nullopt;
      side_ = unmatched_sides_.back();
      unmatched_sides_.pop_back();
      GARUDA_TRY_ASSIGN(unmatched_, join_->unmatched_rows(side_));
    }
    run::PhaseTimer const timer(join_->recorder(), "gather");
    return join_->arena().execute([&]() -> Result<std::optional<Batch>> {
      GARUDA_TRY_ASSIGN(auto batch, gatherer_.gather(side_, *unmatched_, join_->chunk_rows(), control_));
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
  std::optional<run::PairChunk> pending_;   // read from the join, not in `pairs_` yet
  std::size_t position_ = 0;                // in `pairs_`
  std::vector<Side> unmatched_sides_;       // whose rows are still to come, the next one last
  std::optional<UnmatchedRows> unmatched_;  // of side_
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
