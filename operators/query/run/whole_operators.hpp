// Operators of a query on the host that take the whole rows of their inputs, within the query's memory limit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/pipeline/pipeline.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/limited/query_limit.hpp"
#include "operators/query/run/device_query.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

/// Runs breakers of one query, each when the rows of its inputs are there. Errors of every call: those of the
/// operators; limit_exceeded where rows cannot be cut into what fits; cancelled.
class WholeOperators {
 public:
  /// Borrows all of its arguments.
  WholeOperators(QueryOptions const& options, contract::DeviceSet& devices, run::QueryRun& run);

  /// The query's memory limit; nullptr: there is none.
  QueryLimit* limit() noexcept { return limit_ ? &*limit_ : nullptr; }
  pipeline::PipelineOptions pipeline_options();

  /// Bytes that went to files so far.
  std::uint64_t spilled_bytes() const noexcept { return limit_ ? limit_->rows.spilled_bytes() : 0; }
  /// Says how much of an operator's work went to files since these had `before` bytes.
  void set_spilled(Plan& plan, std::uint64_t before);

  /// Runs `body` as an operator of the host, whose node is `plan`, on the query's threads.
  Result<HostRows> run(Plan plan, std::vector<HostRows> inputs, std::function<Result<Table>()> const& body);
  Result<HostRows> join(BoundJoin const& join, std::vector<HostRows> inputs);
  /// The plan of a join, and of a group-by, that does not run.
  Result<Plan> explain_join(BoundJoin const& join, TableView left, TableView right);
  Result<Plan> explain_group_by(BoundGroupBy const& group_by, TableView table);
  /// `names`: of the result's columns, as errors say them.
  Result<HostRows> group_by(GroupBySpec const& spec, std::span<std::string const> names, std::vector<HostRows> inputs);

 private:
  JoinOptions options_of(BoundJoin const& join) const;
  GroupByOptions group_by_options() const { return {options_, options_.group_by_tuning}; }
  Result<HostRows> collected(QueryResult& result, std::vector<HostRows> inputs);
  Result<HostRows> join_within(BoundJoin const& bound, JoinSpec const& spec, JoinOptions options,
                               std::vector<HostRows> inputs);
  Result<HostRows> group_within(TableView table, GroupBySpec const& spec, GroupByOptions const& options,
                                std::vector<HostRows> inputs);
  HostRows with_plan(Table table, Plan plan, std::vector<HostRows> inputs, std::uint64_t ns,
                     std::uint64_t spilled_before);

  QueryOptions const& options_;
  contract::DeviceSet& devices_;
  run::QueryRun& run_;
  std::optional<QueryLimit> limit_;
};

}  // namespace garuda::query
