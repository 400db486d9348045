#include "operators/compute/primitives/key_conversion.hpp"

#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::compute {

PassShape convert_keys_shape() {
  return {"compute/keys/convert_keys.comp", 0, 1, sizeof(shaders::ConvertKeysPush), {}};
}

Result<void> record_key_conversion(ComputeContext& context, DeviceValues const& values, std::uint64_t rows,
                                   KeyConversion const& conversion, VkDeviceAddress target) {
  shaders::ConvertKeysPush push{};
  push.source = values.column.address;
  push.target = target;
  push.kind = static_cast<std::uint32_t>(values.kind);
  push.as_kind = static_cast<std::uint32_t>(conversion.as);
  push.factor_low = static_cast<std::uint32_t>(conversion.factor);
  push.factor_high = static_cast<std::uint32_t>(conversion.factor >> 32);
  push.num_rows = static_cast<std::uint32_t>(rows);
  return context.dispatch("encode", convert_keys_shape(), push, groups_for(rows, context.tuning().group_size), rows);
}

}  // namespace garuda::compute
