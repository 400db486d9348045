#include "operators/graphics/join/graphics_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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

}  // namespace garuda::graphics
