// Statistics of a join's keys from a sample, for the planner.
#pragma once

#include <cstdint>

#include "keys/encoded_keys.hpp"

namespace garuda::plan {

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

}  // namespace garuda::plan
