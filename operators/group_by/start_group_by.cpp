// Group-bys by whichever way is the cheapest: the table whole on a device, or brought to the path that was planned.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "operators/contract/sizing.hpp"
#include "operators/group_by/exact_numbers.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/group_by/grouped_result.hpp"
#include "operators/group_by/planned_group_by.hpp"

namespace garuda::group_by {

/// A table that turns out not to fit the device whole is grouped in slices.
Result<std::unique_ptr<GroupByResult>> group_by(resolve::GroupByRequest request) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY(cut_products(request, *run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, *run));
  auto const& start = planned.plan.start;
  if (!start) {
    for (auto& note : request.notes) run->recorder.note(std::move(note));
    GARUDA_TRY_ASSIGN(auto groups, PartitionedGroupBy::prepare(request, std::move(planned), std::move(run)));
    return grouped_result(request, std::move(groups));
  }
  auto grouped = start(request, planned.plan.plan);
  auto& placement = request.options.tuning.placement;
  bool const is_forced = placement == Placement::device || request.table.resident() != nullptr;
  if (grouped || is_forced || !contract::is_shortage(grouped.error())) return grouped;
  placement = Placement::slices;
  request.notes.push_back(fmt::format("placement=slices: {}", grouped.error().message()));
  return group_by(std::move(request));
}

Result<Plan> explain_group_by(resolve::GroupByRequest request) {
  run::QueryRun run(request.options);
  GARUDA_TRY(cut_products(request, run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, run));
  return std::move(planned.plan.plan);
}

}  // namespace garuda::group_by
