// The join of tables that live on a device.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::device {

/// The shape by which strategies are priced, but for the rows of the result. `counts`: only their number is wanted.
/// Requires, as all here: both tables of `request` live on one device. Errors: limit_exceeded for a side beyond 2^31
/// rows, those of compose_keys().
Result<compute::ResidentJoinShape> resident_join_shape(resolve::JoinRequest const& request, bool counts);

/// Whether a device joins its tables by such keys; looks at the values of some, once. Errors: those of moved_sides.
Result<void> check_joined_keys(resolve::JoinRequest const& request);

/// Adds to `shape` what is known of the keys, read now where it was not before and may make a bitmap of them the
/// cheapest way. Errors: those of device memory, device_failure, cancelled.
Result<void> look_at_keys(resolve::JoinRequest const& request, rates::DeviceRates const& rates,
                          compute::ComputeTuning const& tuning, compute::ResidentJoinShape& shape);

/// See JoinRow::sample_matches. Errors: those of the join.
Result<double> sample_matches(resolve::JoinRequest const& request);

/// Joins. Blocks; the result's rows are on the device until they are read. Errors: those of Engine::join.
Result<std::unique_ptr<JoinResult>> join_device_tables(resolve::JoinRequest const& request, Plan plan,
                                                       compute::ResidentJoinStrategy const& way,
                                                       std::unique_ptr<run::QueryRun> run);

/// The number of rows; no pair is enumerated. Errors: as above.
Result<std::uint64_t> count_device_tables(resolve::JoinRequest const& request, compute::ResidentJoinStrategy const& way,
                                          contract::StatsSink& stats);

}  // namespace garuda::device
