#include "operators/cpu/condition_join/condition_join.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/shortage.hpp"
#include "expr/condition_parts.hpp"
#include "expr/sides.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/cpu/condition_join/condition_kernel.hpp"
#include "operators/cpu/condition_join/pair_tests.hpp"

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
    return or_out_of_memory("a slice of a join without keys", [&]() -> Result<std::unique_ptr<contract::JoinKernel>> {
      GARUDA_TRY_ASSIGN(auto build, build_of(slice.of(build_side_)));
      ConditionJoin const join{&condition_, &parts_, &*tests_, sorted_by_ ? &*sorted_by_ : nullptr, control_, stats_};
      return std::make_unique<ConditionKernel>(join, build_side_, slice.of(other_side(build_side_)), std::move(build));
    });
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

/// Rows of a side of a slice of nested loops: few enough pairs that progress is seen and lanes end together, enough
/// rows that what is made for a slice costs little beside them.
constexpr std::uint64_t kFewestLoopRows = std::uint64_t{1} << 12;
constexpr std::uint64_t kMostLoopRows = std::uint64_t{1} << 16;
constexpr std::uint64_t kSlicesOfLane = 4;
// Nanoseconds of one thread (Intel Xeon with AVX-512, 2 threads, user time of 2^32 pairs and of 2^20 rows a side,
// 2026-11-23).
/// A pair compared with a range of one column of 32 bits, counted at once; with each of several, or before the rest of
/// the condition is, which goes through a mask; by a step of the rest.
constexpr double kCountedNs = 0.05;
constexpr double kMaskedNs = 0.07;
constexpr double kRestStepNs = 0.09;
/// A row of the build side sorted by its word, a row that finds its range, a block of a range that is begun, a pair.
constexpr double kSortedRowNs = 35;
constexpr double kFoundRangeNs = 40;
constexpr double kBegunRangeNs = 25;
constexpr double kWrittenPairNs = 2;

struct ConditionStrategy {
  JoinMethod method = JoinMethod::nested_loops;
  Side build = Side::right;
  double compared_pairs = 0;  ///< all of both sides', or those that the sorted column leaves
  std::uint64_t slice_rows = contract::kMaxPassRows;
  std::uint64_t chunk_rows = 0;
};

/// A pair that is compared, on one thread.
double compared_pair_ns(contract::JoinShape const& shape, ConditionStrategy const& strategy) {
  if (shape.condition->steps.empty()) return 0;
  auto const parts = expr::parts_of(*shape.condition);
  auto const& columns = shape.condition->of(strategy.build);
  auto bounds = expr::bounds_of(parts, strategy.build);
  // The column that ranges are sorted by is not compared.
  if (strategy.method == JoinMethod::sorted_ranges && !bounds.empty()) bounds.pop_back();
  bool const is_counted = bounds.size() == 1 && parts.rest.empty();
  auto ns = kRestStepNs * static_cast<double>(parts.rest.size());
  for (auto const& bound : bounds)
    ns += (is_counted ? kCountedNs : kMaskedNs) * (columns[bound.column].is_wide() ? 2 : 1);
  return ns;
}

/// The result, made in the lanes: both sides' columns by position.
double made_rows_ns(contract::JoinShape const& shape, ConditionStrategy const& strategy, rates::HostRates const& host) {
  auto const pairs = contract::matches(shape);
  auto ns = pairs * 16 / host.copy_bytes_per_s * contract::kNs;
  for (auto const& column : shape.output) {
    auto const rows = column.side == strategy.build ? contract::rows_of(shape, column.side) : 0;
    ns += contract::taken_ns(pairs, column.bytes, rows * column.bytes, host) *
          (column.is_plain ? 1 : contract::kGathererShare);
  }
  return ns + contract::batches_ns(shape, static_cast<double>(strategy.chunk_rows), host);
}

contract::PhaseCosts costs_of(contract::JoinShape const& shape, ConditionStrategy const& strategy,
                              rates::HostRates const& host) {
  auto const threads = static_cast<double>(std::max(shape.threads, 1U));
  auto const build = contract::rows_of(shape, strategy.build);
  auto const probe = contract::rows_of(shape, other_side(strategy.build));
  auto const pair_ns = compared_pair_ns(shape, strategy);
  auto const compared = strategy.compared_pairs * pair_ns / threads;
  bool const is_sorted = strategy.method == JoinMethod::sorted_ranges;
  auto const slices = std::max(probe / 65'536, 1.0);
  contract::PhaseCosts costs{{"start", host.query_ns}, {"build", build * (is_sorted ? kSortedRowNs : 1) / threads}};
  auto const found = is_sorted ? probe * (kFoundRangeNs + (compared > 0 ? kBegunRangeNs : 0)) / threads : 0;
  costs.emplace_back("count", found + compared + slices * host.slice_ns / threads);
  auto const pairs = contract::matches(shape);
  // Tiles without a pair are not compared again.
  if (pairs > 0)
    costs.emplace_back("probe",
                       std::min(compared, pairs * 4'096 * pair_ns / threads) + pairs * kWrittenPairNs / threads);
  for (auto const side : {Side::left, Side::right})
    if (contract::is_marked(shape, side))
      costs.emplace_back("mark", compared + (side == strategy.build && is_sorted ? build / threads : 0));
  if (!shape.output.empty()) {
    costs.emplace_back("gather", made_rows_ns(shape, strategy, host));
    costs.emplace_back("alone", contract::unmatched_ns(shape, host));
  }
  return costs;
}

contract::JoinOffer condition_offer(contract::JoinInquiry const& inquiry, ConditionStrategy strategy) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  contract::JoinOffer offer;
  offer.tuning = tuning;
  offer.tuning.method = strategy.method;
  offer.tuning.build = strategy.build == Side::left ? BuildSide::left : BuildSide::right;
  offer.key_bits = 0;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  offer.slice_rows = tuning.slice_rows != 0 ? tuning.slice_rows : strategy.slice_rows;
  strategy.chunk_rows = tuning.chunk_rows != 0
                            ? tuning.chunk_rows
                            : contract::cheapest_chunk(shape, contract::matches(shape) / offer.lanes, inquiry.host);
  offer.chunk_rows = strategy.chunk_rows;
  JoinTuning chosen;
  chosen.method = strategy.method;
  chosen.build = offer.tuning.build;
  chosen.chunk_rows = static_cast<std::uint32_t>(strategy.chunk_rows);
  offer.candidate.path = Path::cpu;
  offer.candidate.device = "cpu";
  offer.candidate.choices = to_string(chosen);
  offer.candidate.reason = contract::source_of_host(inquiry.machine, shape.threads);
  contract::set_phases(offer.candidate, costs_of(shape, strategy, inquiry.host));
  return offer;
}

ConditionStrategy nested_loops(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  auto const lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  auto const smaller = contract::smaller_side(shape);
  auto const pair_ns = [&](Side side) { return compared_pair_ns(shape, {.build = side}); };
  bool const is_larger_cheaper = pair_ns(other_side(smaller)) < pair_ns(smaller);
  return {.build = contract::build_side(tuning.build, is_larger_cheaper ? other_side(smaller) : smaller),
          .compared_pairs = contract::rows_of(shape, Side::left) * contract::rows_of(shape, Side::right),
          .slice_rows = std::clamp(shape.larger_rows() / (kSlicesOfLane * lanes), kFewestLoopRows, kMostLoopRows)};
}

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
  return or_out_of_memory("a join without keys", [&]() -> Result<std::unique_ptr<contract::ConditionBackend>> {
    auto backend = std::make_unique<Backend>(options, condition);
    GARUDA_TRY(backend->open(options.tuning.method));
    return std::unique_ptr<contract::ConditionBackend>(std::move(backend));
  });
}

std::uint64_t cpu_condition_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows) noexcept {
  // Order, words and copies of a few columns of the build side, and as much again while it is sorted; ranges and
  // numbers of probe rows; sums of tiles.
  return build_rows * 64 + probe_rows * 12 + (std::uint64_t{1} << 23);
}

Result<contract::JoinOffers> cpu_condition_offers(contract::JoinInquiry const& inquiry) {
  auto const& tuning = inquiry.options.tuning;
  auto const& condition = *inquiry.shape.condition;
  contract::JoinOffers offers;
  if (tuning.method != JoinMethod::sorted_ranges)
    offers.list.push_back(condition_offer(inquiry, nested_loops(inquiry)));
  if (tuning.method == JoinMethod::nested_loops) return offers;
  auto const parts = expr::parts_of(condition);
  for (auto const build : {Side::right, Side::left}) {
    if (contract::build_side(tuning.build, build) != build) continue;
    auto const column = sorted_column(condition, build);
    if (!column) continue;
    offers.list.push_back(condition_offer(
        inquiry, ConditionStrategy{.method = JoinMethod::sorted_ranges,
                                   .build = build,
                                   .compared_pairs = expr::pairs_in_range(condition, parts, build, *column)}));
  }
  if (offers.list.empty())
    return fail(ErrorCode::usage,
                "method=sorted_ranges takes a condition that compares columns of both tables by order");
  return offers;
}

}  // namespace garuda::cpu
