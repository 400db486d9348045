#include "operators/compute/strings/string_numbers.hpp"

#include <algorithm>
#include <bit>

namespace garuda::compute {
namespace {

constexpr char const* kStringNumbersPhase = "number strings";
constexpr char const* kStringKeysPhase = "string keys";

PassShape hash_strings_shape() {
  return {"compute/strings/hash_strings.comp", 0, 1, sizeof(shaders::HashStringsPush), {}};
}
PassShape number_strings_shape() {
  return {"compute/strings/number_strings.comp", 0, 1, sizeof(shaders::NumberStringsPush), {}};
}
PassShape string_keys_shape() {
  return {"compute/strings/string_keys.comp", 0, 1, sizeof(shaders::StringKeysPush), {}};
}

/// A quarter of the slots stays free at least.
std::uint64_t string_slots(std::uint64_t strings) noexcept {
  return std::bit_ceil(std::max<std::uint64_t>(strings + strings / 3 + 1, 16));
}

}  // namespace

std::uint64_t string_numbers_scratch_bytes(std::uint64_t strings) noexcept {
  return (strings + string_slots(strings)) * sizeof(std::uint32_t);
}

Result<void> record_string_numbers(ComputeContext& context, DeviceStrings const& strings, std::uint32_t hash_bits,
                                   vk::Buffer const& numbers) {
  GARUDA_EXPECTS(hash_bits >= 1);
  auto const count = strings.size();
  if (count == 0) return {};
  auto const slots = string_slots(count);
  GARUDA_TRY_ASSIGN(auto const hashes, context.device_buffer(count * sizeof(std::uint32_t), "hashes of strings"));
  GARUDA_TRY_ASSIGN(auto const table, context.device_buffer(slots * sizeof(std::uint32_t), "slots of strings"));
  GARUDA_TRY(context.fill(kStringNumbersPhase, table, shaders::kNoString));
  auto const groups = groups_for(count, context.tuning().group_size);
  shaders::HashStringsPush hash{};
  hash.strings = strings.view();
  hash.hashes = hashes.address();
  hash.mask = hash_bits >= kStringHashBits ? ~std::uint32_t{0} : (1U << hash_bits) - 1;
  GARUDA_TRY(context.dispatch(kStringNumbersPhase, hash_strings_shape(), hash, groups, count));
  shaders::NumberStringsPush push{};
  push.strings = strings.view();
  push.hashes = hashes.address();
  push.slots = table.address();
  push.numbers = numbers.address();
  push.mask = static_cast<std::uint32_t>(slots - 1);
  return context.dispatch(kStringNumbersPhase, number_strings_shape(), push, groups, count);
}

Result<void> record_string_keys(ComputeContext& context, DeviceStrings const& strings, StringKeys const& rows,
                                VkDeviceAddress keys) {
  shaders::StringKeysPush push{};
  push.strings = strings.view();
  push.rows = rows.rows;
  push.numbers = rows.numbers;
  push.keys = keys;
  push.num_rows = static_cast<std::uint32_t>(rows.num_rows);
  return context.dispatch(kStringKeysPhase, string_keys_shape(), push,
                          groups_for(rows.num_rows, context.tuning().group_size), rows.num_rows);
}

std::vector<vk::ComputePipelineSpec> string_number_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(hash_strings_shape(), tuning), compute_pipeline(number_strings_shape(), tuning),
          compute_pipeline(string_keys_shape(), tuning)};
}

}  // namespace garuda::compute
