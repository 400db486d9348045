// Numbers rows by their keys through one table in device memory, entered by compare-and-swap.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"

namespace garuda::compute {

/// How rows find their slots.
struct TableAddress {
  bool direct = false;      ///< (key - min) >> shift, else by the key's hash
  std::uint64_t min = 0;    ///< direct
  std::uint32_t shift = 0;  ///< direct
  std::uint64_t slots = 0;  ///< hash: a power of two
};

/// Slots of the table for `rows` rows, each of which may be a group: between a quarter and a half stay free.
std::uint64_t hash_table_slots(std::uint64_t rows) noexcept;

/// Keys of rows on the device: packed, or word by word.
struct RowKeys {
  VkDeviceAddress address = 0;
  std::uint32_t rows = 0;
  std::uint32_t key_words = 0;  ///< of packed keys, 1 or 2; 0: several words, each of all rows after the other
  std::uint32_t num_words = 0;  ///< of several
};

/// A slot holds the first row of its key, so groups are numbered in the order of their first rows by one prefix sum
/// over those rows. Keys that meet in too long a run of slots are hashed anew.
class RowGroups {
 public:
  RowGroups() = default;
  /// Takes memory. The keys stay in place while it runs; several words of all rows are less than 2^32 words.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<RowGroups> create(ComputeContext& context, RowKeys const& keys, TableAddress const& address);

  /// Numbers all rows; waits. `ids`: rows × u32; `head_rows`: the first row of each group, room for rows × u32.
  /// Returns the number of groups. Errors: limit_exceeded when no hash tells the keys apart.
  Result<std::uint64_t> run(ComputeContext& context, VkDeviceAddress ids, VkDeviceAddress head_rows);

  /// Every pipeline with this tuning.
  static std::vector<vk::ComputePipelineSpec> pipelines(ComputeTuning const& tuning);

 private:
  Result<void> enter_rows(ComputeContext& context);

  RowKeys keys_;
  TableAddress address_;
  vk::Buffer table_;
  vk::Buffer slots_;
  vk::Buffer heads_;
  vk::Buffer offsets_;
  vk::Buffer lost_;
  DeviceScan scan_;
};

}  // namespace garuda::compute
