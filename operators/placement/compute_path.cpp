#include "operators/placement/compute_path.hpp"

#include <fmt/format.h>

#include <string>

#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/compute/condition_join/condition_offers.hpp"
#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/join/compute_join.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/device/device_join.hpp"
#include "operators/placement/compute_offers.hpp"
#include "operators/placement/whole_group_by.hpp"
#include "operators/placement/whole_join.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::placement {

contract::PathRow const kComputePath{
    .path = Path::compute,
    .name = "compute",
    .api = DeviceApi::vulkan,
    .takes_whole_tables = true,
    .find_devices = vulkan::find_vulkan_devices,
    .describe_device = [](vk::DeviceTraits const& traits) -> std::string {
      auto const tuning = compute::compute_tuning(traits);
      return tuning ? fmt::format("yes, subgroups of {}", tuning->subgroup_size) : "no: " + tuning.error().message();
    },
    .join = {.offers = compute_join_offers,
             .open =
                 [](contract::OpenDevice* device, contract::BackendOptions const& options) {
                   auto const& own = vulkan::vulkan_of(*device);
                   return compute::open_compute_join(*own.device, *own.pipelines, options);
                 },
             .feeding = {.forks = true},  // slices that the host deals out
             .sample_matches = device::sample_matches,
             .join_whole = join_whole_tables,
             .count_whole = count_whole_join},
    .condition_join = {.offers = compute::compute_condition_offers,
                       .open =
                           [](contract::OpenDevice* device, contract::BackendOptions const& options,
                              expr::PairCondition const& condition) {
                             auto const& own = vulkan::vulkan_of(*device);
                             return compute::open_compute_condition_join(*own.device, *own.pipelines, options,
                                                                         condition);
                           }},
    .group_by = {.offers = compute_group_by_offers,
                 .open =
                     [](contract::OpenDevice* device, contract::GroupByBackendOptions const& options) {
                       auto const& own = vulkan::vulkan_of(*device);
                       return compute::open_compute_group_by(*own.device, *own.pipelines, options);
                     },
                 .group_whole = group_whole_table}};

}  // namespace garuda::placement
