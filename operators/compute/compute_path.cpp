#include "operators/compute/compute_path.hpp"

#include "operators/compute/compute_group_by.hpp"
#include "operators/compute/compute_join.hpp"
#include "operators/compute/compute_offers.hpp"

namespace garuda::operators {

PathRow const kComputePath{.path = Path::compute,
                           .name = "compute",
                           .api = DeviceApi::vulkan,
                           .takes_whole_tables = true,
                           .join = {.offers = compute_join_offers,
                                    .open =
                                        [](OpenDevice device, BackendOptions const& options) {
                                          return open_compute_join(*device.device, *device.pipelines, options);
                                        }},
                           .group_by = {.offers = compute_group_by_offers,
                                        .open = [](OpenDevice device, GroupByBackendOptions const& options) {
                                          return open_compute_group_by(*device.device, *device.pipelines, options);
                                        }}};

}  // namespace garuda::operators
