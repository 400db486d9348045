#include "operators/graphics/group_by/group_by_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/graphics/group_by/group_by_pipelines.hpp"
#include "operators/vulkan/image_shape.hpp"
#include "shaders/shared/group_by_layout.h"

namespace garuda::graphics {
namespace {

constexpr std::uint32_t kSmallestAccumulatorExtent = 64;
constexpr std::uint64_t kLeastAccumulatorPixels = std::uint64_t{1} << 16;
constexpr std::uint64_t kMostSpreadPixels = std::uint64_t{1} << 20;
// Lanes of a group of more than kPixelRows rows at least.
constexpr std::uint32_t kLeastManyLanes = 16;

/// How far the rows of few groups are spread.
struct Spread {
  std::uint64_t pixels;  // of all groups
  std::uint64_t lanes;   // of a group at most: folding passes over them one by one
};

// Counts and extremes, of 4 and 8 bytes a pixel.
constexpr Spread kNarrow{4096, 256};
// Limbs and windows, of 32 bytes: an H200 blends them in a third of the time that 2^9 to 2^12 pixels take it.
constexpr Spread kWide{std::uint64_t{1} << 14, std::uint64_t{1} << 13};
// And as quickly in these, where they suffice for all rows.
constexpr Spread kWideFew{256, 256};
constexpr std::uint32_t kNarrowBytes = 8;
// Rows of a lane at least.
constexpr std::uint64_t kLeastLaneRows = 4;

Spread spread_of(std::uint64_t rows, std::uint64_t groups, std::uint32_t texel_bytes) noexcept {
  if (texel_bytes <= kNarrowBytes) return kNarrow;
  return groups * sum_lanes(rows, 0) <= kWideFew.pixels ? kWideFew : kWide;
}

bool blends_all(vk::DeviceTraits const& traits) {
  return traits.format(vk::PixelFormat::r32_sfloat).blend && traits.format(vk::PixelFormat::r32g32_sfloat).blend &&
         traits.format(vk::PixelFormat::r32g32b32a32_sfloat).blend;
}

}  // namespace

Result<GroupByLimits> group_by_limits(vk::DeviceTraits const& traits, ImageSizes const& sizes) {
  if (traits.limits.max_workgroup_invocations < shaders::kGroupSize) {
    return fail(ErrorCode::no_device,
                fmt::format("the graphics group-by needs workgroups of {} invocations, {} has {}", shaders::kGroupSize,
                            traits.name, traits.limits.max_workgroup_invocations));
  }
  GroupByLimits limits;
  limits.blend = sizes.blends && blends_all(traits);
  limits.spread = sizes.spread;
  // Compute passes then have to run.
  if (!limits.blend) GARUDA_TRY(compute::compute_tuning(traits));
  auto const extent = traits.max_render_extent();
  limits.images.hash_extent = std::min(sizes.hash_extent, extent);
  limits.images.max_pixels = vulkan::kMostPixels;
  limits.accumulator_extent = std::min(std::max(limits.images.hash_extent, kSmallestAccumulatorExtent), extent);
  limits.max_attachments = std::min(traits.limits.max_color_attachments, kMaxKeyAttachments);
  limits.max_buffer_bytes = traits.limits.max_storage_buffer_range;
  return limits;
}

Result<KeyForm> choose_key_form(std::uint32_t num_words, KeyForm asked, GroupByLimits const& limits) {
  auto const attachments = key_attachments(num_words);
  bool const fits = attachments <= limits.max_attachments;
  if (asked == KeyForm::words && !fits) {
    return fail(ErrorCode::no_device,
                fmt::format("keys=words needs {} colour attachments for {} key words, there are {}", attachments,
                            num_words, limits.max_attachments));
  }
  return asked != KeyForm::rowid && fits ? KeyForm::words : KeyForm::rowid;
}

vulkan::ImageShape group_image(std::uint64_t rows, std::uint64_t texel_bytes, std::uint64_t budget_bytes,
                               GroupByLimits const& limits) noexcept {
  auto images = limits.images;
  auto shape = hash_image(rows, images);
  while (shape.pixels() > 4 && shape.pixels() * texel_bytes > budget_bytes) {
    images.max_pixels = shape.pixels() / 2;
    shape = hash_image(rows, images);
  }
  return shape;
}

std::uint64_t first_image_rows(std::uint64_t rows, GroupByLimits const& limits) noexcept {
  return limits.expected_groups == 0 ? rows : std::min(rows, limits.expected_groups);
}

std::uint32_t group_lanes(std::uint64_t rows, std::uint64_t groups, std::uint32_t texel_bytes,
                          GroupByLimits const& limits) noexcept {
  if (!limits.blend) return 1;
  auto [pixels, lanes] = spread_of(rows, groups, texel_bytes);
  pixels = std::min(pixels, rows / kLeastLaneRows);
  if (limits.spread != 0) {
    pixels = std::min(kMostSpreadPixels, rows);
    lanes = limits.spread;
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(std::min(pixels / groups, lanes), 1));
}

std::uint32_t sum_lanes(std::uint64_t rows, std::uint32_t spread) noexcept {
  if (rows <= shaders::kPixelRows) return 1;
  auto const blocks = static_cast<std::uint32_t>((rows + shaders::kPixelRows - 1) / shaders::kPixelRows);
  return blocks * (spread != 0 ? spread : (kLeastManyLanes + blocks - 1) / blocks);
}

std::uint64_t group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words,
                                   GroupByLimits const& limits) noexcept {
  // Ids and heads stay; keys, map, heads, lost, its prefix sum, two lists and the image go before values come.
  auto const image = group_image(rows, 4 * (1 + std::uint64_t{key_words}), ~std::uint64_t{0}, limits).pixels();
  auto const grouping = rows * (4 * std::uint64_t{key_words} + 4 * 6 + 1) + image * 4 * (1 + std::uint64_t{key_words});
  // Values and validity, rows of groups, spans, pixels allotted with their prefix sum and first pixels.
  auto const aggregates = rows * (4 * std::uint64_t{value_words} + 1 + 4 + 8 + 4 * 3) + kLeastAccumulatorPixels * 48;
  return rows * 8 + std::max(grouping, aggregates) + (std::uint64_t{1} << 16);
}

}  // namespace garuda::graphics
