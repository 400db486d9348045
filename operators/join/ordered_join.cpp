#include "operators/join/gathered_join.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "operators/run/query_run.hpp"

namespace garuda::join {
namespace {

struct RowIdPair {
  std::int64_t left;
  std::int64_t right;

  friend auto operator<=>(RowIdPair const&, RowIdPair const&) = default;
};

/// Pairs that are sorted at once when neither a limit nor the free memory is known.
constexpr std::uint64_t kDefaultSortedPairs = std::uint64_t{1} << 26;

/// Rows [begin, begin + length) of a table. Does not move: the view refers to its members.
class RowSlice {
 public:
  RowSlice(TableView table, std::int64_t begin, std::int64_t length) {
    std::int64_t first = 0;
    for (std::size_t b = 0; b < table.num_batches(); ++b) {
      auto const& batch = table.batch(b);
      auto const from = std::max(begin, first);
      auto const to = std::min(begin + length, first + batch.num_rows);
      if (from < to) add(batch, from - first, to - from);
      first += batch.num_rows;
    }
    for (std::size_t b = 0; b < columns_.size(); ++b) batches_.push_back({lengths_[b], columns_[b]});
    view_ = TableView(table.schema(), batches_);
  }
  RowSlice(RowSlice const&) = delete;
  RowSlice& operator=(RowSlice const&) = delete;

  TableView view() const noexcept { return view_; }

 private:
  void add(BatchView const& batch, std::int64_t begin, std::int64_t length) {
    auto& columns = columns_.emplace_back();
    for (auto const& column : batch.columns) columns.push_back(slice(column, begin, length));
    lengths_.push_back(length);
  }

  std::vector<std::vector<ArrayView>> columns_;
  std::vector<std::int64_t> lengths_;
  std::vector<BatchView> batches_;
  TableView view_;
};

std::uint64_t sorted_pairs_budget(JoinOptions const& options) {
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : run::free_host_bytes() / 4 * 3;
  return limit == 0 ? kDefaultSortedPairs : std::max<std::uint64_t>(limit / 4 / sizeof(RowIdPair), 1024);
}

class OrderedJoin final : public JoinResult {
 public:
  OrderedJoin(resolve::JoinRequest request, PairGatherer gatherer)
      : request_(std::move(request)),
        parts_(request_.columns.parts),
        gatherer_(std::move(gatherer)),
        budget_(sorted_pairs_budget(request_.options)),
        range_rows_(std::max<std::int64_t>(request_.left.num_rows(), 1)),
        start_(std::chrono::steady_clock::now()) {
    // Ranges give matches and nothing else: rows that no range matches are told from all of them.
    request_.columns.parts = contract::parts_of(JoinKind::inner);
    if (parts_.right != contract::SideRows::none) right_marks_.emplace(rows_of(request_.right));
  }

  /// Plans, and sorts the first range, so that errors of the request show at once.
  Result<void> start() { return load_range(); }

  Schema const& schema() const noexcept override { return gatherer_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }

  Result<std::optional<Batch>> next() override {
    while (position_ == pairs_.size()) {
      if (next_left_row_ >= request_.left.num_rows()) return next_unmatched();
      if (auto loaded = load_range(); !loaded) {
        next_left_row_ = request_.left.num_rows();
        right_marks_.reset();
        return propagate(std::move(loaded));
      }
    }
    auto const rows = std::min<std::size_t>(pairs_.size() - position_, chunk_rows_);
    run::PairChunk chunk;
    chunk.left.resize(rows);
    chunk.right.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      chunk.left[i] = pairs_[position_ + i].left;
      chunk.right[i] = pairs_[position_ + i].right;
    }
    run::PhaseTimer const timer(recorder_, "gather");
    GARUDA_TRY_ASSIGN(auto batch, gatherer_.gather(chunk, 0));
    position_ += static_cast<std::size_t>(batch.num_rows);
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
  }

  RunStats stats() const override {
    auto stats = stats_;
    stats.rows_left = static_cast<std::uint64_t>(request_.left.num_rows());
    stats.rows_right = static_cast<std::uint64_t>(request_.right.num_rows());
    stats.rows_out = rows_out_;
    stats.phases = recorder_.phases();
    stats.counters = recorder_.counters();
    stats.total_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count());
    return stats;
  }

 private:
  static std::uint64_t rows_of(TableView table) { return static_cast<std::uint64_t>(table.num_rows()); }

  /// The right rows that nothing matched, behind all others.
  Result<std::optional<Batch>> next_unmatched() {
    if (right_marks_) {
      right_unmatched_.emplace(parts_.right, right_marks_->take(), rows_of(request_.right));
      right_marks_.reset();
    }
    if (!right_unmatched_ || right_unmatched_->at_end()) return std::nullopt;
    run::PhaseTimer const timer(recorder_, "gather");
    GARUDA_TRY_ASSIGN(auto batch,
                      gatherer_.gather(Side::right, *right_unmatched_, chunk_rows_, request_.options.control));
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
  }

  /// Joins and sorts the next range of left rows, halving it while its pairs exceed the budget.
  Result<void> load_range() {
    while (true) {
      auto const rows = std::min(range_rows_, request_.left.num_rows() - next_left_row_);
      GARUDA_TRY_ASSIGN(auto const fits, collect_range(rows));
      if (fits) {
        next_left_row_ += rows;
        position_ = 0;
        recorder_.add_counter("ordered_ranges", 1);
        return {};
      }
      range_rows_ = rows / 2;
    }
  }

  /// Fills `pairs_` with the sorted pairs of `rows` left rows; false when they exceed the budget and `rows` can shrink.
  Result<bool> collect_range(std::int64_t rows) {
    if (parts_.left != contract::SideRows::none && rows > 1 && static_cast<std::uint64_t>(rows) > budget_) return false;
    RowSlice const slice(request_.left, next_left_row_, rows);
    auto range = request_;
    range.left = slice.view();
    GARUDA_TRY_ASSIGN(auto const join, PartitionedJoin::prepare(range, JoinOutput::pairs));
    plan_ = join->plan();
    chunk_rows_ = join->chunk_rows();
    stats_.path = plan_.path;
    stats_.device = plan_.device;
    stats_.driver = plan_.driver;
    pairs_.clear();
    while (true) {
      GARUDA_TRY_ASSIGN(auto const chunk, join->next_pairs());
      if (!chunk) break;
      if (rows > 1 && pairs_.size() + chunk->size() > budget_) return false;
      for (std::size_t i = 0; i < chunk->size(); ++i)
        pairs_.push_back({chunk->left[i] + next_left_row_, chunk->right[i]});
    }
    recorder_.absorb(join->recorder());
    run::PhaseTimer const timer(recorder_, "sort", pairs_.size() * sizeof(RowIdPair), pairs_.size());
    join->arena().execute([&] { oneapi::tbb::parallel_sort(pairs_.begin(), pairs_.end()); });
    if (right_marks_)
      for (auto const& pair : pairs_) right_marks_->set(static_cast<std::uint64_t>(pair.right));
    if (parts_.left != contract::SideRows::none) add_unmatched(rows);
    return true;
  }

  /// Puts those of the range's `rows` left rows that have no pair among the sorted pairs.
  void add_unmatched(std::int64_t rows) {
    std::vector<RowIdPair> all;
    all.reserve(pairs_.size());
    auto pair = pairs_.begin();
    for (auto row = next_left_row_; row < next_left_row_ + rows; ++row) {
      if (pair == pairs_.end() || pair->left != row) all.push_back({row, -1});
      for (; pair != pairs_.end() && pair->left == row; ++pair) all.push_back(*pair);
    }
    pairs_ = std::move(all);
  }

  resolve::JoinRequest request_;  // of ranges
  contract::JoinParts parts_;     // of the result
  PairGatherer gatherer_;
  std::uint64_t budget_;
  std::int64_t range_rows_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t next_left_row_ = 0;
  std::vector<RowIdPair> pairs_;
  std::size_t position_ = 0;
  std::optional<contract::RowMarks> right_marks_;  // until all ranges are joined
  std::optional<UnmatchedRows> right_unmatched_;
  std::uint64_t chunk_rows_ = 1;
  std::uint64_t rows_out_ = 0;
  Plan plan_;
  RunStats stats_;
  run::RunRecorder recorder_;
};

}  // namespace

Result<std::unique_ptr<JoinResult>> ordered_join(resolve::JoinRequest request) {
  GARUDA_TRY_ASSIGN(auto gatherer, PairGatherer::create(request.left, request.right, request.columns));
  auto join = std::make_unique<OrderedJoin>(std::move(request), std::move(gatherer));
  GARUDA_TRY(join->start());
  return std::unique_ptr<JoinResult>(std::move(join));
}

}  // namespace garuda::join
