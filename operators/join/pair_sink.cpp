#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

/// Most pairs that a kernel is asked for at once.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 20;

class PairSink final : public MatchSink {
 public:
  PairSink(SinkContext const& context, run::LaneScheduler::Emit const& emit) : context_(context), emit_(emit) {}

  /// The result buffers are sized by the kernel's first window, so a shortage shows before any pair is handed over.
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) override {
    GARUDA_TRY_ASSIGN(auto const count, kernel.count());
    auto const window = std::min({kWindowRows, context_.chunk_rows, std::max<std::uint64_t>(count, 1)});
    std::vector<contract::RowPair> pairs(window);
    for (std::uint64_t first = 0; first < count; first += window) {
      if (context_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
      auto const taken = std::min(window, count - first);
      GARUDA_TRY(kernel.pairs(first, std::span(pairs).first(taken)));
      run::PairChunk chunk;
      chunk.left.resize(taken);
      chunk.right.resize(taken);
      for (std::uint64_t i = 0; i < taken; ++i) {
        chunk.left[i] = static_cast<std::int64_t>(context_.left.row_id(slice.left.begin + pairs[i].left));
        chunk.right[i] = static_cast<std::int64_t>(context_.right.row_id(slice.right.begin + pairs[i].right));
      }
      *rows += taken;
      if (!emit_(std::move(chunk))) return {};
    }
    return {};
  }

 private:
  SinkContext context_;
  run::LaneScheduler::Emit const& emit_;
};

}  // namespace

std::unique_ptr<MatchSink> pair_sink(SinkContext const& context, run::LaneScheduler::Emit const& emit) {
  return std::make_unique<PairSink>(context, emit);
}

}  // namespace garuda::join
