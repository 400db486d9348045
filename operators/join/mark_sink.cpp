#include <utility>

#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

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

}  // namespace

std::unique_ptr<MatchSink> mark_sink(SideMarks& marks, std::unique_ptr<MatchSink> pairs) {
  if (!marks.any()) return pairs;
  return std::make_unique<MarkSink>(marks, std::move(pairs));
}

}  // namespace garuda::join
