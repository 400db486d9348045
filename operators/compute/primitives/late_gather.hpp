// Payload that stays where it is until the rows of a join are known, and is fetched by row number then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// The payload of one side. Each column is read at random places, once a row of the result; "GFUR" of Wu et al. 2025,
/// §4.2, which wins where few rows find a match or columns are many.
class LateGather {
 public:
  /// `sources`: columns of the side, in place while record()'s passes run. Errors: limit_exceeded, out_of_memory.
  static Result<LateGather> create(ComputeContext& context, std::vector<DeviceColumn> sources);

  /// Fetches from other columns, as many and as wide.
  void set_sources(std::vector<DeviceColumn> sources);

  /// Room for the row numbers of `capacity` rows. Errors: limit_exceeded, out_of_memory.
  Result<void> take_rows(ComputeContext& context, std::uint64_t capacity);
  /// Where the join puts the side's row numbers.
  VkDeviceAddress rows() const noexcept { return rows_.address(); }

  /// Records the fetching of all columns to `targets`, with room for `capacity` rows each. `state`: JoinRowsState of
  /// the join that wrote the row numbers; of a result that did not fit nothing is fetched.
  Result<void> record(ComputeContext& context, vk::Buffer const& state, std::span<VkDeviceAddress const> targets,
                      std::uint64_t capacity);

 private:
  std::vector<DeviceColumn> sources_;
  vk::Buffer columns_;
  vk::Buffer rows_;
};

/// The pass, whatever the columns.
PassShape late_gather_shape();

}  // namespace garuda::compute
