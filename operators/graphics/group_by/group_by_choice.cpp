#include "operators/graphics/group_by/group_by_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/graphics/group_by/group_context.hpp"
#include "operators/graphics/rows/row_programs.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "operators/vulkan/pass_context.hpp"
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

/// Points a row that the states of a group-by take, about.
std::uint32_t draws_a_row(contract::GroupByShape const& shape) noexcept {
  std::uint32_t draws = 0;
  for (auto const& request : shape.requests) {
    auto const kind = request.kind;
    auto const states = request.states;
    if ((states & contract::kCountState) != 0) ++draws;
    if ((states & contract::kSumState) != 0) draws += contract::is_float(kind) ? 3 : 1;
    // Pieces of 24 bits. Bytes are compared on the host.
    if ((states & (contract::kMinState | contract::kMaxState)) != 0 && kind != contract::ValueKind::bytes)
      draws += contract::value_words(kind) + 1;
  }
  return draws;
}

contract::PhaseCosts group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                    rates::DeviceRates const& whole_rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const rates = rates::rates_of_slices(whole_rates, rows / static_cast<double>(cut.slices));
  auto const groups = static_cast<double>(shape.estimated_groups);
  // Groups beyond one a pixel are drawn again, into the next image.
  auto const load = groups / std::max(cut.pixels, 1.0);
  auto const again = std::min(load / 2, 3.0);
  auto const group_ns = contract::random_ns(rows * (1 + again), rates) +
                        contract::clear_ns(cut.pixels * (1 + again), rates) +
                        contract::read_ns(2 * rows * (1 + again), rates) + contract::stream_ns(24 * rows, rates);
  auto const aggregate_ns =
      contract::random_blend_ns(rows * draws_a_row(shape), rates) + contract::clear_ns(8 * groups, rates);
  return contract::sliced_group_by_costs(shape, cut, rates, host, group_ns, aggregate_ns);
}

/// The first hash image of a slice.
vulkan::ImageShape image_of(contract::GroupByShape const& shape, contract::GroupByOffer const& sizing,
                            GroupByLimits const& limits) {
  auto const words = sizing.tuning.keys == KeyForm::rowid ? 0 : contract::words_of_keys(shape);
  return group_image(contract::slice_groups(shape, sizing), 4 * (1 + std::uint64_t{words}), ~std::uint64_t{0}, limits);
}

Result<contract::GroupByOffer> sized_group_by(contract::GroupByInquiry const& inquiry, std::int32_t radix_bits) {
  auto options = inquiry.options;
  options.tuning.radix_bits = radix_bits;
  contract::GroupByInquiry const forced{inquiry, inquiry.shape, options};
  auto const& shape = inquiry.shape;
  auto offer = contract::device_group_by_offer(Path::graphics, inquiry);
  GARUDA_TRY_ASSIGN(auto const limits, group_by_limits(*inquiry.facts().vulkan));
  if (shape.key_words > 0) {
    GARUDA_TRY_ASSIGN(offer.tuning.keys, choose_key_form(shape.key_words, options.tuning.keys, limits));
  }
  auto const words = contract::words_of_keys(shape);
  // Duplicates of a key never clash, so groups, not rows, fill an image; those beyond it take further images.
  auto const pixels = most_hash_pixels(limits.images);
  auto const image_groups = static_cast<std::uint64_t>(static_cast<double>(pixels) * kHashFill) + 1;
  contract::size_device_group_by(
      forced, offer, vulkan::most_group_rows(*inquiry.facts().vulkan, words, contract::widest_value(shape.requests)),
      [&](std::uint64_t rows) {
        return group_by_slice_bytes(rows, words, contract::widest_value(shape.requests), limits);
      },
      contract::has_keys(shape) ? contract::radix_bits_for(shape.estimated_groups, image_groups) : 0);
  if (contract::has_keys(shape)) offer.pixels = static_cast<double>(image_of(shape, offer, limits).pixels());
  return offer;
}

void add_offer(contract::GroupByInquiry const& inquiry, contract::GroupByOffer offer, contract::GroupByOffers& offers) {
  auto const cut = contract::cut_group_by(inquiry, offer);
  contract::set_phases(offer.candidate, group_by_costs(inquiry.shape, cut, inquiry.facts().rates(), inquiry.host));
  offers.list.push_back(std::move(offer));
}

}  // namespace

bool draws_expressions(vk::DeviceTraits const& traits) {
  return blends_all(traits) && compute::compute_tuning(traits).has_value();
}

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

/// Offers as few partitions as images and memory allow, and more, whose draws are smaller.
Result<contract::GroupByOffers> graphics_group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.radix_bits;
  contract::GroupByOffers offers;
  GARUDA_TRY_ASSIGN(auto const least, sized_group_by(inquiry, asked));
  add_offer(inquiry, least, offers);
  if (inquiry.is_idle() || asked >= 0 || !contract::has_keys(inquiry.shape)) return offers;
  for (auto const bits : contract::device_radix_bits(least.radix_bits, inquiry.shape.rows)) {
    if (bits == least.radix_bits) continue;
    GARUDA_TRY_ASSIGN(auto sized, sized_group_by(inquiry, static_cast<std::int32_t>(bits)));
    add_offer(inquiry, std::move(sized), offers);
  }
  return offers;
}

Result<void> describe_group_by_images(contract::GroupByShape const& shape, contract::GroupByOffer const& sizing,
                                      contract::DeviceFacts const& facts, Plan& plan) {
  GARUDA_TRY_ASSIGN(auto const limits, group_by_limits(*facts.vulkan));
  auto const groups = contract::slice_groups(shape, sizing);
  if (contract::has_keys(shape)) {
    auto const words = sizing.tuning.keys == KeyForm::rowid ? 0 : contract::words_of_keys(shape);
    auto const attachments = key_attachments(words);
    auto const image = image_of(shape, sizing, limits);
    plan.details.emplace_back(
        "hash images",
        fmt::format("{} x {} pixels first, {} attachment{} of row id{}", image.width(), image.height, attachments,
                    attachments == 1 ? "" : "s",
                    words == 0 ? "s alone" : fmt::format(" and {} key word{}", words, words == 1 ? "" : "s")));
  }
  auto const pixels = groups * group_lanes(contract::rows_a_slice(shape, sizing), groups, kLimbBytes, limits);
  plan.details.emplace_back(
      "aggregates", fmt::format("{}, about {} draws a row into {} pixels",
                                limits.blend ? "by blending" : "by compute passes", draws_a_row(shape), pixels));
  return {};
}

}  // namespace garuda::graphics
