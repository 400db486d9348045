#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

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

}  // namespace

std::unique_ptr<MatchSink> pair_sink(SinkContext const& context, run::LaneScheduler::Emit const& emit) {
  return std::make_unique<PairSink>(context, emit);
}

}  // namespace garuda::join
