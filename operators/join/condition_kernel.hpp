// A kernel whose pairs must also satisfy a condition.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "expr/pair_filter.hpp"
#include "garuda/control.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/run/join_slices.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// The rows of one side that a condition is tested on.
struct TestedSide {
  partition::PartitionedKeys const& keys;
  /// The words are in the order of the partitioned keys; else in that of the table, and the keys have row ids, unless
  /// the condition compares no column of this side.
  bool words_moved = false;
};

/// Questions of a join with a condition to every slice. References outlive the kernels.
struct TestedJoin {
  expr::PairCondition const& condition;
  TestedSide left;
  TestedSide right;
  bool marks_left = false;  ///< rows of that side with a match will be asked for
  bool marks_right = false;
  bool wants_pairs = false;           ///< pairs will be asked for, not only their number or marks
  std::uint64_t most_kept_pairs = 0;  ///< of those that pass, of a slice
  std::uint64_t window_pairs = 0;     ///< that are asked of the path's kernel at once
  Control const& control;
  contract::StatsSink& stats;
};

/// The pairs of a path's kernel of which the condition is true: the same sequence without the others. The first
/// question tests all pairs, and answers all questions but that for pairs: these are kept while they are few, else
/// found and tested again where they are asked for.
class ConditionKernel final : public contract::JoinKernel {
 public:
  ConditionKernel(std::unique_ptr<contract::JoinKernel> kernel, run::SliceTask const& slice, TestedJoin const& join);

  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  /// Requires: marks of that side are wanted.
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  Result<void> test_all();
  Result<void> load_window(std::uint64_t first);
  template <class Row>
  void test_window();
  void add_marks();
  Result<void> seek(std::uint64_t position);

  std::unique_ptr<contract::JoinKernel> kernel_;
  run::SliceTask slice_;
  TestedJoin const& join_;
  expr::PairFilter filter_;
  bool is_tested_ = false;
  std::uint64_t num_found_ = 0;  ///< pairs of the path's kernel
  std::uint64_t count_ = 0;
  std::uint64_t step_ = 0;                  ///< pairs found between two checkpoints, whole windows
  std::vector<std::uint64_t> checkpoints_;  ///< pairs that pass before each
  contract::MarkBitmap left_marks_;
  contract::MarkBitmap right_marks_;
  std::vector<contract::RowPair> window_;  ///< those that pass of the present window, or of all
  std::vector<std::uint8_t> passes_;
  std::uint64_t window_begin_ = 0;  ///< position of the first of them
  std::uint64_t next_found_ = 0;    ///< first pair of the path's kernel behind the window
};

}  // namespace garuda::join
