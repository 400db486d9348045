#include "operators/graphics/join/join_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/contract/offers/join_terms.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::graphics {
namespace {

struct JoinStrategy {
  Address address = Address::hash;
  Storage storage = Storage::stack;
  Probe probe = Probe::output;
  Matching matching = Matching::draw;
  bool blends = true;  ///< statistics and stack counts are blended, else added up by compute passes
};

/// "address=direct,storage=runs,probe=output", "…,matching=compute".
std::string to_string(JoinStrategy const& strategy) {
  JoinTuning tuning;
  tuning.address = strategy.address;
  tuning.storage = strategy.storage;
  tuning.probe = strategy.probe;
  if (strategy.matching == Matching::compute) tuning.matching = strategy.matching;
  return to_string(tuning);
}

/// Layers of hash images: rows that share a pixel are layers of a stack.
struct Clashes {
  double layers = 1;  ///< of the fullest pixel
  double drawn = 0;   ///< points that are not clipped while the stack is built
};

/// The fullest of `pixels` pixels that `rows` rows fall on at random: the least k that fewer than one pixel exceeds
/// (Poisson).
double fullest_pixel(double rows, double pixels) {
  auto const load = rows / pixels;
  auto term = std::exp(-load);
  auto above = 1 - term;
  double k = 0;
  while (above * pixels >= 1 && k < 64) {
    k += 1;
    term *= load / k;
    above -= term;
  }
  return std::max(k, 1.0);
}

Clashes clashes_of(contract::JoinShape const& shape, Address address, double pixels) {
  auto const rows = std::max(contract::build_rows(shape), 1.0);
  auto const distinct = contract::distinct_of(shape, contract::smaller_side(shape));
  auto const heaviest = shape.of(contract::smaller_side(shape)).heaviest;
  auto const multiplicity = std::max(rows / distinct, heaviest * rows);
  Clashes clashes;
  auto const fullest = address == Address::direct ? 1.0 : fullest_pixel(distinct, std::max(pixels, 1.0));
  clashes.layers = std::max(fullest * rows / distinct, multiplicity);
  auto const load = address == Address::direct ? 0 : distinct / std::max(pixels, 1.0);
  clashes.drawn = rows * (1 + load / 2) * (1 + (rows / distinct - 1) / 2);
  return clashes;
}

contract::PhaseCosts costs_of(contract::JoinShape const& shape, JoinStrategy const& strategy,
                              contract::DeviceCut const& cut, rates::DeviceRates const& whole_rates,
                              rates::HostRates const& host) {
  auto const build = contract::build_rows(shape);
  auto const probe = contract::probe_rows(shape);
  auto const rates = rates::rates_of_slices(whole_rates, probe / static_cast<double>(cut.slices));
  auto const out = contract::pairs_made(shape);
  auto const clashes = clashes_of(shape, strategy.address, cut.pixels);
  auto const is_stack = strategy.storage == Storage::stack;
  auto const layers = is_stack ? clashes.layers : 1;
  auto const points = layers * probe;  // instances of the probe side
  auto const counted = strategy.blends ? contract::random_blend_ns(build, rates) + contract::clear_ns(cut.pixels, rates)
                                       : contract::atomic_ns(build, rates) + contract::stream_ns(4 * cut.pixels, rates);
  auto const statistics = counted + contract::stream_ns(4 * cut.pixels, rates);
  auto const stack_build = contract::random_ns(clashes.drawn, rates) +
                           contract::clipped_ns(std::max(layers * build - clashes.drawn, 0.0), rates) +
                           contract::clear_ns(layers * cut.pixels, rates) +
                           contract::stream_ns(8 * layers * cut.pixels, rates);
  auto const runs_build = contract::atomic_ns(kRunAtomics * build, rates) +
                          contract::read_ns(kRunReads * build, rates) + contract::stream_ns(8 * cut.pixels, rates);
  auto const drawn_stack_count = contract::ordered_blend_ns(std::min(out, points), rates) +
                                 contract::clipped_ns(std::max(points - out, 0.0), rates) +
                                 contract::read_ns(points, rates);
  auto const drawn_runs_count = contract::ordered_ns(probe, rates) + contract::read_ns(2 * probe, rates);
  auto const is_output = strategy.probe == Probe::output;
  auto const drawn_count = (is_stack ? drawn_stack_count : drawn_runs_count) + contract::clear_ns(probe, rates);
  auto const drawn = is_output
                         ? contract::ordered_ns(out, rates) + contract::read_ns(kSearchReads * out, rates)
                         : contract::ordered_ns(out, rates) + contract::clipped_ns(std::max(points - out, 0.0), rates);
  // Compute passes stop at a pixel's first empty layer, and instances of a row are one invocation.
  auto const matched_rows = contract::stream_ns(kMatchedRowBytes * probe, rates);
  auto const computed_count = matched_rows + contract::read_ns(is_stack ? points : kRunLookups * probe, rates);
  auto const computed =
      (is_output ? contract::read_ns((1 + kSearchReads) * out, rates) : matched_rows + contract::read_ns(out, rates)) +
      contract::stream_ns(8 * out, rates);
  bool const is_drawn = strategy.matching != Matching::compute;
  bool const count_is_drawn = is_drawn && (strategy.blends || !is_stack);
  auto const keys_bytes = (build + probe) * shape.key_bits / 8.0;
  return {{"start", host.query_ns},
          {"encode", contract::encode_ns(contract::rows_of(shape), host)},
          {"partition",
           contract::partition_ns(contract::rows_of(shape), contract::join_row_bytes(shape), cut.radix_bits, host)},
          {"open", contract::open_ns(cut, rates)},
          {"upload", contract::upload_ns(keys_bytes, cut, rates)},
          {"statistics", statistics},
          {"build", is_stack ? stack_build : runs_build},
          {"count", count_is_drawn ? drawn_count : computed_count},
          {"prefix", contract::stream_ns(16 * probe, rates)},
          {"probe", (is_drawn ? drawn : computed) + contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
          {"mark", contract::mark_ns(shape, cut, rates)},
          {"condition", contract::condition_ns(shape, host)},
          {"download", out * 8 / rates.download_bytes_per_s * contract::kNs},
          {"gather", contract::consumed_ns(shape, cut, host)}};
}

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
  contract::JoinInquiry const forced{inquiry, inquiry.shape, options};
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
std::vector<JoinStrategy> strategies_of(JoinTuning const& tuning, bool is_measured, bool can_blend) {
  std::vector<JoinStrategy> strategies;
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
    contract::set_phases(offer.candidate, costs_of(inquiry.shape, strategy, cut, facts.rates(), inquiry.host));
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
