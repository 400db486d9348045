#include "cuda_backend/resident_group_by.hpp"

#include <algorithm>
#include <string>

#include "cuda_backend/resident_aggregates.hpp"
#include "cuda_backend/resident_states.hpp"

namespace garuda::cuda_backend {

Result<std::unique_ptr<ResidentGrouping>> create_resident_grouping(
    Lane& lane, GarudaCudaColumn const& key, std::uint64_t rows,
    std::vector<GarudaCudaResidentAggregate> const& aggregates, std::uint64_t expected_groups) {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
  auto const is_known = [](GarudaCudaResidentAggregate const& aggregate) {
    return aggregate.function <= GARUDA_CUDA_FUNCTION_MEAN && aggregate.kind <= GARUDA_CUDA_FLOAT64 &&
           aggregate.kind != GARUDA_CUDA_INT128 &&
           (aggregate.kind != GARUDA_CUDA_NONE || aggregate.function == GARUDA_CUDA_FUNCTION_COUNT);
  };
  if ((key.bytes != 4 && key.bytes != 8) || aggregates.size() > GARUDA_CUDA_MAX_AGGREGATES ||
      !std::ranges::all_of(aggregates, is_known))
    return fail(ErrorCode::usage, "resident group-bys take one key of 4 or 8 bytes and up to 8 aggregates of numbers");
  if (rows > kMostRows)
    return fail(ErrorCode::limit_exceeded, "resident group-bys take at most 2^30 rows: " + std::to_string(rows));
  auto const num_rows = static_cast<std::uint32_t>(rows);
  if (ResidentStates::computes(lane, aggregates))
    return std::make_unique<ResidentStates>(lane, key, num_rows, aggregates, expected_groups);
  return std::make_unique<ResidentAggregates>(lane, key, num_rows, aggregates, expected_groups);
}

}  // namespace garuda::cuda_backend
