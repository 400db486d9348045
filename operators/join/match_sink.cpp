#include "operators/join/match_sink.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "expr/sides.hpp"

namespace garuda::join {
namespace {

class CountSink final : public MatchSink {
 public:
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const&, std::uint64_t* rows) override {
    GARUDA_TRY_ASSIGN(*rows, kernel.count());
    return {};
  }
};

class MarkSink final : public MatchSink {
 public:
  MarkSink(SideMarks& marks, std::unique_ptr<MatchSink> pairs) : marks_(marks), pairs_(std::move(pairs)) {}

  /// Marks first: what is marked twice, because the slice is halved and taken anew, is marked.
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) override {
    GARUDA_TRY(mark(Side::left, slice.left, kernel, slice));
    GARUDA_TRY(mark(Side::right, slice.right, kernel, slice));
    return pairs_ == nullptr ? Result<void>{} : pairs_->take(kernel, slice, rows);
  }

  Result<void> finish() override { return pairs_ == nullptr ? Result<void>{} : pairs_->finish(); }

 private:
  Result<void> mark(Side side, run::RowRange rows, contract::JoinKernel& kernel, run::SliceTask const& slice) {
    auto& marks = marks_.of(side);
    if (!marks) return {};
    bool gives_all = false;
    if (pairs_ != nullptr) {
      GARUDA_TRY_ASSIGN(gives_all, pairs_->gives_all(side, kernel, slice));
    }
    if (!gives_all) return kernel.add_marks(side, *marks, rows.begin);
    marks->set_all(rows.begin, rows.end);
    return {};
  }

  SideMarks& marks_;
  std::unique_ptr<MatchSink> pairs_;
};

/// Most pairs that a kernel is asked for at once: they stay in a cache until they are row ids.
constexpr std::uint64_t kWindowPairs = std::uint64_t{1} << 14;

class PairSink final : public MatchSink {
 public:
  PairSink(SinkContext const& context, run::LaneScheduler::Emit const& emit) : context_(context), emit_(emit) {}

  /// A device's shortage shows with the first window, before any pair is handed over.
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) override {
    GARUDA_TRY_ASSIGN(auto const count, kernel.count());
    for (std::uint64_t first = 0; first < count;) {
      GARUDA_TRY_ASSIGN(auto chunk, next_chunk(kernel, slice, first, std::min(context_.chunk_rows, count - first)));
      first += chunk.size();
      *rows += chunk.size();
      if (!emit_(std::move(chunk))) return {};
    }
    return {};
  }

 private:
  /// The kernel's pairs [first, first + rows).
  Result<run::PairChunk> next_chunk(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t first,
                                    std::uint64_t rows) {
    run::PairChunk chunk;
    chunk.left.resize(rows);
    chunk.right.resize(rows);
    window_.resize(std::max<std::size_t>(window_.size(), std::min(rows, kWindowPairs)));
    for (std::uint64_t done = 0; done < rows;) {
      if (context_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
      auto const pairs = std::span(window_).first(std::min<std::uint64_t>(window_.size(), rows - done));
      GARUDA_TRY(kernel.pairs(first + done, pairs));
      for (auto const& pair : pairs) {
        chunk.left[done] = static_cast<std::int64_t>(context_.left.row_id(slice.left.begin + pair.left));
        chunk.right[done] = static_cast<std::int64_t>(context_.right.row_id(slice.right.begin + pair.right));
        ++done;
      }
    }
    return chunk;
  }

  SinkContext context_;
  run::LaneScheduler::Emit const& emit_;
  std::vector<contract::RowPair> window_;
};

/// A batch gets room for a few more rows than expected, so that it seldom ends short of its task.
constexpr double kCapacitySlack = 1.05;

class BatchSink final : public MatchSink {
 public:
  BatchSink(SinkContext const& context, BatchSources const& sources, std::span<run::SliceTask const> task,
            run::BatchScheduler::Emit const& emit)
      : context_(context), task_(task), emit_(emit), builder_(sources), window_(kAppendedPairs) {}

  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) override {
    GARUDA_TRY_ASSIGN(auto count, kernel.count());
    auto const probe = probe_of(slice);
    GARUDA_TRY_ASSIGN(bool const gives_all, this->gives_all(probe, kernel, slice));
    auto unique = kernel.unique_matches();
    if (gives_all)
      count = unique.size();
    else if (count != unique.size())
      unique = {};
    for (std::uint64_t first = 0; first < count && !stopped_;) {
      if (context_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
      auto const position = unique.empty() ? std::nullopt : std::optional(positions_of(probe, slice).begin + first);
      bool const is_elsewhere = builder_.next_shared() && builder_.next_shared() != position;
      if (builder_.size() > 0 && (builder_.room() == 0 || is_elsewhere)) GARUDA_TRY(hand_over());
      if (builder_.size() == 0) GARUDA_TRY(start(capacity(count, first, slice), probe, position));
      auto const taken = std::min({kAppendedPairs, count - first, builder_.room()});
      PositionBases const bases{slice.left.begin, slice.right.begin};
      if (unique.empty()) {
        auto const pairs = std::span(window_).first(taken);
        GARUDA_TRY(kernel.pairs(first, pairs));
        PhaseClock const clock(gathering_);
        builder_.append(pairs, bases, probe);
      } else {
        PhaseClock const clock(gathering_);
        builder_.append_unique(unique.subspan(first, taken), first, bases, probe);
      }
      first += taken;
      *rows += taken;
      rows_ += taken;
    }
    return {};
  }

  /// Where each row has one match at most, in all of the other side's rows that may match it.
  Result<bool> gives_all(Side side, contract::JoinKernel& kernel, run::SliceTask const& slice) override {
    if (!builder_.sources().places_unmatched(side) || probe_of(slice) != side) return false;
    auto const other = other_side(side);
    auto const& offsets = (other == Side::left ? context_.left : context_.right).offsets;
    if (positions_of(other, slice) != run::RowRange{offsets[slice.partition], offsets[slice.partition + 1]})
      return false;
    GARUDA_TRY(kernel.count());
    return !kernel.unique_matches().empty();
  }

  Result<void> finish() override {
    GARUDA_TRY(hand_over());
    auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(gathering_).count();
    context_.stats.add_phase("gather", static_cast<std::uint64_t>(ns), 0, rows_);
    return {};
  }

 private:
  using Duration = std::chrono::steady_clock::duration;

  /// Adds its lifetime to a sum.
  class PhaseClock {
   public:
    explicit PhaseClock(Duration& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
    PhaseClock(PhaseClock const&) = delete;
    PhaseClock& operator=(PhaseClock const&) = delete;
    ~PhaseClock() { sum_ += std::chrono::steady_clock::now() - start_; }

   private:
    Duration& sum_;
    std::chrono::steady_clock::time_point start_;
  };

  static Side probe_of(run::SliceTask const& slice) { return slice.build == Side::left ? Side::right : Side::left; }
  static run::RowRange positions_of(Side side, run::SliceTask const& slice) {
    return side == Side::left ? slice.left : slice.right;
  }

  /// `position`: of rows of the probe side that follow each other.
  Result<void> start(std::uint64_t rows, Side probe, std::optional<std::uint64_t> position) {
    return position ? builder_.start_sharing(rows, probe, *position) : builder_.start(rows);
  }

  /// Rows of a new batch: as many as the rest of the task has, if it matches as this slice does.
  std::uint64_t capacity(std::uint64_t count, std::uint64_t first, run::SliceTask const& slice) const {
    auto const most = context_.chunk_rows;
    auto const larger = static_cast<double>(std::max(slice.left.size(), slice.right.size()));
    auto const expected = kCapacitySlack * static_cast<double>(count) / larger * static_cast<double>(rows_from(slice));
    return std::max(std::min(count - first, most),
                    static_cast<std::uint64_t>(std::min(expected, static_cast<double>(most))));
  }

  /// Rows of the larger sides from `slice` to the end of the task.
  std::uint64_t rows_from(run::SliceTask const& slice) const {
    std::uint64_t rows = 0;
    for (auto s = task_.size(); s > 0; --s) {
      auto const& other = task_[s - 1];
      rows += std::max(other.left.size(), other.right.size());
      if (other == slice) break;
    }
    return rows;
  }

  Result<void> hand_over() {
    std::vector<Batch> batches;
    {
      PhaseClock const clock(gathering_);
      GARUDA_TRY_ASSIGN(batches, builder_.finish());
    }
    for (auto& batch : batches)
      if (!stopped_ && !emit_(run::BatchChunk{std::move(batch)})) stopped_ = true;
    return {};
  }

  SinkContext context_;
  std::span<run::SliceTask const> task_;
  run::BatchScheduler::Emit const& emit_;
  BatchBuilder builder_;
  std::vector<contract::RowPair> window_;
  bool stopped_ = false;
  Duration gathering_{};
  std::uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<MatchSink> count_sink() { return std::make_unique<CountSink>(); }

std::unique_ptr<MatchSink> mark_sink(SideMarks& marks, std::unique_ptr<MatchSink> pairs) {
  if (!marks.any()) return pairs;
  return std::make_unique<MarkSink>(marks, std::move(pairs));
}

std::unique_ptr<MatchSink> pair_sink(SinkContext const& context, run::LaneScheduler::Emit const& emit) {
  return std::make_unique<PairSink>(context, emit);
}

std::unique_ptr<MatchSink> batch_sink(SinkContext const& context, BatchSources const& sources,
                                      std::span<run::SliceTask const> task, run::BatchScheduler::Emit const& emit) {
  return std::make_unique<BatchSink>(context, sources, task, emit);
}

}  // namespace garuda::join
