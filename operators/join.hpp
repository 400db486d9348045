// Joins by whichever way is the cheapest: tables whole on a device, or partitioned on the path that was planned.
#pragma once

#include <memory>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/join_request.hpp"

namespace garuda::operators {

/// Starts the join; see Engine::join.
Result<std::unique_ptr<JoinResult>> hash_join(JoinRequest request);

/// Counts its rows; see Engine::join_count.
Result<Engine::Counted> hash_join_count(JoinRequest request);

/// Plans without running; see Engine::explain_join.
Result<Plan> explain_hash_join(JoinRequest const& request);

}  // namespace garuda::operators
