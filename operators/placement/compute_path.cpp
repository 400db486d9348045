#include "operators/placement/compute_path.hpp"

#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/join/compute_join.hpp"
#include "operators/placement/compute_offers.hpp"

namespace garuda::placement {

contract::PathRow const kComputePath{
    .path = Path::compute,
    .name = "compute",
    .api = DeviceApi::vulkan,
    .takes_whole_tables = true,
    .join = {.offers = compute_join_offers,
             .open =
                 [](contract::OpenDevice device, contract::BackendOptions const& options) {
                   return compute::open_compute_join(*device.device, *device.pipelines, options);
                 }},
    .group_by = {.offers = compute_group_by_offers,
                 .open = [](contract::OpenDevice device, contract::GroupByBackendOptions const& options) {
                   return compute::open_compute_group_by(*device.device, *device.pipelines, options);
                 }}};

}  // namespace garuda::placement
