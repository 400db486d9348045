// Says which side of a join has keys that repeat less.
#pragma once

#include <optional>

#include "garuda/join.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::plan {

/// The side whose keys clearly repeat less than the other's, by as many keys of either from the beginning of a few
/// partitions that both have; nullopt where the samples do not tell. A table over keys that are there once is built,
/// asked and read at half the cost or less. Partitions of more than some 2^17 rows hide what repeats a few times.
/// Both sides have the same digit and width. Cost: at most 2^13 keys a side are read.
std::optional<Side> less_repeated_side(partition::PartitionedKeys const& left, partition::PartitionedKeys const& right);

}  // namespace garuda::plan
