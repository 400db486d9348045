// Plans of queries: a node for each operator, as the query has them.
#pragma once

#include <cstdint>

#include "garuda/plan.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The plan of an operator of the host, without those of its inputs.
Plan node_of(Bound const& query);

/// Says the work of an operator in the plan that its own planner made.
void say_work(Plan& plan, Bound const& query);

/// The node of a subtree that is equal to one that runs before it, whose rows it has.
Plan again(Bound const& query);

/// The operators of a query as it is written, with neither places nor estimates.
Plan plan_of_written(Bound const& query);

/// Says how many rows an operator that has not run gives, about. Requires: the plan has its inputs.
void set_expected_rows(Plan& plan, Bound const& query);

/// Says what an operator has given, and the time that it took alone.
void set_rows(Plan& plan, std::uint64_t rows, std::uint64_t ns);

/// The rows of all tables that a query has read.
std::uint64_t rows_read(Plan const& plan);

/// Counts the share of files that a scan has read.
void count_files(FilesRead const& files, contract::StatsSink& stats);

}  // namespace garuda::query
