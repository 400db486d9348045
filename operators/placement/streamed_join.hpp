// The join of tables that go to a device whole: streamed up, partitioned and joined there, and the rows streamed down.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/placement/streamed_plan.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::placement {

/// Starts the join that `plan` describes: takes its device memory, uploads and partitions the build side. The probe
/// side is on its way up when this returns; its ranges are joined while later ones go up and rows of earlier ones come
/// down. Sources in pinned memory are read by the device; then the result comes in pinned memory, too. Rows in any
/// order. Errors: out_of_memory, limit_exceeded (before any row), device_failure, cancelled; of later batches also
/// limit_exceeded where four probe rows have more matches than the device has room for.
Result<std::unique_ptr<JoinResult>> streamed_join(resolve::JoinRequest const& request, StreamedPlan plan);

}  // namespace garuda::placement
