// The passes that make words of key columns on a device: packed side by side or word by word, in another kind or width,
// and with a value in place of null.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
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

/// How values of one kind become values of the kind in which both sides of a join are compared. It is exact for all
/// values of a column: integers of up to 64 bits times a factor, integers of up to 32 bits as float64, of up to 16 as
/// float32, floats as wider ones.
struct KeyConversion {
  DeviceValueKind as = DeviceValueKind::int64;  ///< int64, float32 or float64
  std::uint64_t factor = 1;                     ///< of int64

  std::uint32_t words() const noexcept { return as == DeviceValueKind::float32 ? 1 : 2; }
};

/// Records the conversion of a column of at least one row. `target`: conversion.words() a row.
Result<void> record_key_conversion(ComputeContext& context, DeviceValues const& values, std::uint64_t rows,
                                   KeyConversion const& conversion, VkDeviceAddress target);

/// A column of 1, 2 or 4 words whose keys are to take as many words as those of the other side; the target may have 8.
struct KeyResize {
  DeviceColumn source;
  DeviceColumn target;
  std::uint64_t rows = 0;  ///< at most 2^31
  bool is_signed = true;   ///< continued by their sign where the target is wider
};

/// Records the writing of `target`.
Result<void> record_key_width(ComputeContext& context, KeyResize const& resize);

/// Writes `target`, and waits for the least row whose key is cut to another value; nothing when all fit. Rows whose key
/// is null are not looked at. Errors: out_of_memory, device_failure, cancelled.
Result<std::optional<std::uint64_t>> cut_keys(ComputeContext& context, KeyResize const& resize,
                                              std::optional<NullFlags> const& nulls);

/// Looks whether no key of `rows`, of one or two words, is `value`, whose low words count, but those that are null;
/// waits. `target`: where the keys are copied with that value in place of nulls, or 0. Errors: out_of_memory,
/// device_failure, cancelled.
Result<bool> replace_null_keys(ComputeContext& context, DeviceRows const& rows, std::optional<NullFlags> const& nulls,
                               std::uint64_t value, VkDeviceAddress target);

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> key_column_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
