#include "operators/plan/join_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "operators/contract/offers/join_terms.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/plan/paths.hpp"

namespace garuda::plan {
namespace {

constexpr std::uint64_t kSmallestSliceRows = 4096;

/// Shrinks the slices of a path that has tables on the host, then its lanes, until their tables take at most half of
/// `free_bytes`. Returns what they take then.
std::uint64_t bound_tables(contract::JoinFeeding const& feeding, contract::JoinShape const& shape,
                           std::uint64_t free_bytes, Plan& plan) {
  if (feeding.host_bytes == nullptr) return 0;
  auto const rows = std::max<std::uint64_t>(shape.larger_rows(), 1);
  auto const bytes = [&] {
    auto const slice = std::min(plan.slice_rows, rows);
    return feeding.host_bytes(slice, slice, shape.key_bits) * plan.lanes;
  };
  while (bytes() > free_bytes / 2 && plan.slice_rows > kSmallestSliceRows) plan.slice_rows /= 2;
  while (bytes() > free_bytes / 2 && plan.lanes > 1) plan.lanes /= 2;
  return bytes();
}

double output_row_bytes(contract::JoinShape const& shape) {
  double bytes = 0;
  for (auto const& column : shape.output) bytes += column.bytes;
  return bytes;
}

/// Host memory: partitioned keys must fit; what is left decides the rows of a chunk.
Result<void> size_host_memory(contract::JoinShape const& shape, JoinOptions const& options,
                              contract::JoinOffer const& offer, Plan& plan) {
  auto const& feeding = feeding_of(*find_path(plan.path), shape.is_non_equi());
  auto const limit = contract::most_host_bytes(shape, options);
  auto const moved = shape.is_non_equi() ? 0 : contract::partitioned_bytes(shape, plan.radix_bits, offer.carried);
  auto const keys = shape.encoded_bytes + moved;
  if (limit != 0 && keys > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the {} of {} rows need {} bytes of host memory, over the limit: {}",
                            shape.is_non_equi() ? "compared words" : "partitioned keys",
                            shape.left.rows + shape.right.rows, keys, limit));
  auto free_bytes = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit - keys;
  auto const tables = bound_tables(feeding, shape, free_bytes, plan);
  free_bytes -= std::min(tables, free_bytes);
  auto const row_bytes = static_cast<std::uint64_t>(output_row_bytes(shape)) + 1;
  // Per row of a chunk: gathered columns, once more while they are written; pairs waiting, being made and being read.
  // Lanes that make batches have columns, not pairs: each a chunk, with row ids, beside those that wait and one being
  // read.
  auto const chunks = plan.lanes + contract::waiting_chunks(options.memory_limit_bytes, plan.lanes) + 1;
  auto const per_row = feeding.makes_batches ? (row_bytes + 12) * chunks : 3 * row_bytes + 24 * chunks;
  // Batches wait for those of the lanes before them: the more lanes, the more of them at a time.
  auto const most_bytes = contract::kLargestBatchBytes * std::max<std::uint64_t>(plan.lanes / 2, 1);
  auto const most_rows = feeding.makes_batches
                             ? std::min(offer.chunk_rows, std::max(most_bytes / row_bytes, contract::kSmallestTaskRows))
                             : offer.chunk_rows;
  plan.chunk_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows
                                                   : contract::chunk_rows_for(free_bytes, per_row, most_rows);
  plan.host_bytes = keys + tables + plan.chunk_rows * per_row;
  return {};
}

constexpr bool is_non_equi(JoinMethod method) {
  return method == JoinMethod::nested_loops || method == JoinMethod::sorted_ranges;
}

/// Refuses methods that do not join with keys, or without.
Result<void> check_method(contract::JoinShape const& shape, JoinOptions const& options) {
  auto const method = options.tuning.method;
  if (method != JoinMethod::automatic && is_non_equi(method) != shape.is_non_equi()) {
    JoinTuning asked;
    asked.method = method;
    return fail(ErrorCode::usage, fmt::format("a join {} keys is not done by {}",
                                              shape.is_non_equi() ? "without" : "with", to_string(asked)));
  }
  if (!shape.is_non_equi()) return {};
  if (options.tuning.placement == Placement::device)
    return fail(ErrorCode::usage, "placement=device is of joins with keys");
  auto const* const asked = find_path(options.path);
  if (asked == nullptr || asked->condition_join.offers != nullptr) return {};
  std::string names;
  for (auto const* row : paths())
    if (row->condition_join.offers != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", row->name);
  return fail(ErrorCode::usage, fmt::format("joins without keys are done by paths {}, not by {}", names, asked->name));
}

using JoinNode = OperatorNode<contract::JoinOffer, contract::JoinShape, JoinOptions>;

}  // namespace

Result<JoinPlan> plan_join(contract::JoinShape const& shape, contract::Machine const& machine,
                           JoinOptions const& options) {
  GARUDA_TRY(check_method(shape, options));
  JoinNode const node(
      shape, options,
      shape.is_non_equi() ? +[](contract::PathRow const& path) { return path.condition_join.offers; }
                          : +[](contract::PathRow const& path) { return path.join.offers; });
  GARUDA_TRY_ASSIGN(auto chosen, choose_offer(node, machine));
  JoinPlan result{std::move(static_cast<contract::JoinOffer&>(*chosen.offer)), std::move(chosen.plan), std::nullopt};
  auto& [offer, plan, rates] = result;
  plan.operation = "join";
  plan.tuning = to_string(offer.tuning);
  plan.estimated_rows = contract::result_rows(shape);
  plan.details.emplace_back("estimate",
                            fmt::format("{:.3f} ms, {:.0f} rows", plan.estimated_ns * 1e-6, plan.estimated_rows));
  plan.details.insert(plan.details.end(), offer.details.begin(), offer.details.end());
  if (!offer.takes_whole() && !shape.is_unseen) GARUDA_TRY(size_host_memory(shape, options, offer, plan));
  if (offer.device) rates = machine.devices[*offer.device].measured;
  return result;
}

}  // namespace garuda::plan
