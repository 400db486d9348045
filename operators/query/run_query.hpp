// Runs a query: every operator on the rows of those below it.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/query.hpp"
#include "garuda/run.hpp"
#include "operators/contract/device_set.hpp"

namespace garuda::query {

/// See Engine::run. `devices` outlives the result.
Result<std::unique_ptr<QueryResult>> run_query(Query const& query, QueryOptions const& options,
                                               contract::DeviceSet& devices);

/// See Engine::explain.
Result<Plan> explain_query(Query const& query, QueryOptions const& options, contract::DeviceSet& devices);

}  // namespace garuda::query
