#include "operators/compute/primitives/null_keys.hpp"

#include <span>

#include "shaders/compute/keys/null_keys_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kNullKeysPhase = "null keys";

PassShape null_keys_shape(std::uint32_t words) {
  return {"compute/keys/null_keys.comp", 0, 1, sizeof(shaders::NullKeysPush), {{shaders::kSpecWords, words}}};
}

}  // namespace

Result<bool> replace_null_keys(ComputeContext& context, DeviceRows const& rows, std::optional<NullFlags> const& nulls,
                               std::uint64_t value, VkDeviceAddress target) {
  if (rows.rows == 0) return true;
  GARUDA_TRY_ASSIGN(auto const taken, context.device_buffer(sizeof(std::uint32_t), "value of null keys"));
  GARUDA_TRY(context.fill(kNullKeysPhase, taken, 0));
  shaders::NullKeysPush push{};
  push.source = rows.keys.address;
  push.target = target;
  push.nulls = nulls ? nulls->words : 0;
  push.taken = taken.address();
  push.value_low = static_cast<std::uint32_t>(value);
  push.value_high = static_cast<std::uint32_t>(value >> 32);
  push.null_mask = nulls ? 1U << nulls->bit : 0;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  GARUDA_TRY(context.dispatch(kNullKeysPhase, null_keys_shape(rows.keys.words), push,
                              groups_for(rows.rows, context.tuning().group_size), rows.rows));
  GARUDA_TRY(context.order_all(kNullKeysPhase));
  std::uint32_t is_taken = 0;
  GARUDA_TRY(context.read_back(kNullKeysPhase, taken, 0, std::as_writable_bytes(std::span(&is_taken, 1))));
  return is_taken == 0;
}

std::vector<vk::ComputePipelineSpec> null_keys_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const words : {1U, 2U}) specs.push_back(compute_pipeline(null_keys_shape(words), tuning));
  return specs;
}

}  // namespace garuda::compute
