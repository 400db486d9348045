// Shapes of the images that passes draw into.
#pragma once

#include <bit>
#include <cstdint>

#include "shaders/shared/join_layout.h"

namespace garuda::vulkan {

/// `value` > 0.
constexpr std::uint32_t log2_floor(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(value)) - 1;
}
constexpr std::uint32_t log2_ceil(std::uint64_t value) noexcept { return value <= 1 ? 0 : log2_floor(value - 1) + 1; }

/// Greatest width and height of hash images (GARUDA §5).
inline constexpr std::uint32_t kDefaultImageExtent = 4096;
/// Greatest width and height of result FBOs.
inline constexpr std::uint32_t kDefaultResultExtent = 2048;
/// Most pixels of an image: direct addresses and prefix sums of pixels stay within 32 bits. A hash is shifted right by
/// 32 - log2(pixels), so at least 4 bits are left.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 28;

/// A row-major image with a width that is a power of two.
struct ImageShape {
  std::uint32_t log2_width = 0;
  std::uint32_t height = 0;

  std::uint32_t width() const noexcept { return std::uint32_t{1} << log2_width; }
  std::uint64_t pixels() const noexcept { return std::uint64_t{width()} * height; }
  shaders::Raster raster() const noexcept {
    return {log2_width, 2.0F / static_cast<float>(width()), 2.0F / static_cast<float>(height)};
  }
  friend bool operator==(ImageShape const&, ImageShape const&) = default;
};

/// The smallest image of at least `texels` texels, width and height at most `extent`; the largest one when none is.
/// `texels` ≥ 1, `extent` ≥ 1.
ImageShape image_for(std::uint64_t texels, std::uint32_t extent) noexcept;

/// Texels of the largest image that image_for makes: its width is a power of two, so they may be fewer than extent².
std::uint64_t most_texels(std::uint32_t extent) noexcept;

}  // namespace garuda::vulkan
