// Plans a join, of all that the paths offer: a pure function of shape, machine and options; and statistics of a join's
// keys from samples, for the plan and for the build side.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "keys/encoded_keys.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/plan/path_choice.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::plan {

/// The decision, with what the driver needs beside the printable part.
struct JoinPlan {
  contract::JoinOffer offer;
  Plan plan;
  std::optional<rates::DeviceRates> rates;  ///< of the device, where it was measured
};

/// Takes what choose_offer takes. Errors: no_device when the path or device asked for cannot run (the sentence says
/// why); limit_exceeded when the keys do not fit the memory limit; usage for tunings that contradict each other.
Result<JoinPlan> plan_join(contract::JoinShape const& shape, contract::Machine const& machine,
                           JoinOptions const& options);

/// How the driver feeds the kernels of `path` for joins with keys, or without.
inline contract::JoinFeeding const& feeding_of(contract::PathRow const& path, bool is_non_equi) {
  return is_non_equi ? path.condition_join.feeding : path.join.feeding;
}

/// Most keys that are looked at.
inline constexpr std::uint64_t kSampledKeys = std::uint64_t{1} << 12;

/// Statistics of one side's keys, estimated: never more than the rows, or the range of the keys.
struct KeyStatistics {
  /// Different keys: of those that rows may have been drawn from (keys::Frequencies) the ones that so many rows
  /// draw; rows when the sample repeats none.
  double distinct = 1;
  double heaviest_share = 0;  ///< of the rows, those of the most frequent key of the sample; 0: it came once
};

/// Samples short runs of keys, evenly spread, or all keys when there are at most kSampledKeys. Some ten microseconds;
/// on the calling thread.
KeyStatistics sample_keys(keys::EncodedKeys const& keys);

/// The side whose keys clearly repeat less than the other's, by as many keys of either from the beginning of a few
/// partitions that both have; nullopt where the samples do not tell. A table over keys that are there once is built,
/// asked and read at half the cost or less. Partitions of more than some 2^17 rows hide what repeats a few times.
/// Both sides have the same digit and width. Cost: at most 2^13 keys a side are read.
std::optional<Side> less_repeated_side(partition::PartitionedKeys const& left, partition::PartitionedKeys const& right);

}  // namespace garuda::plan
