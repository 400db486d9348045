#include "operators/cost_model.hpp"

namespace garuda::operators {

double total_ns(PhaseCosts const& costs) {
  double total = 0;
  for (auto const& [phase, ns] : costs) total += ns;
  return total;
}

vk::UploadMode cheapest_upload(DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes) {
  auto best = vk::UploadMode::stage;
  auto const consider = [&](vk::UploadMode mode, bool has) {
    auto const rate = calibration::upload_rate(rates, mode);
    if (has && rate.bytes_per_s > 0 && rate.ns(bytes) < calibration::upload_rate(rates, best).ns(bytes)) best = mode;
  };
  consider(vk::UploadMode::map, traits.device_memory_mappable());
  consider(vk::UploadMode::import_host, traits.features.external_memory_host);
  return best;
}

}  // namespace garuda::operators
