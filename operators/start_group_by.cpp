// Group-bys by whichever way is the cheapest: the table whole on a device, or brought to the path that was planned.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "operators/group_by.hpp"
#include "operators/grouped_result.hpp"
#include "operators/planned_group_by.hpp"
#include "operators/sizing.hpp"

namespace garuda::operators {

/// A table that turns out not to fit the device whole is grouped in slices.
Result<std::unique_ptr<GroupByResult>> group_by(GroupByRequest request) {
  auto run = std::make_unique<QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, *run));
  auto const& start = planned.plan.start;
  if (!start) {
    for (auto& note : request.notes) run->recorder.note(std::move(note));
    GARUDA_TRY_ASSIGN(auto groups, PartitionedGroupBy::prepare(request, std::move(planned), std::move(run)));
    return grouped_result(request, std::move(groups));
  }
  auto grouped = start(request, planned.plan.plan);
  auto& placement = request.options.tuning.placement;
  if (grouped || placement == Placement::device || !is_shortage(grouped.error())) return grouped;
  placement = Placement::slices;
  request.notes.push_back(fmt::format("placement=slices: {}", grouped.error().message()));
  return group_by(std::move(request));
}

Result<Plan> explain_group_by(GroupByRequest const& request) {
  QueryRun run(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, run));
  return std::move(planned.plan.plan);
}

}  // namespace garuda::operators
