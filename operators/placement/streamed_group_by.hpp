// The group-by of a table that goes to a device whole: streamed up, grouped there, and the groups streamed down.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/placement/streamed_group_plan.hpp"
#include "operators/resolve/group_by_request.hpp"

namespace garuda::placement {

/// Starts the group-by that `plan` describes: the columns that it needs go up, from pinned memory without the host, and
/// are grouped as a resident table is; nothing is encoded, partitioned or finalised on the host. The first groups are
/// on their way down when this returns. Errors: those of Engine::group_by of device tables; limit_exceeded,
/// out_of_memory (before any group), device_failure, cancelled.
Result<std::unique_ptr<GroupByResult>> streamed_group_by(resolve::GroupByRequest const& request,
                                                         StreamedGroupPlan plan);

}  // namespace garuda::placement
