// Joins of a query whose build side does not fit its memory limit.
#pragma once

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/pipeline/pipeline.hpp"
#include "operators/query/limited/query_limit.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

struct LimitedProbe {
  /// As the step of a pipeline has it, but for its build side, which comes with the call.
  pipeline::Probe probe;
  pipeline::PipelineOptions options;
  contract::DeviceSet& devices;
  QueryLimit& limit;
  run::QueryRun& run;
};

/// Joins two tables, the probe and the build side, partition by partition of their keys' hash; the build side of an
/// inner join whose rows have one key block by block. The result's columns are named by their positions. Blocks; runs
/// in the arena of `run`. Errors: those of Pipeline and hash_partitions; limit_exceeded for rows of one key that do not
/// fit.
Result<Table> join_within_limit(TableView probe, TableView build, LimitedProbe const& request);

}  // namespace garuda::query
