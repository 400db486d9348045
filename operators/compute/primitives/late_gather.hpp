// Rows that are fetched by row number once it is known which: the payload of a join's rows, and the rows of a side
// whose key is not null.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
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

/// The state of rows that are all listed, as record() takes it. Errors: those of device memory.
Result<vk::Buffer> gathered_rows(ComputeContext& context, char const* phase, std::uint64_t rows);

/// The pass, whatever the columns.
PassShape late_gather_shape();

/// A word of flags a row: bit `bit` says that the key is null.
struct NullFlags {
  VkDeviceAddress words = 0;
  std::uint32_t bit = 0;
};

/// Owns a copy of a side without the rows whose key is null: null keys match nothing. Used for one set of rows after
/// the other.
class NonNullRows {
 public:
  /// For 1 ≤ rows ≤ kMaxScanElements with the columns of `shape`; with `shape.number_rows` the copy has the numbers
  /// that the rows had as its first payload column. Errors: limit_exceeded, out_of_memory.
  static Result<NonNullRows> create(ComputeContext& context, DeviceRows const& shape);

  /// Copies; waits for the number of rows. `rows`: of the shape, at most as many. Returns the copy, whose rows are in
  /// their order, perhaps none. Errors: device_failure, cancelled.
  Result<DeviceRows> copy(ComputeContext& context, DeviceRows const& rows, NullFlags flags);
  /// A side as copy() returns it, of as many rows as it was made for.
  DeviceRows shape() const;

 private:
  DeviceRows target(std::uint64_t rows) const;

  std::uint64_t most_rows_ = 0;
  bool numbers_rows_ = false;
  std::uint32_t key_words_ = 1;
  std::vector<std::uint32_t> words_;  ///< of the payload
  DeviceScan scan_;
  vk::Buffer flags_;
  vk::Buffer state_;
  std::optional<LateGather> gather_;  ///< keys, then payload
  std::vector<vk::Buffer> columns_;   ///< copies of these
};

/// The pass that finds the rows.
PassShape non_null_shape();

}  // namespace garuda::compute
