#include "operators/graphics/group_by/group_by_offers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/contract/offers/group_by_terms.hpp"
#include "operators/graphics/group_by/group_by_choice.hpp"
#include "operators/vulkan/device_offers.hpp"
#include "operators/vulkan/group_slice.hpp"

namespace garuda::graphics {
namespace {

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

contract::PhaseCosts costs_of(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                              rates::DeviceRates const& whole_rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const rates = rates::rates_of_slices(whole_rates, rows / static_cast<double>(cut.slices));
  auto const groups = static_cast<double>(shape.estimated_groups);
  // Groups beyond one a pixel are drawn again, into the next image.
  auto const load = groups / std::max(cut.pixels, 1.0);
  auto const again = std::min(load / 2, 3.0);
  auto const uploaded = rows * (contract::group_key_bytes(shape) + 4.0 * shape.value_words);
  return {
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::group_partition_ns(shape, cut.radix_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(uploaded, cut, rates)},
      {"group", contract::random_ns(rows * (1 + again), rates) + contract::clear_ns(cut.pixels * (1 + again), rates) +
                    contract::read_ns(2 * rows * (1 + again), rates) + contract::stream_ns(24 * rows, rates)},
      {"aggregate", contract::random_blend_ns(rows * draws_a_row(shape), rates) +
                        contract::clear_ns(8 * groups, rates) +
                        contract::submissions_ns(contract::kGroupBySubmissions, cut, rates)},
      {"download", groups * static_cast<double>(contract::state_bytes(shape.requests) + 4) /
                       rates.download_bytes_per_s * contract::kNs},
      {"merge", contract::device_merge_ns(shape, cut)}};
}

/// The first hash image of a slice.
vulkan::ImageShape image_of(contract::GroupByShape const& shape, contract::GroupByOffer const& sizing,
                            GroupByLimits const& limits) {
  auto const words = sizing.tuning.keys == KeyForm::rowid ? 0 : contract::words_of_keys(shape);
  return group_image(contract::slice_groups(shape, sizing), 4 * (1 + std::uint64_t{words}), ~std::uint64_t{0}, limits);
}

Result<contract::GroupByOffer> size(contract::GroupByInquiry const& inquiry, std::int32_t radix_bits) {
  auto options = inquiry.options;
  options.tuning.radix_bits = radix_bits;
  contract::GroupByInquiry const forced{inquiry, inquiry.shape, options};
  auto const& shape = inquiry.shape;
  auto offer = vulkan::device_group_by_offer(Path::graphics, inquiry);
  GARUDA_TRY_ASSIGN(auto const limits, group_by_limits(*inquiry.facts().vulkan));
  if (shape.key_words > 0) {
    GARUDA_TRY_ASSIGN(offer.tuning.keys, choose_key_form(shape.key_words, options.tuning.keys, limits));
  }
  auto const words = contract::words_of_keys(shape);
  // Duplicates of a key never clash, so groups, not rows, fill an image; those beyond it take further images.
  auto const pixels = most_hash_pixels(limits.images);
  auto const image_groups = static_cast<std::uint64_t>(static_cast<double>(pixels) * kHashFill) + 1;
  vulkan::size_device_group_by(
      forced, offer, vulkan::most_group_rows(*inquiry.facts().vulkan, words, contract::widest_value(shape.requests)),
      [&](std::uint64_t rows) {
        return group_by_slice_bytes(rows, words, contract::widest_value(shape.requests), limits);
      },
      contract::has_keys(shape) ? contract::radix_bits_for(shape.estimated_groups, image_groups) : 0);
  if (contract::has_keys(shape)) offer.pixels = static_cast<double>(image_of(shape, offer, limits).pixels());
  return offer;
}

void price(contract::GroupByInquiry const& inquiry, contract::GroupByOffer offer, contract::GroupByOffers& offers) {
  auto const cut = vulkan::cut_group_by(inquiry, offer);
  contract::set_phases(offer.candidate, costs_of(inquiry.shape, cut, inquiry.facts().rates(), inquiry.host));
  offers.list.push_back(std::move(offer));
}

}  // namespace

/// Offers as few partitions as images and memory allow, and more, whose draws are smaller.
Result<contract::GroupByOffers> graphics_group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.radix_bits;
  contract::GroupByOffers offers;
  GARUDA_TRY_ASSIGN(auto const least, size(inquiry, asked));
  price(inquiry, least, offers);
  if (inquiry.is_idle() || asked >= 0 || !contract::has_keys(inquiry.shape)) return offers;
  for (auto const bits : contract::device_radix_bits(least.radix_bits, inquiry.shape.rows)) {
    if (bits == least.radix_bits) continue;
    GARUDA_TRY_ASSIGN(auto sized, size(inquiry, static_cast<std::int32_t>(bits)));
    price(inquiry, std::move(sized), offers);
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
