#include "operators/graphics/group_by/graphics_path.hpp"

#include "operators/graphics/group_by/graphics_group_by.hpp"
#include "operators/graphics/join/graphics_join.hpp"
#include "operators/graphics/join/graphics_offers.hpp"

namespace garuda::graphics {

contract::PathRow const kGraphicsPath{
    .path = Path::graphics,
    .name = "graphics",
    .api = DeviceApi::vulkan,
    .join = {.offers = graphics_join_offers,
             .open =
                 [](contract::OpenDevice device, contract::BackendOptions const& options) {
                   return open_graphics_join(*device.device, *device.pipelines, options);
                 }},
    .group_by = {.offers = graphics_group_by_offers,
                 .open =
                     [](contract::OpenDevice device, contract::GroupByBackendOptions const& options) {
                       return open_graphics_group_by(*device.device, *device.pipelines, options);
                     },
                 .describe = describe_group_by_images}};

}  // namespace garuda::graphics
