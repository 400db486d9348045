#include "operators/placement/whole_offer.hpp"

#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/run/query_run.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::placement {

Result<void> check_placement(contract::DeviceFacts const& facts, Placement asked) {
  GARUDA_TRY(compute::compute_tuning(*facts.vulkan));
  if (asked != Placement::automatic || !facts.info->unified_memory) return {};
  return fail(ErrorCode::usage, "the device shares its memory with the host");
}

Result<void> check_budgets(RunOptions const& options, contract::DeviceFacts const& facts, std::uint64_t device_bytes,
                           std::uint64_t host_bytes) {
  auto const check = [](char const* whose, std::uint64_t bytes, std::uint64_t budget) -> Result<void> {
    if (bytes <= budget) return {};
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} bytes of {} memory are needed, {} may be used", bytes, whose, budget));
  };
  GARUDA_TRY(check("device", device_bytes, contract::device_budget(options, facts)));
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : run::free_host_bytes() / 4 * 3;
  // Batches under way take half of what the query may take, where that is known.
  return limit != 0 ? check("host", host_bytes, limit / 2) : Result<void>();
}

Result<void> check_buffers(std::span<device::UploadColumn const> columns, std::uint64_t rows,
                           contract::DeviceFacts const& facts) {
  auto const& limits = facts.vulkan->limits;
  auto const most = std::min(limits.max_buffer_size, limits.max_memory_allocation_size);
  for (auto const& column : columns)
    if (auto const bytes = rows * device::row_bytes({&column, 1}); bytes > most)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a column of {} bytes is larger than the device's buffers: {}", bytes, most));
  return {};
}

void describe(compute::NumberedStrings const& strings, contract::Offer& offer) {
  offer.details.emplace_back("string keys", fmt::format("{} strings{}", static_cast<std::uint64_t>(strings.strings),
                                                        strings.are_kept ? ", by numbers kept with the table"
                                                                         : " are hashed and compared on the device"));
}

Result<device::TableDevice> open_device(contract::DeviceSet& devices, std::size_t index, run::RunRecorder& recorder) {
  run::PhaseTimer const timer(recorder, "open device");
  device::TableDevice device;
  GARUDA_TRY_ASSIGN(device.open, vulkan::open_vulkan(devices, index));
  device.info = &devices.devices()[index];
  return device;
}

}  // namespace garuda::placement
