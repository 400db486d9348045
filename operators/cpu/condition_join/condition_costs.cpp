#include "operators/cpu/condition_join/condition_costs.hpp"

#include <algorithm>

#include "expr/condition_parts.hpp"
#include "expr/sides.hpp"
#include "operators/contract/join_terms.hpp"
#include "operators/cpu/condition_join/pair_tests.hpp"

namespace garuda::cpu {
namespace {

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

/// The result, made in the lanes: both sides' columns by position.
double made_rows_ns(contract::JoinShape const& shape, ConditionWay const& way, rates::HostRates const& host) {
  auto const pairs = contract::matches(shape);
  auto ns = pairs * 16 / host.copy_bytes_per_s * contract::kNs;
  for (auto const& column : shape.output) {
    auto const rows = column.side == way.build ? contract::rows_of(shape, column.side) : 0;
    ns += contract::taken_ns(pairs, column.bytes, rows * column.bytes, host) *
          (column.is_plain ? 1 : contract::kGathererShare);
  }
  return ns + contract::batches_ns(shape, static_cast<double>(way.chunk_rows), host);
}

}  // namespace

double compared_pair_ns(contract::JoinShape const& shape, ConditionWay const& way) {
  if (shape.condition->steps.empty()) return 0;
  auto const parts = expr::parts_of(*shape.condition);
  auto const& columns = shape.condition->of(way.build);
  auto bounds = bounds_of(parts, way.build);
  // Of ranges of a sorted column that one is not compared.
  if (way.method == JoinMethod::sorted_ranges && !bounds.empty()) bounds.pop_back();
  bool const is_counted = bounds.size() == 1 && parts.rest.empty();
  auto ns = kRestStepNs * static_cast<double>(parts.rest.size());
  for (auto const& bound : bounds)
    ns += (is_counted ? kCountedNs : kMaskedNs) *
          (std::holds_alternative<std::span<std::uint64_t const>>(columns[bound.column].words) ? 2 : 1);
  return ns;
}

contract::PhaseCosts cpu_condition_costs(contract::JoinShape const& shape, ConditionWay const& way,
                                         rates::HostRates const& host) {
  auto const threads = static_cast<double>(std::max(shape.threads, 1U));
  auto const build = contract::rows_of(shape, way.build);
  auto const probe = contract::rows_of(shape, other_side(way.build));
  auto const compared = way.compared_pairs * compared_pair_ns(shape, way) / threads;
  bool const is_sorted = way.method == JoinMethod::sorted_ranges;
  auto const slices = std::max(probe / 65'536, 1.0);
  contract::PhaseCosts costs{{"start", host.query_ns}, {"build", build * (is_sorted ? kSortedRowNs : 1) / threads}};
  auto const found = is_sorted ? probe * (kFoundRangeNs + (compared > 0 ? kBegunRangeNs : 0)) / threads : 0;
  costs.emplace_back("count", found + compared + slices * host.slice_ns / threads);
  auto const pairs = contract::matches(shape);
  // Tiles without a pair are not compared again.
  if (pairs > 0)
    costs.emplace_back("probe", std::min(compared, pairs * 4'096 * compared_pair_ns(shape, way) / threads) +
                                    pairs * kWrittenPairNs / threads);
  for (auto const side : {Side::left, Side::right})
    if (contract::is_marked(shape, side))
      costs.emplace_back("mark", compared + (side == way.build && is_sorted ? build / threads : 0));
  if (!shape.output.empty()) {
    costs.emplace_back("gather", made_rows_ns(shape, way, host));
    costs.emplace_back("alone", contract::unmatched_ns(shape, host));
  }
  return costs;
}

}  // namespace garuda::cpu
