// Joins by whichever way is the cheapest: tables whole on a device, or partitioned on the path that was planned.
#pragma once

#include <memory>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::join {

/// Starts the join; see Engine::join.
Result<std::unique_ptr<JoinResult>> hash_join(resolve::JoinRequest request);

/// Counts its rows; see Engine::join_count.
Result<Engine::Counted> hash_join_count(resolve::JoinRequest request);

/// Plans without running; see Engine::explain_join and, of a join that `counts`, explain_join_count.
Result<Plan> explain_hash_join(resolve::JoinRequest request, bool counts);

}  // namespace garuda::join
