#include "operators/placement/streamed_group_by.hpp"

#include <utility>

#include "operators/device/device_group_by.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/device_result.hpp"
#include "operators/device/device_table.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::placement {

Result<std::unique_ptr<GroupByResult>> streamed_group_by(resolve::GroupByRequest const& request,
                                                         StreamedGroupPlan plan) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  auto options = request.options;
  GARUDA_TRY_ASSIGN(auto const device, open_device(*request.devices, plan.device, run->recorder));
  auto const columns = device::group_by_columns_used(request.columns);
  GARUDA_TRY_ASSIGN(auto const table,
                    device::upload_table(request.table, columns, device,
                                         {plan.tuning.upload, plan.copy_threads, options.control, &run->recorder}));
  GARUDA_TRY_ASSIGN(auto const resolved, resolve::resolve_group_by(table.view(), request.spec));
  options.device_memory_limit_bytes = limit_beside(options, table.device_bytes());
  GARUDA_TRY_ASSIGN(auto groups,
                    device::group_device_table(table.state(), resolved, request.spec.ordered, options, run->recorder));
  RunStats inputs;
  inputs.rows = plan.rows;
  auto result = std::make_unique<device::DeviceResult>(
      std::move(groups), std::move(plan.plan),
      device::DeviceResultOptions{"group-by", options.control, plan.tuning.upload, plan.copy_threads, inputs},
      std::move(run));
  GARUDA_TRY(result->start_downloads());
  return result;
}

}  // namespace garuda::placement
