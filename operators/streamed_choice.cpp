#include "operators/streamed_choice.hpp"

#include <thread>

#include "operators/compute/compute_tuning.hpp"
#include "operators/host_memory.hpp"

namespace garuda::operators {

std::uint64_t device_budget(RunOptions const& options, vk::DeviceTraits const& traits) noexcept {
  return options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes
                                                : traits.device_local_bytes() / 4 * 3;
}

std::optional<std::uint64_t> batch_budget(RunOptions const& options) {
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : free_host_bytes() / 4 * 3;
  return limit != 0 ? std::optional(limit / 2) : std::nullopt;
}

Result<std::string> refuse_placement(DeviceFacts const& facts, Placement asked) {
  if (!facts.info->usable) return fail(ErrorCode::no_device, facts.info->reason);
  GARUDA_TRY(compute_tuning(*facts.traits));
  if (asked == Placement::automatic && facts.traits->unified_memory)
    return std::string("the device shares its memory with the host");
  return std::string();
}

bool is_streaming_gpu(DeviceInfo const& info) noexcept {
  return info.usable && info.api == DeviceApi::vulkan && info.kind != DeviceKind::cpu;
}

std::uint32_t threads_of(RunOptions const& options) noexcept {
  return options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace garuda::operators
