#include "operators/compute/whole_offer.hpp"

#include "operators/compute/compute_tuning.hpp"
#include "operators/host_memory.hpp"

namespace garuda::operators {

std::optional<std::uint64_t> batch_budget(RunOptions const& options) {
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : free_host_bytes() / 4 * 3;
  return limit != 0 ? std::optional(limit / 2) : std::nullopt;
}

Result<std::string> refuse_placement(DeviceFacts const& facts, Placement asked) {
  GARUDA_TRY(compute_tuning(*facts.traits));
  if (asked == Placement::automatic && facts.traits->unified_memory)
    return std::string("the device shares its memory with the host");
  return std::string();
}

}  // namespace garuda::operators
