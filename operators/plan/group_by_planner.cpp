#include "operators/plan/group_by_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "operators/contract/offers/costs.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::plan {
namespace {

/// Host memory of a run, beside the inputs and the result's chunks.
std::uint64_t host_bytes(contract::GroupByShape const& shape, contract::GroupByOffer const& sizing) {
  auto const partitioned = sizing.radix_bits == 0
                               ? 0
                               : shape.rows * (std::max<std::uint64_t>(shape.key_bits, 32) / 8 + shape.row_id_bytes());
  auto const slice_rows = std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1);
  auto const slices =
      std::min<std::uint64_t>(sizing.lanes, (std::uint64_t{1} << sizing.radix_bits) + shape.rows / sizing.slice_rows);
  auto const per_row = 4 * std::uint64_t{shape.value_words} + 4 * std::uint64_t{shape.key_words} + 8;
  auto const kept = shape.ordered ? shape.estimated_groups : shape.estimated_groups >> sizing.radix_bits;
  auto const per_group = 2 * (contract::state_bytes(shape.requests) + 8 + contract::key_bytes(shape));
  return shape.encoded_bytes + partitioned + slices * slice_rows * per_row + (kept + 1) * per_group;
}

/// Makes slices and partitions smaller until a run fits the memory limit; what is left decides the rows of a chunk.
Result<void> fit_host_memory(contract::GroupByShape const& shape, GroupByOptions const& options,
                             contract::GroupByOffer& sizing, Plan& plan) {
  auto const limit = contract::most_host_bytes(shape, options);
  auto const has_limit = limit != 0;
  while (has_limit && options.tuning.slice_rows == 0 && sizing.slice_rows > contract::kSmallestGroupedSliceRows &&
         host_bytes(shape, sizing) > limit / 2)
    sizing.slice_rows /= 2;
  while (has_limit && options.tuning.radix_bits < 0 && contract::has_keys(shape) &&
         sizing.radix_bits < partition::kMaxRadixBits && host_bytes(shape, sizing) > limit / 2 &&
         (shape.estimated_groups >> sizing.radix_bits) > contract::kSmallestChunkRows)
    ++sizing.radix_bits;
  auto const used = host_bytes(shape, sizing);
  if (has_limit && used > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("keys, values and groups of {} rows need {} bytes of host memory, over the limit: {}",
                            shape.rows, used, limit));
  auto const per_row = 3 * shape.output_row_bytes + 24;
  auto const free_bytes = has_limit ? limit - used : std::numeric_limits<std::uint64_t>::max();
  plan.chunk_rows =
      options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows : contract::chunk_rows_for(free_bytes, per_row);
  plan.host_bytes = used + std::min(plan.chunk_rows, shape.estimated_groups) * per_row;
  return {};
}

/// The rest of the plan of an offer whose slices, or whole tables on the host, the driver brings to the path.
Result<void> size_slices(contract::GroupByShape const& shape, contract::Machine const& machine,
                         GroupByOptions const& options, contract::GroupByOffer& offer, Plan& plan) {
  auto const whole_bytes = offer.host_bytes;
  GARUDA_TRY(fit_host_memory(shape, options, offer, plan));
  plan.host_bytes += whole_bytes;
  plan.radix_bits = contract::has_keys(shape) && offer.grouping == Grouping::slices ? offer.radix_bits : 0;
  plan.slice_rows = offer.slice_rows;
  auto const describe = find_path(plan.path)->group_by.describe;
  if (describe == nullptr) return {};
  return describe(shape, offer, machine.devices[*offer.device], plan);
}

using GroupByOperator = OperatorNode<contract::GroupByOffer, contract::GroupByShape, GroupByOptions>;

/// A group-by, whose keys and values of bytes take some time on the host whatever the path.
class GroupByNode final : public GroupByOperator {
 public:
  GroupByNode(contract::GroupByShape const& shape, GroupByOptions const& options) noexcept
      : GroupByOperator(shape, options, [](contract::PathRow const& path) { return path.group_by.offers; }) {}

  Result<AnyOffers> ask(contract::PathRow const& path, contract::Place const& place) const override {
    GARUDA_TRY_ASSIGN(auto offers, GroupByOperator::ask(path, place));
    for (auto& offer : offers.list) {
      if (offer->takes_whole()) continue;
      contract::add_phases(offer->candidate, contract::order_costs(shape()));
      contract::add_phases(offer->candidate, contract::given_code_costs(shape()));
    }
    return offers;
  }
};

}  // namespace

Result<GroupByPlan> plan_group_by(contract::GroupByShape const& shape, contract::Machine const& machine,
                                  GroupByOptions const& options) {
  GARUDA_TRY_ASSIGN(auto chosen, choose_offer(GroupByNode(shape, options), machine));
  GroupByPlan result{std::move(static_cast<contract::GroupByOffer&>(*chosen.offer)), std::move(chosen.plan), 0};
  auto& [offer, plan, slice_groups] = result;
  plan.operation = "group-by";
  plan.tuning = to_string(offer.tuning);
  if (!shape.is_unseen) plan.estimated_rows = contract::groups_of(shape);
  if (!offer.takes_whole() && !shape.is_unseen) GARUDA_TRY(size_slices(shape, machine, options, offer, plan));
  plan.details.insert(plan.details.end(), offer.details.begin(), offer.details.end());
  slice_groups = contract::slice_groups(shape, offer);
  return result;
}

}  // namespace garuda::plan
