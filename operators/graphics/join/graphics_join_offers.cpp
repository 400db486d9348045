// The strategies to join through the graphics pipeline. The kernel chooses between them slice by slice, from statistics
// that it takes; the candidates say what it is expected to choose from and at what cost.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/graphics/join/graphics_costs.hpp"
#include "operators/graphics/join/graphics_offers.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::graphics {
namespace {

bool is_dense(contract::JoinShape const& shape) {
  auto const rows = std::max<std::uint64_t>(shape.larger_rows(), 1);
  auto const range = std::max(shape.left.key_range, shape.right.key_range);
  return range != 0 && range / 8 <= rows;
}

/// Device bytes that one slice of `rows` rows a side takes with a full stack.
std::uint64_t full_slice_bytes(std::uint64_t rows, contract::JoinShape const& shape, GraphicsLimits const& limits) {
  auto const image_bytes = hash_image(std::max<std::uint64_t>(rows, 1), limits).pixels() * (shape.key_bits / 4);
  return slice_bytes(rows, rows, shape.key_bits, limits) + (limits.max_layers - 1) * image_bytes;
}

Result<contract::JoinOffer> size(contract::JoinInquiry const& inquiry, std::int32_t radix_bits) {
  auto options = inquiry.options;
  options.tuning.radix_bits = radix_bits;
  contract::JoinInquiry const forced{inquiry.shape, options,        inquiry.machine,
                                     inquiry.host,  inquiry.device, inquiry.requested};
  auto const& shape = inquiry.shape;
  auto offer = vulkan::device_join_offer(Path::graphics, inquiry);
  GARUDA_TRY_ASSIGN(auto const limits, graphics_limits(*inquiry.facts().vulkan, offer.tuning));
  auto const hash_rows = static_cast<std::uint64_t>(static_cast<double>(most_hash_pixels(limits)) * kHashFill);
  vulkan::size_device_join(
      forced, offer, [&](std::uint64_t rows) { return full_slice_bytes(rows, shape, limits); },
      is_dense(shape) ? most_direct_pixels(limits) : hash_rows);
  return offer;
}

/// Pixels of the images of all partitions with one layer each; nothing when a range does not fit an image.
std::optional<double> pixels_of(contract::JoinShape const& shape, Address address, contract::JoinOffer const& sizing,
                                GraphicsLimits const& limits) {
  auto const parts = std::uint64_t{1} << sizing.radix_bits;
  auto const& build = shape.left.rows <= shape.right.rows ? shape.left : shape.right;
  auto const rows = build.rows / parts + 1;
  if (address == Address::hash) return static_cast<double>(parts * hash_image(rows, limits).pixels());
  SideShape side{rows, 0, build.key_range == 0 ? ~std::uint64_t{0} : (build.key_range - 1) / parts, 0};
  auto const chosen = choose_address(side, sizing.tuning.address, limits);
  if (!chosen || !chosen->direct) return std::nullopt;
  return static_cast<double>(parts * chosen->image.pixels());
}

/// Whether matches may be found so: without measured rates they are drawn, unless compute passes are asked for.
bool is_open(Matching matching, JoinTuning const& tuning, bool is_measured) {
  if (tuning.matching != Matching::automatic) return matching == tuning.matching;
  return matching == Matching::draw || is_measured;
}

/// The strategies that the tuning and the device leave open.
std::vector<GraphicsStrategy> strategies_of(JoinTuning const& tuning, bool is_measured, bool can_blend) {
  std::vector<GraphicsStrategy> strategies;
  for (auto const address : {Address::direct, Address::hash})
    for (auto const storage : {Storage::stack, Storage::runs})
      for (auto const probe : {Probe::output, Probe::instanced}) {
        auto const is_asked = [](auto asked, auto value, auto automatic) {
          return asked == value || asked == automatic;
        };
        if (!is_asked(tuning.address, address, Address::automatic) ||
            !is_asked(tuning.storage, storage, Storage::automatic) || !is_asked(tuning.probe, probe, Probe::automatic))
          continue;
        // Runs have no layers to instance.
        if (storage == Storage::runs && probe != Probe::output) continue;
        for (auto const matching : {Matching::draw, Matching::compute})
          if (is_open(matching, tuning, is_measured))
            strategies.push_back({address, storage, probe, matching, can_blend && matching == Matching::draw});
      }
  return strategies;
}

/// Addresses need a key range that fits; without one only hashing is left.
Result<void> add_strategies(contract::JoinInquiry const& inquiry, contract::JoinOffer sized,
                            contract::JoinOffers& offers) {
  auto const& facts = inquiry.facts();
  GARUDA_TRY_ASSIGN(auto const limits, graphics_limits(*facts.vulkan, sized.tuning));
  auto cut = vulkan::cut_join(inquiry, sized);
  for (auto const& strategy : strategies_of(sized.tuning, facts.measured.has_value(),
                                            facts.vulkan->format(vk::PixelFormat::r32_sfloat).blend)) {
    auto const pixels = pixels_of(inquiry.shape, strategy.address, sized, limits);
    if (!pixels && sized.tuning.address != Address::direct) continue;
    cut.pixels = pixels.value_or(0);
    auto& offer = offers.list.emplace_back(sized);
    offer.candidate.choices = fmt::format("{},{}", to_string(strategy), vulkan::to_string(cut));
    contract::set_phases(offer.candidate,
                         graphics_join_costs(inquiry.shape, strategy, cut, facts.rates(), inquiry.host));
    if (strategy.matching == Matching::compute) offer.tuning.matching = strategy.matching;
  }
  return {};
}

}  // namespace

/// Offers as few partitions as images and memory allow, and more, whose draws are smaller.
Result<contract::JoinOffers> graphics_join_offers(contract::JoinInquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.radix_bits;
  contract::JoinOffers offers;
  GARUDA_TRY_ASSIGN(auto const least, size(inquiry, asked));
  if (inquiry.is_idle() || asked >= 0) {
    GARUDA_TRY(add_strategies(inquiry, least, offers));
    return offers;
  }
  for (auto const bits : contract::device_radix_bits(least.radix_bits, inquiry.shape.larger_rows())) {
    GARUDA_TRY_ASSIGN(auto sized, size(inquiry, static_cast<std::int32_t>(bits)));
    GARUDA_TRY(add_strategies(inquiry, std::move(sized), offers));
  }
  return offers;
}

}  // namespace garuda::graphics
