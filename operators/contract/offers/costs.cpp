#include "operators/contract/offers/costs.hpp"

namespace garuda::contract {

double total_ns(PhaseCosts const& costs) {
  double total = 0;
  for (auto const& [phase, ns] : costs) total += ns;
  return total;
}

vk::UploadMode cheapest_upload(rates::DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes) {
  if (traits.imports_in_place()) return vk::UploadMode::import_host;
  auto best = vk::UploadMode::stage;
  auto const consider = [&](vk::UploadMode mode, bool has) {
    auto const rate = rates::upload_rate(rates, mode);
    if (has && rate.bytes_per_s > 0 && rate.ns(bytes) < rates::upload_rate(rates, best).ns(bytes)) best = mode;
  };
  consider(vk::UploadMode::map, traits.device_memory_mappable());
  consider(vk::UploadMode::import_host, traits.features.external_memory_host);
  return best;
}

}  // namespace garuda::contract
