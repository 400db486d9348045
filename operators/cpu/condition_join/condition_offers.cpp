#include "operators/cpu/condition_join/condition_offers.hpp"

#include <algorithm>
#include <utility>

#include "expr/pair_sample.hpp"
#include "expr/sides.hpp"
#include "operators/contract/join_terms.hpp"
#include "operators/cpu/condition_join/condition_costs.hpp"
#include "operators/cpu/condition_join/condition_join.hpp"

namespace garuda::cpu {
namespace {

/// Rows of a side of a slice of nested loops: few enough pairs that progress is seen and lanes end together, enough
/// rows that what is made for a slice costs little beside them.
constexpr std::uint64_t kFewestLoopRows = std::uint64_t{1} << 12;
constexpr std::uint64_t kMostLoopRows = std::uint64_t{1} << 16;
constexpr std::uint64_t kSlicesOfLane = 4;

contract::JoinOffer offer_of(contract::JoinInquiry const& inquiry, ConditionWay way) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  contract::JoinOffer offer;
  offer.tuning = tuning;
  offer.tuning.method = way.method;
  offer.tuning.build = way.build == Side::left ? BuildSide::left : BuildSide::right;
  offer.key_bits = 0;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  offer.slice_rows = tuning.slice_rows != 0 ? tuning.slice_rows : way.slice_rows;
  way.chunk_rows = tuning.chunk_rows != 0
                       ? tuning.chunk_rows
                       : contract::cheapest_chunk(shape, contract::matches(shape) / offer.lanes, inquiry.host);
  offer.chunk_rows = way.chunk_rows;
  JoinTuning chosen;
  chosen.method = way.method;
  chosen.build = offer.tuning.build;
  chosen.chunk_rows = static_cast<std::uint32_t>(way.chunk_rows);
  offer.candidate.path = Path::cpu;
  offer.candidate.device = "cpu";
  offer.candidate.choices = to_string(chosen);
  offer.candidate.reason = contract::source_of_host(inquiry.machine, shape.threads);
  contract::set_phases(offer.candidate, cpu_condition_costs(shape, way, inquiry.host));
  return offer;
}

Side built_on(BuildSide asked, Side otherwise) {
  if (asked == BuildSide::automatic) return otherwise;
  return asked == BuildSide::left ? Side::left : Side::right;
}

ConditionWay loops_way(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const lanes = inquiry.options.tuning.lanes != 0 ? inquiry.options.tuning.lanes : shape.threads;
  ConditionWay way;
  auto const smaller = contract::smaller_side(shape);
  auto const cheaper = compared_pair_ns(shape, {JoinMethod::nested_loops, other_side(smaller)}) <
                               compared_pair_ns(shape, {JoinMethod::nested_loops, smaller})
                           ? other_side(smaller)
                           : smaller;
  way.build = built_on(inquiry.options.tuning.build, cheaper);
  way.compared_pairs = contract::rows_of(shape, Side::left) * contract::rows_of(shape, Side::right);
  way.slice_rows = std::clamp(shape.larger_rows() / (kSlicesOfLane * lanes), kFewestLoopRows, kMostLoopRows);
  return way;
}

}  // namespace

Result<contract::JoinOffers> cpu_condition_offers(contract::JoinInquiry const& inquiry) {
  auto const& tuning = inquiry.options.tuning;
  auto const& condition = *inquiry.shape.condition;
  contract::JoinOffers offers;
  if (tuning.method != JoinMethod::sorted_ranges) offers.list.push_back(offer_of(inquiry, loops_way(inquiry)));
  if (tuning.method == JoinMethod::nested_loops) return offers;
  auto const parts = expr::parts_of(condition);
  for (auto const build : {Side::right, Side::left}) {
    if (built_on(tuning.build, build) != build) continue;
    auto const column = sorted_column(condition, build);
    if (!column) continue;
    ConditionWay way{JoinMethod::sorted_ranges, build};
    way.compared_pairs = expr::pairs_in_range(condition, parts, build, *column);
    way.slice_rows = contract::kMaxPassRows;
    offers.list.push_back(offer_of(inquiry, way));
  }
  if (offers.list.empty())
    return fail(ErrorCode::usage,
                "method=sorted_ranges takes a condition that compares columns of both tables by order");
  return offers;
}

}  // namespace garuda::cpu
