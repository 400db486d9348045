// Group-bys of tables that stay in device memory, with any aggregates: the kernels of slices, then results in place.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_backend/groups.hpp"
#include "cuda_backend/resident_group_by.hpp"

namespace garuda::cuda_backend {

/// Numbers the groups of all rows by one hash table, accumulates exact states as slices do, and rounds them on the
/// device. Groups come in the order of their first rows.
class ResidentAggregates final : public ResidentGrouping {
 public:
  /// `key` and `aggregates` name columns of `rows` rows in device memory, which with `lane` outlive this. At most 2^30
  /// rows.
  ResidentAggregates(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                     std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups);
  ResidentAggregates(ResidentAggregates const&) = delete;
  ResidentAggregates& operator=(ResidentAggregates const&) = delete;
  ~ResidentAggregates() override { lane_.drain(); }

  /// Errors: limit_exceeded too when a sum leaves 64 bits.
  Result<GarudaCudaResidentGroups> run() override;

 private:
  Result<Buffer> keys_of(Groups const& groups);
  Result<Buffer> compute(Groups& groups, GarudaCudaResidentAggregate const& aggregate);
  Result<void> finish_sum(Groups const& groups, GarudaCudaResidentAggregate const& aggregate, Buffer& out);

  Lane& lane_;
  Launch launch_;
  GarudaCudaColumn key_;
  std::uint32_t rows_;
  std::vector<GarudaCudaResidentAggregate> aggregates_;
  std::uint64_t expected_groups_;
  Buffer keys_out_;
  std::vector<Buffer> results_;
};

}  // namespace garuda::cuda_backend
