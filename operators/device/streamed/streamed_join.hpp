// The join of host tables whose probe side goes to a device in ranges: later ranges go up while earlier ones are joined
// and their rows come down.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::device {

/// Sets of result columns on the device: one is written while the others are copied to the host.
inline constexpr std::uint32_t kResultSets = 3;

/// Starts the join that `offer` describes: takes its device memory, uploads and partitions the build side. The probe
/// side is on its way up when this returns. Sources in pinned memory are read by the device; then the result comes in
/// pinned memory, too. Rows in any order. Requires: streamed_key_type(). Errors: out_of_memory, limit_exceeded (before
/// any row), device_failure, cancelled; of later batches also limit_exceeded where four probe rows have more matches
/// than the device has room for.
Result<std::unique_ptr<JoinResult>> streamed_join(resolve::JoinRequest const& request, TableDevice const& device,
                                                  contract::JoinOffer const& offer, Plan plan,
                                                  std::unique_ptr<run::QueryRun> run);

}  // namespace garuda::device
