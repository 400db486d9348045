// Where the tables of a join live, and whether they are joined there.
#pragma once

#include <optional>

#include "garuda/error.hpp"
#include "operators/device/host_copies.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::join {

/// Makes of the request that for copies on the host, where tables live on a device that does not join them as they are
/// asked for, unless placement=device forces it to: returns the copies, which outlive the join, or nothing.
/// Blocks while it copies. Errors: usage (tables of different places; what placement=device cannot give), those of
/// HostCopies::add.
Result<std::optional<device::HostCopies>> bring_down(resolve::JoinRequest& request);

}  // namespace garuda::join
