#include "operators/graphics/graphics_path.hpp"

#include "operators/graphics/graphics_group_by.hpp"
#include "operators/graphics/graphics_join.hpp"
#include "operators/graphics/graphics_offers.hpp"

namespace garuda::operators {

PathRow const kGraphicsPath{.path = Path::graphics,
                            .name = "graphics",
                            .api = DeviceApi::vulkan,
                            .join = {.offers = graphics_join_offers,
                                     .open =
                                         [](OpenDevice device, BackendOptions const& options) {
                                           return open_graphics_join(*device.device, *device.pipelines, options);
                                         }},
                            .group_by = {.offers = graphics_group_by_offers,
                                         .open =
                                             [](OpenDevice device, GroupByBackendOptions const& options) {
                                               return open_graphics_group_by(*device.device, *device.pipelines,
                                                                             options);
                                             },
                                         .describe = describe_group_by_images}};

}  // namespace garuda::operators
