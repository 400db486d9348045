#include "operators/graphics/group_by/graphics_path.hpp"

#include "operators/graphics/group_by/graphics_group_by.hpp"
#include "operators/graphics/group_by/group_by_choice.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/graphics/join/graphics_join.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::graphics {

contract::PathRow const kGraphicsPath{
    .path = Path::graphics,
    .name = "graphics",
    .api = DeviceApi::vulkan,
    .draws_rows = true,
    .find_devices = vulkan::find_vulkan_devices,
    .join = {.offers = graphics_join_offers,
             .open =
                 [](contract::OpenDevice* device, contract::BackendOptions const& options) {
                   auto const& own = vulkan::vulkan_of(*device);
                   return open_graphics_join(*own.device, *own.pipelines, options);
                 }},
    .group_by = {.offers = graphics_group_by_offers,
                 .open =
                     [](contract::OpenDevice* device, contract::GroupByBackendOptions const& options) {
                       auto const& own = vulkan::vulkan_of(*device);
                       return open_graphics_group_by(*own.device, *own.pipelines, options);
                     },
                 .describe = describe_group_by_images}};

}  // namespace garuda::graphics
