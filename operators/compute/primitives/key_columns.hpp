// Key columns on a device as words: packed side by side, or word by word, and which of them are null.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct PackedColumn;
}

namespace garuda::compute {

/// How passes read a column of keys, but for its place.
shaders::PackedColumn packed_column(DeviceValues const& values) noexcept;

/// A column's bits in packed words, and the ordered image that has the code 0 there. Of columns with nulls these have
/// the code 0, values the following ones.
struct KeyPlace {
  std::uint32_t shift = 0;
  std::uint32_t bits = 0;
  std::uint64_t min = 0;
};

/// Bits of the codes of a column whose greatest image is `span` above its least; up to 65.
std::uint32_t code_bits(std::uint64_t span, bool has_nulls) noexcept;

/// Puts columns side by side, the first one in the top bits; returns the bits of all.
std::uint32_t place_side_by_side(std::span<KeyPlace> places) noexcept;

/// Key columns, a place each, and where the packed words go.
struct PackedKeys {
  std::span<DeviceValues const> columns;
  std::span<KeyPlace const> places;
  std::uint64_t rows = 0;
  DeviceColumn target;
};

/// Records the packing of at least one row. Returns what the pass reads: it stays in place until that has run. Errors:
/// limit_exceeded, out_of_memory.
Result<vk::Buffer> record_packed_keys(ComputeContext& context, PackedKeys const& keys);

/// A column of keys that are compared word by word.
struct KeyWordColumn {
  DeviceValues values;
  std::uint32_t words = 1;     ///< at least those of a value, which are continued
  bool is_signed = false;      ///< by their sign, else by zeros
  std::uint32_t null_bit = 0;  ///< where the values have nulls: the bit that says so, behind the words of all values
};

/// Where the words of rows go: a word of `stride` rows after the other, those of rows without nulls zeroed before.
struct KeyWordRows {
  std::uint64_t rows = 0;
  VkDeviceAddress words = 0;  ///< of the first row
  std::uint64_t stride = 0;
};

/// Records the words of the columns. Requires: their words × stride are less than 2^32.
Result<void> record_key_words(ComputeContext& context, std::span<KeyWordColumn const> columns, KeyWordRows const& rows);

/// A key column of several, which a bit of a row's word says to be null.
struct NullableKey {
  VkDeviceAddress nulls = 0;  ///< as DeviceValues has it, with a mask
  std::uint32_t null_mask = 0;
  std::uint32_t bit = 0;
};

/// Records a word a row: its bits, and shaders::kAnyNullBit where one is set. Returns what the pass reads, as above.
Result<vk::Buffer> record_key_nulls(ComputeContext& context, std::span<NullableKey const> columns, std::uint64_t rows,
                                    VkDeviceAddress words);

/// Every pipeline with this tuning.
std::vector<vk::ComputePipelineSpec> key_column_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
