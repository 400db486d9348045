// The graphics path's choices for one slice: addresses, image sizes, build side, storage and probe. Pure functions of
// shape, statistics, limits and tuning, so that they are tested without a device and the planner prices with the same.
// The kernel chooses slice by slice, from statistics that it takes; offers say what it is expected to choose from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/rates/rates.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "shaders/shared/join_layout.h"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::graphics {

/// Costs of passes, in points that overwrite random pixels. A device that was not measured has ratios of rates measured
/// on an H200 (points/s, driver 580): overwrite 0.593 G, all clipped 1.73 G, in pixel order 1.0–1.5 G; clear 7.0 G
/// pixels/s, flag scan 18–166 G pixels/s.
struct RasterCosts {
  double clipped_point = 0.34;
  double pixel = 0.1;  ///< cleared and scanned
  // A probe row counted, against the first layer or its run, and against each further layer; a row of the output
  // written where its probe row is drawn, and such an instance that writes nothing. Drawn, or by compute passes.
  double counted_row = 1;
  double counted_layer = 0.34;
  double written_row = 1;
  double idle_row = 0.34;
  double output_point = 1.25;  ///< drawn in pixel order, after a binary search
  double run_row = 1;          ///< a build row placed in a run by compute passes
  double sort_step = 0.01;     ///< an entry of a block compared with another in shared memory

  friend bool operator==(RasterCosts const&, RasterCosts const&) = default;
};
/// `matching`: automatic is drawn.
RasterCosts raster_costs(rates::DeviceRates const& rates, Matching matching = Matching::automatic) noexcept;

/// Random reads of a compute pass that looks a probe row up in a run: its offsets and, of hash addresses, its keys.
inline constexpr double kRunLookups = 3;
/// Bytes that compute passes read and write of a probe row in a row: key, matches, offsets.
inline constexpr double kMatchedRowBytes = 16;
/// Accesses that place a row in a run: counts and cursors; keys and rows, read and written, and read again to sort.
inline constexpr double kRunAtomics = 2;
inline constexpr double kRunReads = 8;
/// Steps of a binary search in the prefix sum that miss the cache: neighbours share all but the last.
inline constexpr double kSearchReads = 1.5;

/// Sizes of images, and whether counts and sums are blended where the device can. Tests make images small, so that few
/// rows fill them, and do without blending, as devices that cannot blend floats have to.
struct ImageSizes {
  std::uint32_t hash_extent = vulkan::kDefaultImageExtent;     ///< greatest width and height of a hash image, pixels
  std::uint32_t result_extent = vulkan::kDefaultResultExtent;  ///< greatest width and height of the result FBO, texels
  std::uint32_t stack_layers = 8;  ///< images in a stack before it is probed and restarted, 1…24 (GARUDA §5)
  /// Accumulator pixels that a block of rows of one group is spread over; 0: as many as the groups leave room for.
  std::uint32_t spread = 0;
  bool blends = true;

  friend bool operator==(ImageSizes const&, ImageSizes const&) = default;
};

/// Limits that a device and a tuning set for the graphics join.
struct GraphicsLimits {
  std::uint32_t hash_extent = 0;    ///< greatest width and height of a hash image
  std::uint32_t rows_extent = 0;    ///< greatest width and height of a CountFBO
  std::uint32_t result_extent = 0;  ///< greatest width and height of the result FBO
  std::uint64_t max_pixels = 0;     ///< of a hash image: a u32 a pixel must fit a storage buffer
  std::uint32_t max_layers = 0;     ///< images of a stack slice, 1…24
  std::uint64_t max_image_bytes = 0;
  bool blend = false;             ///< statistics and stack counts by blending; else compute
  bool computes_matches = false;  ///< matches are counted and written by compute passes
  RasterCosts costs;

  friend bool operator==(GraphicsLimits const&, GraphicsLimits const&) = default;
};

/// Limits of a device under a tuning.
/// Errors: usage for contradictory tunings (runs have no layers to instance); no_device for a device without workgroups
/// of 256 invocations.
Result<GraphicsLimits> graphics_limits(vk::DeviceTraits const& traits, JoinTuning const& tuning,
                                       ImageSizes const& sizes = {});

/// Share of a hash image's pixels that rows may fill: about 20 % expected collisions (GARUDA §5).
inline constexpr double kHashFill = 0.4;

/// The hash image for `rows` rows: both extents powers of two, rows / kHashFill pixels or the most allowed, at least 4.
vulkan::ImageShape hash_image(std::uint64_t rows, GraphicsLimits const& limits) noexcept;

/// Pixels of the largest image of hashes, and of the largest one addressed by the key. An extent that is no power of
/// two is not used in full.
std::uint64_t most_hash_pixels(GraphicsLimits const& limits) noexcept;
std::uint64_t most_direct_pixels(GraphicsLimits const& limits) noexcept;

/// Pixels that direct addresses of the keys in [min, max] take: ((max - min) >> shared_low_bits) + 1; nothing when that
/// is 2^64.
std::optional<std::uint64_t> direct_pixels(std::uint64_t min, std::uint64_t max,
                                           std::uint32_t shared_low_bits) noexcept;

/// Where the rows of one side are drawn when it is the build side.
struct SideAddress {
  bool direct = false;
  shaders::KeyAddress address{};
  vulkan::ImageShape image;
};

/// Range of the keys of one side of a slice.
struct SideShape {
  std::uint64_t rows = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint32_t shared_low_bits = 0;
};

/// Addresses of `side` as build side. Automatic: direct when the key range fits the image and is at most 8 × the rows,
/// or at most 2^16 pixels, which cost less to clear than clashes cost to resolve. Nothing when direct addresses are
/// asked for and the range does not fit.
std::optional<SideAddress> choose_address(SideShape const& side, Address address, GraphicsLimits const& limits);

/// Predicted cost of one strategy, in points that overwrite random pixels. `clashes`: statistics of the build side.
/// `pixels`: of its image.
double stack_cost(std::uint64_t build_rows, std::uint64_t probe_rows, shaders::ClashStatistics const& clashes,
                  std::uint64_t pixels, RasterCosts const& costs = {}) noexcept;
double runs_cost(std::uint64_t build_rows, std::uint64_t probe_rows, shaders::ClashStatistics const& clashes,
                 std::uint64_t pixels, RasterCosts const& costs = {}) noexcept;

/// The least that building on a side can cost, whatever its statistics say: a stack of one image, or runs.
double least_cost(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint64_t pixels,
                  RasterCosts const& costs = {}) noexcept;

/// The storage for a build side and what it costs.
struct StorageChoice {
  Storage storage = Storage::stack;
  double cost = 0;
};

/// Automatic: the cheaper one, a stack when both cost the same; a stack when the probe that is asked for instances
/// layers.
StorageChoice choose_storage(std::uint64_t build_rows, std::uint64_t probe_rows,
                             shaders::ClashStatistics const& clashes, std::uint64_t pixels, JoinTuning const& tuning,
                             RasterCosts const& costs = {});

/// Automatic: `output` when drawing every output row, with its search, is cheaper than `layers` instances of every
/// probe row, most of which are clipped. Runs are always probed by output.
Probe choose_probe(Storage storage, std::uint64_t probe_rows, std::uint64_t layers, std::uint64_t output_rows,
                   Probe asked, RasterCosts const& costs = {}) noexcept;

/// Bytes of an output position of a window, on the device and in its copy for the host.
inline constexpr std::uint64_t kWindowBytes = 16;

/// Images of one stack slice: the limit of stacks, the device's, and what `budget_bytes` of memory and the largest
/// image hold; at least 1.
std::uint32_t layers_per_slice(vulkan::ImageShape const& image, std::uint32_t key_bits, std::uint64_t layers,
                               std::uint64_t budget_bytes, GraphicsLimits const& limits) noexcept;

/// Device memory that a slice of these sizes takes at most, without the images of a stack beyond the first. Bytes.
std::uint64_t slice_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                          GraphicsLimits const& limits) noexcept;

/// See JoinRow::offers. Errors: those of graphics_limits.
Result<contract::JoinOffers> graphics_join_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::graphics
