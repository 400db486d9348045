// Queries whose operators have to run on the path that was asked for.
#pragma once

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

class DeviceQuery;

/// Whether a join of a query runs on the host in place of the path that was asked for: it has no keys, and the path
/// joins by keys alone.
bool joins_on_host(BoundJoin const& join, QueryOptions const& options) noexcept;

/// Checks, where `options` are strict and name a path of devices, that no operator of the query computes on the host.
/// `device`: where operators run; nullptr: one by one on the path.
/// Picking columns and cutting rows computes nothing. Errors: no_device, naming the operator.
Result<void> check_strict(Bound const& query, QueryOptions const& options, DeviceQuery const* device);

}  // namespace garuda::query
