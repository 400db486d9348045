// Group-bys of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// A group-by of a table, run as often as wanted.
class ResidentGrouping {
 public:
  virtual ~ResidentGrouping() = default;
  /// Groups. Blocks. Columns are good until the next run.
  virtual Result<GarudaCudaResidentGroups> run() = 0;
};

/// Makes the group-by: ResidentStates, or ResidentAggregates where a block has no room for the states of its groups.
/// Errors: usage for kinds or functions that are not there; limit_exceeded for more than 2^30 rows.
Result<std::unique_ptr<ResidentGrouping>> create_resident_grouping(
    Lane& lane, GarudaCudaColumn const& key, std::uint64_t rows,
    std::vector<GarudaCudaResidentAggregate> const& aggregates, std::uint64_t expected_groups);

}  // namespace garuda::cuda_backend
