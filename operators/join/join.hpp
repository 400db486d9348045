// Joins by whichever strategy is the cheapest: planned, then run on tables whole on a device, or partitioned on the
// path that was planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "expr/condition.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "keys/join_keys.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/plan/join_planner.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/query_run.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// The result that a join is run for.
enum class JoinOutput : std::uint8_t {
  count,  ///< the number of its rows
  pairs,  ///< pairs of row ids
  rows,   ///< result columns
  marks,  ///< rows that have a match: the result has no pairs
};

/// The decision, and both tables' keys, encoded, unless a path takes the tables whole.
struct PlannedJoin {
  JoinOutput output = JoinOutput::rows;  ///< of rows: marks of kinds without pairs, pairs where lanes cannot
                                         ///< write rows
  keys::EncodedJoinKeys keys;
  std::shared_ptr<expr::PairCondition const> condition;  ///< of a join without keys, whose rows stay in place
  plan::JoinPlan chosen;
  partition::DigitChoice digit;
  std::vector<materialize::CarriedColumn> left_carried;  ///< columns that are moved along with the keys
  std::vector<materialize::CarriedColumn> right_carried;
  double expected_matches = 0;  ///< pairs that the path makes
};

/// Whether the rows are sorted range by range of left rows (ordered_join). Unmatched rows are in the order of their
/// table at any rate, and a device sorts the rows of tables that live there, or are brought there by placement=device.
bool is_ordered_by_ranges(resolve::JoinRequest const& request);

/// Plans, without a look at the keys where these cannot change what is chosen: the other offers are priced as of keys
/// that suit them best, dense and different; of tables on a device a sample is looked at. Else encodes the keys first,
/// and chooses the radix digit. Blocks; uses the run's threads. Errors: those of plan_join, encode_join_keys and
/// choose_digit.
Result<PlannedJoin> plan_request(resolve::JoinRequest const& request, JoinOutput output, run::QueryRun& run);

/// Starts the join; see Engine::join.
Result<std::unique_ptr<JoinResult>> hash_join(resolve::JoinRequest request);

/// Counts its rows; see Engine::join_count.
Result<Engine::Counted> hash_join_count(resolve::JoinRequest request);

/// Plans without running; see Engine::explain_join and, of a join that `counts`, explain_join_count.
Result<Plan> explain_hash_join(resolve::JoinRequest request, bool counts);

}  // namespace garuda::join
