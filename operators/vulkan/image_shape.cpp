#include "operators/vulkan/image_shape.hpp"

#include <algorithm>

namespace garuda::vulkan {

ImageShape image_for(std::uint64_t texels, std::uint32_t extent) noexcept {
  auto const widest = log2_floor(extent);
  ImageShape shape;
  shape.log2_width = std::min((log2_ceil(texels) + 1) / 2, widest);
  auto height = (texels + shape.width() - 1) / shape.width();
  if (height > extent) {
    shape.log2_width = widest;
    height = std::min<std::uint64_t>((texels + shape.width() - 1) / shape.width(), extent);
  }
  shape.height = static_cast<std::uint32_t>(height);
  return shape;
}

std::uint64_t most_texels(std::uint32_t extent) noexcept {
  return image_for(std::uint64_t{extent} * extent, extent).pixels();
}

}  // namespace garuda::vulkan
