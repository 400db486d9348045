// Columns on a device as values: how their words are read, where they are null, and the range of what they hold.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::compute {

inline constexpr std::uint32_t kWordBits = 32;

/// How the words of a value are read; values are those of shaders/compute/keys/column_values_layout.h.
enum class DeviceValueKind : std::uint8_t {
  int32,  ///< narrower ones, too: with their sign
  uint32,
  int64,
  uint64,
  int128,
  float32,
  float64,
  bits,     ///< of three words or more: equal where all bits are
  float16,  ///< of keys alone
};

constexpr bool is_float(DeviceValueKind kind) noexcept {
  return kind == DeviceValueKind::float32 || kind == DeviceValueKind::float64;
}
/// Whether values are put in order by one word of 64 bits.
constexpr bool has_order(DeviceValueKind kind) noexcept {
  return kind != DeviceValueKind::int128 && kind != DeviceValueKind::bits;
}

struct DeviceValues {
  DeviceColumn column;
  DeviceValueKind kind = DeviceValueKind::int32;
  VkDeviceAddress nulls = 0;    ///< a word a row, of mask 0 a bitmap of values that are not null; 0: there are no nulls
  std::uint32_t null_mask = 0;  ///< bits of a row's word that say null

  bool has_nulls() const noexcept { return nulls != 0; }
};

/// The range of a column's values beside its nulls.
struct ValueRange {
  bool has_values = false;
  std::uint64_t min = 0;  ///< ordered images (core/numbers/ordered_value.hpp)
  std::uint64_t max = 0;
  bool has_numbers = false;          ///< floats that are finite and not 0; of these:
  std::uint32_t lowest_bit = 0;      ///< least position of a bit that is set
  std::uint32_t highest_bit = 0;     ///< one past the greatest
  std::uint32_t first_position = 0;  ///< positions of mantissas (core/numbers/float_parts.hpp)
  std::uint32_t last_position = 0;
  std::uint32_t flags = 0;  ///< kFloatNan and the others of the shaders' layout
};

/// Finds the ranges of columns: one reading of each.
class ColumnScan {
 public:
  /// For columns of `rows` rows whose kinds have an order. Errors: limit_exceeded, out_of_memory.
  static Result<ColumnScan> create(ComputeContext& context, std::vector<DeviceValues> columns, std::uint64_t rows);

  /// Waits. One range a column, in their order.
  Result<std::vector<ValueRange>> run(ComputeContext& context);

  /// Every pipeline with this tuning.
  static std::vector<vk::ComputePipelineSpec> pipelines(ComputeTuning const& tuning);

 private:
  std::vector<DeviceValues> columns_;
  std::uint64_t rows_ = 0;
  std::uint64_t groups_ = 0;  // workgroups
  std::vector<vk::Buffer> ranges_;
};

/// The range of a column of integers of more than 64 bits beside its nulls: in two's complement, low word first.
struct WideRange {
  using Number = std::array<std::uint64_t, 4>;

  bool has_values = false;
  Number min{};
  Number max{};
};

/// One reading of such a column, of 4 or 8 words and at least one row. Waits. Errors: limit_exceeded, out_of_memory,
/// device_failure, cancelled.
Result<WideRange> find_wide_range(ComputeContext& context, DeviceValues const& values, std::uint64_t rows);

}  // namespace garuda::compute
