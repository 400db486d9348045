#include "operators/cpu/condition_join/condition_join.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "expr/condition_parts.hpp"
#include "expr/sides.hpp"
#include "operators/cpu/condition_join/condition_kernel.hpp"

namespace garuda::cpu {
namespace {

class Backend final : public contract::ConditionBackend {
 public:
  Backend(contract::BackendOptions const& options, expr::PairCondition const& condition)
      : condition_(condition),
        parts_(expr::parts_of(condition)),
        build_side_(options.tuning.build == BuildSide::left ? Side::left : Side::right),
        control_(options.control),
        stats_(options.stats),
        lanes_(options.lanes) {
    if (control_ == nullptr) control_ = &uncontrolled_;
  }

  Result<void> open(JoinMethod method) {
    if (method == JoinMethod::sorted_ranges) {
      auto const column = sorted_column(condition_, build_side_);
      if (!column)
        return fail(ErrorCode::usage,
                    "method=sorted_ranges takes a condition that compares columns of both tables by order");
      for (auto& bounds : expr::bounds_of(parts_, build_side_))
        if (bounds.column == *column) sorted_by_ = std::move(bounds);
      tests_.emplace(condition_, parts_, build_side_, column);
    } else {
      tests_.emplace(condition_, parts_, build_side_);
    }
    return {};
  }

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::ConditionSlice const& slice, std::uint32_t) override {
    GARUDA_EXPECTS(slice.left.rows <= contract::kMaxPassRows && slice.right.rows <= contract::kMaxPassRows);
    GARUDA_EXPECTS(!slice.build || *slice.build == build_side_);
    try {
      GARUDA_TRY_ASSIGN(auto build, build_of(slice.of(build_side_)));
      ConditionJoin const join{&condition_, &parts_, &*tests_, sorted_by_ ? &*sorted_by_ : nullptr, control_, stats_};
      return std::make_unique<ConditionKernel>(join, build_side_, slice.of(other_side(build_side_)), std::move(build));
    } catch (std::bad_alloc const&) {
      return fail(ErrorCode::out_of_memory, "no memory for a slice of a join without keys");
    }
  }

 private:
  /// The build side of a slice, made once for all lanes: the others wait for it, and lend their threads.
  Result<std::shared_ptr<BuildSlice const>> build_of(contract::RowSpan span) {
    std::lock_guard const lock(mutex_);
    if (shared_ && shared_->span == span) return shared_;
    oneapi::tbb::task_arena arena(static_cast<int>(lanes_));
    GARUDA_TRY_ASSIGN(shared_, arena.execute([&] { return make_build(span); }));
    return shared_;
  }

  Result<std::shared_ptr<BuildSlice const>> make_build(contract::RowSpan span) const {
    contract::PhaseTimer const phase(stats_, "build", 0, span.rows);
    auto chosen = expr::rows_that_may_match(condition_, parts_, build_side_, span.first, span.rows);
    auto made = std::make_shared<BuildSlice>();
    made->span = span;
    if (sorted_by_) {
      expr::ColumnWords const words(condition_.of(build_side_)[sorted_by_->column], span.first);
      GARUDA_TRY_ASSIGN(made->index, RangeIndex::create(words, span.rows, std::move(chosen), *control_));
      chosen = made->index->take_order();
    }
    GARUDA_TRY_ASSIGN(made->rows,
                      BuildRows::create(condition_, build_side_, span, std::move(chosen), tests_->build_columns()));
    return std::shared_ptr<BuildSlice const>(std::move(made));
  }

  expr::PairCondition const& condition_;
  expr::ConditionParts parts_;
  Side build_side_;
  Control uncontrolled_;
  Control const* control_;
  contract::StatsSink* stats_;
  std::uint32_t lanes_;
  std::optional<expr::ColumnBounds> sorted_by_;
  std::optional<PairTests> tests_;
  std::mutex mutex_;
  std::shared_ptr<BuildSlice const> shared_;
};

}  // namespace

std::optional<std::uint32_t> sorted_column(expr::PairCondition const& condition, Side build) {
  auto const parts = expr::parts_of(condition);
  std::optional<std::uint32_t> best;
  double least = 0;
  for (auto const& bounds : expr::bounds_of(parts, build)) {
    auto const pairs = expr::pairs_in_range(condition, parts, build, bounds.column);
    if (best && pairs >= least) continue;
    best = bounds.column;
    least = pairs;
  }
  return best;
}

Result<std::unique_ptr<contract::ConditionBackend>> open_cpu_condition_join(contract::BackendOptions const& options,
                                                                            expr::PairCondition const& condition) {
  GARUDA_EXPECTS(options.lanes > 0);
  try {
    auto backend = std::make_unique<Backend>(options, condition);
    GARUDA_TRY(backend->open(options.tuning.method));
    return std::unique_ptr<contract::ConditionBackend>(std::move(backend));
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for a join without keys");
  }
}

std::uint64_t cpu_condition_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows) noexcept {
  // Order, words and copies of a few columns of the build side, and as much again while it is sorted; ranges and
  // numbers of probe rows; sums of tiles.
  return build_rows * 64 + probe_rows * 12 + (std::uint64_t{1} << 23);
}

}  // namespace garuda::cpu
