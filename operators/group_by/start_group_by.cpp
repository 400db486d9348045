// Group-bys by whichever strategy is the cheapest: the table whole on a device, or brought to the path that was
// planned.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operators/contract/sizing.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/host_copies.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/group_by/grouped_result.hpp"
#include "operators/group_by/planned_group_by.hpp"
#include "operators/group_by/product_columns.hpp"
#include "operators/plan/paths.hpp"

namespace garuda::group_by {
namespace {

/// Makes of the request that for a copy of the table on the host, where a device that it lives on cannot group it:
/// returns the copy, or nothing.
Result<std::optional<device::HostCopies>> bring_down(resolve::GroupByRequest& request) {
  auto const& schema = request.table.schema();
  if (request.table.resident() == nullptr || request.options.tuning.placement == Placement::device) return std::nullopt;
  auto const grouped_there = device::check_device_group_by(schema, request.columns);
  if (grouped_there) return std::nullopt;
  auto names = request.spec.keys;
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& name : {aggregate.column, aggregate.second})
      if (name) names.push_back(*name);
  std::vector<std::size_t> columns;
  for (auto const& name : names) {
    GARUDA_TRY_ASSIGN(auto const column, find_column(schema, name));
    columns.push_back(column);
  }
  device::HostCopies copies;
  GARUDA_TRY_ASSIGN(request.table, copies.add(request.table, std::move(columns), request.options.control));
  GARUDA_TRY_ASSIGN(request.columns, resolve::resolve_group_by(request.table, request.spec));
  request.notes.push_back(copies.note(grouped_there.error().message()));
  return copies;
}

}  // namespace

/// A table that turns out not to fit the device whole is grouped in slices.
Result<std::unique_ptr<GroupByResult>> group_by(resolve::GroupByRequest request) {
  GARUDA_TRY_ASSIGN(auto copies, bring_down(request));
  if (copies) {
    GARUDA_TRY_ASSIGN(auto grouped, group_by(std::move(request)));
    return device::result_of_copies(std::move(*copies), std::move(grouped));
  }
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY(cut_products(request, *run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, *run));
  auto const& [offer, plan, slice_groups] = planned.chosen;
  if (!offer.takes_whole()) {
    GARUDA_TRY_ASSIGN(auto groups, PartitionedGroupBy::prepare(request, std::move(planned), std::move(run)));
    return grouped_result(request, std::move(groups));
  }
  auto grouped = plan::find_path(plan.path)->group_by.group_whole(request, offer, plan);
  auto& placement = request.options.tuning.placement;
  bool const is_forced = placement == Placement::device || request.table.resident() != nullptr;
  if (grouped || is_forced || !contract::is_shortage(grouped.error())) return grouped;
  placement = Placement::slices;
  request.notes.push_back(fmt::format("placement=slices: {}", grouped.error().message()));
  return group_by(std::move(request));
}

Result<Plan> explain_group_by(resolve::GroupByRequest request) {
  GARUDA_TRY_ASSIGN(auto const copies, bring_down(request));
  run::QueryRun run(request.options);
  GARUDA_TRY(cut_products(request, run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, run));
  return std::move(planned.chosen.plan);
}

}  // namespace garuda::group_by
