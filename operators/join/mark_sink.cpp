#include <utility>

#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

class MarkSink final : public MatchSink {
 public:
  MarkSink(SideMarks& marks, std::unique_ptr<MatchSink> pairs) : marks_(marks), pairs_(std::move(pairs)) {}

  /// Marks first: what is marked twice, because the slice is halved and taken anew, is marked.
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) override {
    if (marks_.left) GARUDA_TRY(kernel.add_marks(Side::left, *marks_.left, slice.left.begin));
    if (marks_.right) GARUDA_TRY(kernel.add_marks(Side::right, *marks_.right, slice.right.begin));
    return pairs_ == nullptr ? Result<void>{} : pairs_->take(kernel, slice, rows);
  }

  Result<void> finish() override { return pairs_ == nullptr ? Result<void>{} : pairs_->finish(); }

 private:
  SideMarks& marks_;
  std::unique_ptr<MatchSink> pairs_;
};

}  // namespace

std::unique_ptr<MatchSink> mark_sink(SideMarks& marks, std::unique_ptr<MatchSink> pairs) {
  if (!marks.any()) return pairs;
  return std::make_unique<MarkSink>(marks, std::move(pairs));
}

}  // namespace garuda::join
