#include "operators/placement/whole_offer.hpp"

#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/run/host_memory.hpp"

namespace garuda::placement {

std::optional<std::uint64_t> batch_budget(RunOptions const& options) {
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : run::free_host_bytes() / 4 * 3;
  return limit != 0 ? std::optional(limit / 2) : std::nullopt;
}

Result<std::string> refuse_placement(contract::DeviceFacts const& facts, Placement asked) {
  GARUDA_TRY(compute::compute_tuning(*facts.traits));
  if (asked == Placement::automatic && facts.traits->unified_memory)
    return std::string("the device shares its memory with the host");
  return std::string();
}

}  // namespace garuda::placement
