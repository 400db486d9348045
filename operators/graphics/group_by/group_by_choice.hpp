// The graphics group-by's choices for one slice: form of the keys, hash images, accumulators. Pure functions of shape,
// limits and tuning, so that they are tested without a device and the path's offers are sized with the same.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::graphics {

/// Limits that a device and a tuning set for the graphics group-by.
struct GroupByLimits {
  GraphicsLimits images;                 ///< hash_extent and max_pixels: of hash images
  std::uint32_t accumulator_extent = 0;  ///< greatest width and height of an accumulator image
  std::uint32_t max_attachments = 0;     ///< of a hash image with key words in it
  std::uint64_t max_buffer_bytes = 0;    ///< that a shader sees
  bool blend = false;                    ///< aggregates by blending; else by compute passes
  std::uint32_t spread = 0;              ///< ImageSizes::spread
  std::uint64_t expected_groups = 0;     ///< of a slice; 0: as many as rows

  friend bool operator==(GroupByLimits const&, GroupByLimits const&) = default;
};

/// Limits of a device. The extent of hash images bounds accumulators, too, but not below 64 pixels.
/// Errors: no_device, with the reason, when the device lacks what compute passes need where it does not blend the
/// 32-bit float formats, or workgroups of 256 invocations.
Result<GroupByLimits> group_by_limits(vk::DeviceTraits const& traits, ImageSizes const& sizes = {});

/// Colour attachments of a hash image that holds the row and `num_words` key words (GARUDA §4.2.1).
constexpr std::uint32_t key_attachments(std::uint32_t num_words) noexcept { return (1 + num_words + 3) / 4; }

/// How keys of several words are compared: KeyForm::words or KeyForm::rowid. Automatic: words while the attachments
/// suffice. Errors: no_device when `asked` is words and they do not.
Result<KeyForm> choose_key_form(std::uint32_t num_words, KeyForm asked, GroupByLimits const& limits);

/// The hash image for `rows` rows of different keys, halved until it takes at most `budget_bytes`; at least 4 pixels.
vulkan::ImageShape group_image(std::uint64_t rows, std::uint64_t texel_bytes, std::uint64_t budget_bytes,
                               GroupByLimits const& limits) noexcept;

/// Rows that the first hash image of a slice of `rows` rows is made for: the groups that are expected. More of them
/// take further images.
std::uint64_t first_image_rows(std::uint64_t rows, GroupByLimits const& limits) noexcept;

/// Bytes of a pixel that limbs, or windows, are blended into: four floats in each of two attachments.
inline constexpr std::uint32_t kLimbBytes = 32;

/// Lanes of every group in draws of `rows` rows to the pixels of `groups` groups, of `texel_bytes` in all attachments:
/// enough to spread few groups over some thousand pixels, or `limits.spread` while that takes at most 2^20 pixels and
/// one a row. At least 1.
std::uint32_t group_lanes(std::uint64_t rows, std::uint64_t groups, std::uint32_t texel_bytes,
                          GroupByLimits const& limits) noexcept;

/// Lanes of a group of more than kPixelRows rows, where group_lanes has fewer, in sums over a slice of `rows` rows: row
/// r adds to lane r mod lanes, so that at most kPixelRows rows meet in a pixel. `spread`: lanes for every kPixelRows
/// rows of the slice, 0: 16 lanes in all or more. 1 when no group can have so many rows.
std::uint32_t sum_lanes(std::uint64_t rows, std::uint32_t spread) noexcept;

/// Device memory that a slice takes at most when every row is a group of its own, accumulators beyond the first 2^16
/// pixels apart, which follow the memory that is left. Bytes.
std::uint64_t group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words,
                                   GroupByLimits const& limits) noexcept;

/// See GroupByRow::offers. Errors: those of group_by_limits and choose_key_form.
Result<contract::GroupByOffers> graphics_group_by_offers(contract::GroupByInquiry const& inquiry);

/// Adds to the plan what a slice will draw into, as far as it is known before.
Result<void> describe_group_by_images(contract::GroupByShape const& shape, contract::GroupByOffer const& offer,
                                      contract::DeviceFacts const& facts, Plan& plan);

}  // namespace garuda::graphics
