// The plan of a group-by, with all that is found out before its rows are brought together.
#pragma once

#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "keys/group_keys.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/group_by/value_reader.hpp"
#include "operators/plan/group_by_planner.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/run/query_run.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {

/// The decision, and the table's keys, encoded, and its values, unless a path takes the table whole by itself.
struct PlannedGroupBy {
  keys::EncodedGroupKeys keys;      ///< without key columns: empty
  std::vector<ValueReader> values;  ///< a state column each
  plan::GroupByPlan chosen;
  partition::RadixDigit digit;  ///< of slices
};

/// Plans, with no further look at the keys than can change what is chosen: none where the path that was asked for takes
/// the table whole, or it lives on a device; a sample where that shows that nothing is cheaper than to leave the others
/// unencoded, whose range of keys no other row widens, which suits the others best. Else encodes the keys first, and
/// chooses how rows are brought together: for slices, the radix digit. Blocks; uses the run's threads. Errors: those of
/// sample_group_keys, encode_group_keys, ValueReader::create, plan_group_by and choose_digit.
Result<PlannedGroupBy> plan_request(resolve::GroupByRequest const& request, run::QueryRun& run);

/// The decoder that makes the request's keys of the words of `keys`; nullopt: they are gathered by rows.
std::optional<keys::KeyDecoder> key_decoder(resolve::GroupByRequest const& request, keys::EncodedGroupKeys const& keys);

/// The table as a path takes it whole; refers to `keys`.
contract::WholeTable whole_table(TableView table, std::vector<resolve::StateColumn> const& states,
                                 std::vector<ValueReader> const& values, keys::EncodedGroupKeys const& keys);

}  // namespace garuda::group_by
