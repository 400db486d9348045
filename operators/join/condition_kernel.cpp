#include "operators/join/condition_kernel.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/stopwatch.hpp"

namespace garuda::join {
namespace {

using contract::RowPair;

/// Places at which the sequence can be entered.
constexpr std::uint64_t kMostCheckpoints = std::uint64_t{1} << 16;
/// Pairs whose rows are looked up at once: these stay in a core's first cache until they are tested.
constexpr std::size_t kBlockPairs = 1'024;

/// rows[i]: where the words of pair i's row of a side are.
template <class Row>
void look_up_rows(TestedSide const& tested, std::uint64_t begin, std::span<RowPair const> pairs,
                  std::uint32_t RowPair::*side, Row* rows) {
  auto const& keys = tested.keys;
  auto const put = [&](auto const& row_of) {
    for (std::size_t i = 0; i < pairs.size(); ++i) rows[i] = static_cast<Row>(row_of(begin + pairs[i].*side));
  };
  if (tested.words_moved || keys.row_ids == nullptr) return put([](std::uint64_t position) { return position; });
  if (keys.wide_row_ids)
    return put([ids = static_cast<std::uint64_t const*>(keys.row_ids)](auto at) { return ids[at]; });
  put([ids = static_cast<std::uint32_t const*>(keys.row_ids)](auto at) { return ids[at]; });
}

bool is_wide(TestedSide const& side) { return side.keys.wide_row_ids || side.keys.num_rows() > std::uint64_t{1} << 32; }

void set_bit(contract::MarkBitmap& marks, std::uint32_t row) { marks[row / 64] |= std::uint64_t{1} << row % 64; }

}  // namespace

ConditionKernel::ConditionKernel(std::unique_ptr<contract::JoinKernel> kernel, run::SliceTask const& slice,
                                 TestedJoin const& join)
    : kernel_(std::move(kernel)), slice_(slice), join_(join), filter_(join.condition) {
  GARUDA_EXPECTS(join.window_pairs > 0);
  if (join.marks_left) left_marks_.resize(contract::bitmap_words(slice.left.size()));
  if (join.marks_right) right_marks_.resize(contract::bitmap_words(slice.right.size()));
}

Result<std::uint64_t> ConditionKernel::count() {
  GARUDA_TRY(test_all());
  return count_;
}

Result<contract::MarkBitmap> ConditionKernel::mark(Side side) {
  GARUDA_EXPECTS(side == Side::left ? join_.marks_left : join_.marks_right);
  GARUDA_TRY(test_all());
  return side == Side::left ? left_marks_ : right_marks_;
}

Result<void> ConditionKernel::test_all() {
  if (is_tested_) return {};
  GARUDA_TRY_ASSIGN(num_found_, kernel_->count());
  auto const windows = (num_found_ + join_.window_pairs - 1) / join_.window_pairs;
  step_ = join_.window_pairs * std::max<std::uint64_t>(1, (windows + kMostCheckpoints - 1) / kMostCheckpoints);
  std::vector<RowPair> kept;
  count_ = 0;
  checkpoints_.clear();
  for (std::uint64_t first = 0; first < num_found_; first = next_found_) {
    if (first % step_ == 0) checkpoints_.push_back(count_);
    GARUDA_TRY(load_window(first));
    add_marks();
    count_ += window_.size();
    if (join_.wants_pairs && count_ <= join_.most_kept_pairs) kept.insert(kept.end(), window_.begin(), window_.end());
  }
  if (join_.wants_pairs && count_ <= join_.most_kept_pairs) {
    window_ = std::move(kept);
    window_begin_ = 0;
  } else {
    // Nothing of it will be asked for first.
    window_.clear();
    window_begin_ = count_;
  }
  is_tested_ = true;
  join_.stats.add_counter("pairs_tested", num_found_);
  return {};
}

/// Finds the pairs of a window, and leaves those that pass.
Result<void> ConditionKernel::load_window(std::uint64_t first) {
  if (join_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
  auto const found = std::min(join_.window_pairs, num_found_ - first);
  window_.resize(found);
  GARUDA_TRY(kernel_->pairs(first, window_));
  Stopwatch const testing;
  passes_.resize(found);
  if (is_wide(join_.left) || is_wide(join_.right))
    test_window<std::uint64_t>();
  else
    test_window<std::uint32_t>();
  std::size_t passed = 0;
  for (std::size_t i = 0; i < found; ++i) {
    window_[passed] = window_[i];
    passed += passes_[i];
  }
  window_.resize(passed);
  next_found_ = first + found;
  join_.stats.add_phase("condition", testing.elapsed_ns(), 0, found);
  return {};
}

template <class Row>
void ConditionKernel::test_window() {
  std::array<Row, kBlockPairs> left;
  std::array<Row, kBlockPairs> right;
  auto const& condition = join_.condition;
  for (std::size_t first = 0; first < window_.size(); first += kBlockPairs) {
    auto const pairs = std::span(window_).subspan(first, std::min(kBlockPairs, window_.size() - first));
    if (!condition.left.empty()) look_up_rows(join_.left, slice_.left.begin, pairs, &RowPair::left, left.data());
    if (!condition.right.empty()) look_up_rows(join_.right, slice_.right.begin, pairs, &RowPair::right, right.data());
    filter_.test(std::span<Row const>(left).first(pairs.size()), std::span<Row const>(right).first(pairs.size()),
                 std::span(passes_).subspan(first, pairs.size()));
  }
}

void ConditionKernel::add_marks() {
  if (join_.marks_left)
    for (auto const& pair : window_) set_bit(left_marks_, pair.left);
  if (join_.marks_right)
    for (auto const& pair : window_) set_bit(right_marks_, pair.right);
}

/// Loads the window that holds the pair at `position`: from the present one on, or from the checkpoint before it.
Result<void> ConditionKernel::seek(std::uint64_t position) {
  auto const checkpoint =
      static_cast<std::uint64_t>(std::ranges::upper_bound(checkpoints_, position) - checkpoints_.begin() - 1);
  auto const end = window_begin_ + window_.size();
  bool const goes_on = !window_.empty() && position >= end && checkpoints_[checkpoint] <= end;
  window_begin_ = goes_on ? end : checkpoints_[checkpoint];
  if (!goes_on) next_found_ = checkpoint * step_;
  window_.clear();
  do {
    window_begin_ += window_.size();
    GARUDA_TRY(load_window(next_found_));
  } while (position >= window_begin_ + window_.size());
  return {};
}

Result<void> ConditionKernel::pairs(std::uint64_t first, std::span<RowPair> out) {
  GARUDA_TRY(test_all());
  GARUDA_EXPECTS(first + out.size() <= count_);
  while (!out.empty()) {
    if (first < window_begin_ || first >= window_begin_ + window_.size()) GARUDA_TRY(seek(first));
    auto const from = std::span(window_).subspan(first - window_begin_);
    auto const taken = std::min(from.size(), out.size());
    std::copy_n(from.begin(), taken, out.begin());
    first += taken;
    out = out.subspan(taken);
  }
  return {};
}

}  // namespace garuda::join
