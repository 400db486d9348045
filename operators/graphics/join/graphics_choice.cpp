#include "operators/graphics/join/graphics_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "operators/contract/offers/costs.hpp"

namespace garuda::graphics {
namespace {

// maxResourceSize that every device offers.
constexpr std::uint64_t kMostImageBytes = std::uint64_t{1} << 31;
// Direct images of at most this many pixels are taken however few rows they hold.
constexpr std::uint64_t kSmallDirectPixels = std::uint64_t{1} << 16;
constexpr std::uint64_t kDirectSparseness = 8;

std::uint64_t texel_bytes(std::uint32_t key_bits) { return key_bits == 64 ? 16 : 8; }

double as_double(std::uint64_t value) { return static_cast<double>(value); }

/// Steps of the network that sorts 2^log2_entries entries.
double network_steps(std::uint32_t log2_entries) { return log2_entries * (log2_entries + 1) / 2.0; }

/// Entries compared to sort the runs: medium ones take a block of the network each, however short, long ones all their
/// blocks and the stages that merge them.
double sort_steps(shaders::ClashStatistics const& clashes) {
  auto const medium = vulkan::log2_floor(shaders::kMediumRun);
  auto const first_long = vulkan::log2_floor(shaders::kLongRun);
  double steps = 0;
  for (std::uint32_t bucket = 1; bucket < shaders::kClashBuckets; ++bucket) {
    if (bucket < medium) {  // by insertion: half of the entries before each
      steps += as_double(clashes.rows[bucket]) * as_double(std::uint64_t{1} << bucket) / 2;
    } else if (bucket < first_long) {
      steps += as_double(clashes.pixels[bucket]) * shaders::kBlockRows * network_steps(first_long);
    } else {
      auto const blocks = clashes.rows[bucket] / shaders::kBlockRows + clashes.pixels[bucket];
      steps += as_double(blocks) * shaders::kBlockRows * network_steps(bucket + 1);
    }
  }
  return steps;
}

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

contract::PhaseCosts join_costs(contract::JoinShape const& shape, JoinStrategy const& strategy,
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

Result<contract::JoinOffer> sized_join(contract::JoinInquiry const& inquiry, std::int32_t radix_bits) {
  auto options = inquiry.options;
  options.tuning.radix_bits = radix_bits;
  contract::JoinInquiry const forced{inquiry, inquiry.shape, options};
  auto const& shape = inquiry.shape;
  auto offer = contract::device_join_offer(Path::graphics, inquiry);
  GARUDA_TRY_ASSIGN(auto const limits, graphics_limits(*inquiry.facts().vulkan, offer.tuning));
  auto const hash_rows = static_cast<std::uint64_t>(static_cast<double>(most_hash_pixels(limits)) * kHashFill);
  contract::size_device_join(
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
  auto cut = contract::cut_join(inquiry, sized);
  for (auto const& strategy : strategies_of(sized.tuning, facts.measured.has_value(),
                                            facts.vulkan->format(vk::PixelFormat::r32_sfloat).blend)) {
    auto const pixels = pixels_of(inquiry.shape, strategy.address, sized, limits);
    if (!pixels && sized.tuning.address != Address::direct) continue;
    cut.pixels = pixels.value_or(0);
    auto& offer = offers.list.emplace_back(sized);
    offer.candidate.choices = fmt::format("{},{}", to_string(strategy), contract::to_string(cut));
    contract::set_phases(offer.candidate, join_costs(inquiry.shape, strategy, cut, facts.rates(), inquiry.host));
    if (strategy.matching == Matching::compute) offer.tuning.matching = strategy.matching;
  }
  return {};
}

}  // namespace

RasterCosts raster_costs(rates::DeviceRates const& rates, Matching matching) noexcept {
  auto const point = rates.random_points_per_s;
  RasterCosts costs;
  costs.clipped_point = point / rates.clipped_points_per_s;
  costs.pixel = point * (1 / rates.cleared_pixels_per_s + 8 / rates.streamed_bytes_per_s);
  costs.output_point = point * (1 / rates.ordered_points_per_s + kSearchReads / rates.random_reads_per_s);
  costs.sort_step =
      point / (rates.small_random_reads_per_s > 0 ? rates.small_random_reads_per_s : rates.random_reads_per_s);
  costs.run_row = point * (kRunAtomics / rates.atomics_per_s + kRunReads / rates.random_reads_per_s);
  costs.counted_layer = costs.idle_row = costs.clipped_point;
  if (matching != Matching::compute) return costs;
  auto const read = point / rates.random_reads_per_s;
  costs.idle_row = point * kMatchedRowBytes / rates.streamed_bytes_per_s;
  costs.counted_row = read + costs.idle_row;
  costs.counted_layer = read;
  costs.written_row = read;
  costs.output_point = (1 + kSearchReads) * read;
  return costs;
}

Result<GraphicsLimits> graphics_limits(vk::DeviceTraits const& traits, JoinTuning const& tuning,
                                       ImageSizes const& sizes) {
  if (tuning.storage == Storage::runs && tuning.probe == Probe::instanced) {
    return fail(ErrorCode::usage, "storage=runs has no layers to instance: its probe is output");
  }
  if (traits.limits.max_workgroup_invocations < shaders::kGroupSize) {
    return fail(ErrorCode::no_device,
                fmt::format("the graphics join needs workgroups of {} invocations, {} has {}", shaders::kGroupSize,
                            traits.name, traits.limits.max_workgroup_invocations));
  }
  GraphicsLimits limits;
  limits.computes_matches = tuning.matching == Matching::compute;
  // Additions of compute passes are 15 to 40 times as fast as blending on every device that was calibrated (2026-11).
  limits.blend = sizes.blends && !limits.computes_matches && traits.format(vk::PixelFormat::r32_sfloat).blend;
  auto const extent = traits.max_render_extent();
  limits.hash_extent = std::min(sizes.hash_extent, extent);
  limits.rows_extent = extent;
  limits.result_extent = std::min(sizes.result_extent, extent);
  limits.max_pixels = std::min(traits.limits.max_storage_buffer_range / 4, vulkan::kMostPixels);
  limits.max_layers =
      std::clamp(sizes.stack_layers, 1U, std::min(shaders::kMaxLayers, traits.limits.max_image_array_layers));
  limits.max_image_bytes = std::min(traits.limits.max_memory_allocation_size, kMostImageBytes);
  return limits;
}

vulkan::ImageShape hash_image(std::uint64_t rows, GraphicsLimits const& limits) noexcept {
  auto const wanted = vulkan::log2_ceil(static_cast<std::uint64_t>(as_double(rows) / kHashFill) + 1);
  auto const extent = vulkan::log2_floor(std::max(limits.hash_extent, 2U));
  auto const log2_pixels = std::max(std::min({wanted, 2 * extent, vulkan::log2_floor(limits.max_pixels)}), 2U);
  vulkan::ImageShape shape;
  shape.log2_width = (log2_pixels + 1) / 2;
  shape.height = std::uint32_t{1} << (log2_pixels / 2);
  return shape;
}

std::uint64_t most_hash_pixels(GraphicsLimits const& limits) noexcept {
  return hash_image(limits.max_pixels, limits).pixels();
}

std::uint64_t most_direct_pixels(GraphicsLimits const& limits) noexcept {
  return std::min(limits.max_pixels, vulkan::most_texels(limits.hash_extent));
}

std::optional<std::uint64_t> direct_pixels(std::uint64_t min, std::uint64_t max,
                                           std::uint32_t shared_low_bits) noexcept {
  auto const last = shared_low_bits >= 64 ? 0 : (max - min) >> shared_low_bits;
  if (last == ~std::uint64_t{0}) return std::nullopt;
  return last + 1;
}

std::optional<SideAddress> choose_address(SideShape const& side, Address address, GraphicsLimits const& limits) {
  SideAddress chosen;
  auto const range = direct_pixels(side.min, side.max, side.shared_low_bits);
  if (address != Address::hash && range && *range <= limits.max_pixels) {
    bool const pays = *range <= std::max(kDirectSparseness * side.rows, kSmallDirectPixels);
    chosen.image = vulkan::image_for(*range, limits.hash_extent);
    chosen.direct = chosen.image.pixels() >= *range && (pays || address == Address::direct);
  }
  if (chosen.direct) {
    chosen.address = {static_cast<std::uint32_t>(side.min), static_cast<std::uint32_t>(side.min >> 32),
                      side.shared_low_bits, static_cast<std::uint32_t>(*range)};
    return chosen;
  }
  if (address == Address::direct) return std::nullopt;
  chosen.image = hash_image(side.rows, limits);
  auto const pixels = static_cast<std::uint32_t>(chosen.image.pixels());
  chosen.address = {0, 0, 32 - vulkan::log2_floor(pixels), pixels};
  return chosen;
}

double stack_cost(std::uint64_t build_rows, std::uint64_t probe_rows, shaders::ClashStatistics const& clashes,
                  std::uint64_t pixels, RasterCosts const& costs) noexcept {
  auto const layers = static_cast<double>(clashes.max_clashes);
  // A pixel of c rows draws c of them into the first image, c - 1 into the second …; the rest are clipped.
  double drawn = 0;
  for (std::uint32_t bucket = 0; bucket < shaders::kClashBuckets; ++bucket) {
    if (clashes.pixels[bucket] == 0) continue;
    auto const mean = static_cast<double>(clashes.rows[bucket]) / static_cast<double>(clashes.pixels[bucket]);
    drawn += static_cast<double>(clashes.rows[bucket]) * (mean + 1) / 2;
  }
  auto const clipped = std::max(layers * as_double(build_rows) - drawn, 0.0);
  auto const probe = as_double(probe_rows) * (costs.counted_row + (layers - 1) * costs.counted_layer);
  return drawn + clipped * costs.clipped_point + probe + layers * as_double(pixels) * costs.pixel;
}

double runs_cost(std::uint64_t build_rows, std::uint64_t probe_rows, shaders::ClashStatistics const& clashes,
                 std::uint64_t pixels, RasterCosts const& costs) noexcept {
  return as_double(build_rows) * costs.run_row + sort_steps(clashes) * costs.sort_step +
         as_double(probe_rows) * costs.counted_row + as_double(pixels) * costs.pixel;
}

double least_cost(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint64_t pixels,
                  RasterCosts const& costs) noexcept {
  return as_double(build_rows) * std::min(costs.run_row, 1.0) + as_double(probe_rows) * costs.counted_row +
         as_double(pixels) * costs.pixel;
}

StorageChoice choose_storage(std::uint64_t build_rows, std::uint64_t probe_rows,
                             shaders::ClashStatistics const& clashes, std::uint64_t pixels, JoinTuning const& tuning,
                             RasterCosts const& costs) {
  auto const stack = stack_cost(build_rows, probe_rows, clashes, pixels, costs);
  auto const runs = runs_cost(build_rows, probe_rows, clashes, pixels, costs);
  if (tuning.storage == Storage::stack || tuning.probe == Probe::instanced) return {Storage::stack, stack};
  if (tuning.storage == Storage::runs || runs < stack) return {Storage::runs, runs};
  return {Storage::stack, stack};
}

Probe choose_probe(Storage storage, std::uint64_t probe_rows, std::uint64_t layers, std::uint64_t output_rows,
                   Probe asked, RasterCosts const& costs) noexcept {
  if (storage == Storage::runs) return Probe::output;
  if (asked != Probe::automatic) return asked;
  auto const points = as_double(probe_rows) * as_double(layers);
  auto const instanced =
      as_double(output_rows) * costs.written_row + std::max(points - as_double(output_rows), 0.0) * costs.idle_row;
  return as_double(output_rows) * costs.output_point < instanced ? Probe::output : Probe::instanced;
}

std::uint32_t layers_per_slice(vulkan::ImageShape const& image, std::uint32_t key_bits, std::uint64_t layers,
                               std::uint64_t budget_bytes, GraphicsLimits const& limits) noexcept {
  auto const layer_bytes = image.pixels() * texel_bytes(key_bits);
  auto const affordable = std::min(budget_bytes, limits.max_image_bytes) / layer_bytes;
  auto const most = std::min<std::uint64_t>({layers, limits.max_layers, affordable});
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(most, 1));
}

std::uint64_t slice_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                          GraphicsLimits const& limits) noexcept {
  auto const larger = std::max(left_rows, right_rows);
  auto const pixels = [&](std::uint64_t rows) {
    auto const direct = std::min(std::max(kDirectSparseness * rows, kSmallDirectPixels), most_direct_pixels(limits));
    return std::max(hash_image(rows, limits).pixels(), direct);
  };
  auto const keys = (left_rows + right_rows) * (key_bits / 8);
  auto const statistics = (pixels(left_rows) + pixels(right_rows)) * 4;
  // One image of a stack and the FlagArray; or offsets, cursors, keys and rows of the runs. Whichever is more.
  auto const stack = pixels(larger) * texel_bytes(key_bits) + larger * 4;
  auto const runs = pixels(larger) * 8 + larger * (8 + key_bits / 8);
  // CountFBO of (first, count), matches, offsets; bitmaps and tiles are small change.
  auto const count = larger * (8 + 4 + 4) + larger / 4;
  // A window is smaller where memory is short.
  auto const result = std::min(larger, std::uint64_t{limits.result_extent} * limits.result_extent) * kWindowBytes;
  return keys + statistics + std::max(stack, runs) + count + result;
}

/// Offers as few partitions as images and memory allow, and more, whose draws are smaller.
Result<contract::JoinOffers> graphics_join_offers(contract::JoinInquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.radix_bits;
  contract::JoinOffers offers;
  GARUDA_TRY_ASSIGN(auto const least, sized_join(inquiry, asked));
  if (inquiry.is_idle() || asked >= 0) {
    GARUDA_TRY(add_strategies(inquiry, least, offers));
    return offers;
  }
  for (auto const bits : contract::device_radix_bits(least.radix_bits, inquiry.shape.larger_rows())) {
    GARUDA_TRY_ASSIGN(auto sized, sized_join(inquiry, static_cast<std::int32_t>(bits)));
    GARUDA_TRY(add_strategies(inquiry, std::move(sized), offers));
  }
  return offers;
}

}  // namespace garuda::graphics
