// Key values in the kind in which both sides' are compared, where that is another one.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/primitives/compute_context.hpp"

namespace garuda::compute {

/// Exact for all values of a column: integers of up to 64 bits times a factor, integers of up to 32 bits as float64, of
/// up to 16 as float32, floats as wider ones.
struct KeyConversion {
  DeviceValueKind as = DeviceValueKind::int64;  ///< int64, float32 or float64
  std::uint64_t factor = 1;                     ///< of int64

  std::uint32_t words() const noexcept { return as == DeviceValueKind::float32 ? 1 : 2; }
};

/// Records the conversion of a column of at least one row. `target`: conversion.words() a row.
Result<void> record_key_conversion(ComputeContext& context, DeviceValues const& values, std::uint64_t rows,
                                   KeyConversion const& conversion, VkDeviceAddress target);

/// The pass.
PassShape convert_keys_shape();

}  // namespace garuda::compute
