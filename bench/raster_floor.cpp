#include "bench/raster_floor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>
#include <utility>

#include "bench/sampling.hpp"
#include "garuda/join.hpp"

namespace garuda::bench {
namespace {

// Sparser keys than this are no case for direct addresses, and their images would not fit.
constexpr std::uint64_t kMaxDirectPixels = std::uint64_t{1} << 28;

using Keys = std::vector<std::int64_t>;

Keys read_keys(Table const& table) {
  auto const& column = table.batches()[0].columns[0];
  Keys keys(static_cast<std::size_t>(column.length));
  if (table.schema()[0].type.id == TypeId::int32) {
    std::copy_n(column.data<std::int32_t>(), keys.size(), keys.begin());
  } else {
    std::copy_n(column.data<std::int64_t>(), keys.size(), keys.begin());
  }
  return keys;
}

// Rows of each partition keep their order, as the radix partition does.
std::vector<Keys> partition_keys(Keys const& keys, std::uint32_t radix_bits) {
  std::vector<Keys> partitions(std::size_t{1} << radix_bits);
  for (auto const key : keys) partitions[static_cast<std::uint64_t>(key) & (partitions.size() - 1)].push_back(key);
  return partitions;
}

// The least square or 2:1 image with at least `num_pixels` pixels.
PointImage image_for(std::uint64_t num_pixels, PointTarget target) {
  auto const bits = std::bit_width(std::max<std::uint64_t>(num_pixels, 1) - 1);
  return {1U << ((bits + 1) / 2), 1U << (bits / 2), target};
}

// Points at the keys' direct addresses, last row first.
FloorPass keyed_pass(std::string name, Keys const& keys, std::int64_t smallest, std::uint64_t num_pixels,
                     std::uint32_t shift, PointTarget target) {
  FloorPass pass{std::move(name), image_for(num_pixels, target), {}};
  pass.pixels.resize(keys.size());
  std::transform(keys.rbegin(), keys.rend(), pass.pixels.begin(), [&](std::int64_t key) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(key - smallest) >> shift);
  });
  return pass;
}

FloorPass ordered_pass(std::string name, std::uint64_t num_points, PointImage const& image) {
  FloorPass pass{std::move(name), image, std::vector<std::uint32_t>(num_points)};
  auto const num_pixels = image.num_pixels();
  for (std::uint64_t i = 0; i < num_points; ++i) pass.pixels[i] = static_cast<std::uint32_t>(i % num_pixels);
  return pass;
}

// Which sides a phase drew, from its number of points.
struct Sides {
  bool left = false;
  bool right = false;
};

Result<Sides> sides_of(std::string_view phase, std::uint64_t points, std::uint64_t rows_left, std::uint64_t rows_right,
                       bool prefer_left) {
  if (points == 0) return Sides{};
  if (points == rows_left + rows_right) return Sides{true, true};
  if (points == rows_left && (prefer_left || points != rows_right)) return Sides{true, false};
  if (points == rows_right) return Sides{false, true};
  return fail(ErrorCode::usage,
              fmt::format("no bare draws equal the {} phase of this join: {} points for {} and {} rows", phase, points,
                          rows_left, rows_right));
}

std::uint64_t items_of(RunStats const& stats, std::string_view phase) {
  std::uint64_t items = 0;
  for (auto const& entry : stats.phases)
    if (entry.name == phase) items += entry.items;
  return items;
}

// Deals `points` out to partitions in proportion to their rows; with unsliced dense keys every share is whole.
std::uint64_t share(std::uint64_t points, std::uint64_t rows, std::uint64_t all_rows) {
  return all_rows == 0 ? 0 : points / all_rows * rows + points % all_rows * rows / all_rows;
}

}  // namespace

Result<std::vector<FloorPass>> floor_passes(JoinTables const& tables, DirectLayout const& layout,
                                            DrawnPoints const& drawn) {
  auto const left = read_keys(tables.left);
  auto const right = read_keys(tables.right);
  GARUDA_TRY_ASSIGN(auto const statistics, sides_of("statistics", drawn.statistics, left.size(), right.size(), true));
  GARUDA_TRY_ASSIGN(auto const build, sides_of("build", drawn.build, left.size(), right.size(), true));
  auto const build_left = build.left || drawn.build == 0;
  GARUDA_TRY_ASSIGN(auto const count, sides_of("count", drawn.count, left.size(), right.size(), !build_left));
  auto const hash_target = layout.key_bits == 32 ? PointTarget::overwrite_2 : PointTarget::overwrite_4;
  auto const left_parts = partition_keys(left, layout.radix_bits);
  auto const right_parts = partition_keys(right, layout.radix_bits);

  std::vector<FloorPass> passes;
  for (std::size_t p = 0; p < left_parts.size(); ++p) {
    auto const& l = left_parts[p];
    auto const& r = right_parts[p];
    if (l.empty() || r.empty()) continue;
    auto const [min_l, max_l] = std::ranges::minmax(l);
    auto const [min_r, max_r] = std::ranges::minmax(r);
    auto const smallest = std::min(min_l, min_r);
    auto const num_pixels =
        ((static_cast<std::uint64_t>(std::max(max_l, max_r)) - static_cast<std::uint64_t>(smallest)) >>
         layout.radix_bits) +
        1;
    if (num_pixels > kMaxDirectPixels)
      return fail(ErrorCode::usage, fmt::format("keys too sparse for direct addresses: {} pixels", num_pixels));
    auto const keyed = [&](std::string name, Keys const& keys, PointTarget target) {
      passes.push_back(keyed_pass(std::move(name), keys, smallest, num_pixels, layout.radix_bits, target));
    };
    if (statistics.left) keyed("statistics", l, PointTarget::add);
    if (statistics.right) keyed("statistics", r, PointTarget::add);
    if (build.left) keyed("build", l, hash_target);
    if (build.right) keyed("build", r, hash_target);
    if (count.left) passes.push_back(ordered_pass("count", l.size(), image_for(l.size(), PointTarget::add)));
    if (count.right) passes.push_back(ordered_pass("count", r.size(), image_for(r.size(), PointTarget::add)));
    auto const probed =
        build_left ? share(drawn.probe, r.size(), right.size()) : share(drawn.probe, l.size(), left.size());
    PointImage const fbo{layout.result_edge, layout.result_edge, PointTarget::overwrite_2};
    auto const small = image_for(probed, PointTarget::overwrite_2);
    if (probed > 0)
      passes.push_back(ordered_pass("probe", probed, small.num_pixels() < fbo.num_pixels() ? small : fbo));
  }
  return passes;
}

Result<std::unique_ptr<RasterFloor>> RasterFloor::create(Plan const& plan, RunStats const& stats,
                                                         JoinTables const& tables) {
  GARUDA_TRY_ASSIGN(auto const tuning, parse_join_tuning(plan.tuning));
  auto const larger = static_cast<std::uint64_t>(std::max(tables.left.num_rows(), tables.right.num_rows()));
  if (tuning.address != Address::direct || plan.mixed_digit || plan.radix_shift != 0 || larger > plan.slice_rows)
    return fail(ErrorCode::usage, "bare draws equal only joins with direct addresses on unsliced, unmixed partitions");
  DirectLayout const layout{plan.radix_bits, std::bit_floor(tuning.result), plan.key_bits};
  DrawnPoints const drawn{items_of(stats, "statistics"), items_of(stats, "build"), items_of(stats, "count"),
                          items_of(stats, "probe")};
  GARUDA_TRY_ASSIGN(auto const passes, floor_passes(tables, layout, drawn));

  std::unique_ptr<RasterFloor> floor(new RasterFloor);
  GARUDA_TRY_ASSIGN(floor->opened_, open_device(plan.device));
  GARUDA_TRY_ASSIGN(floor->pipelines_, vk::PipelineStore::create(*floor->opened_.device, vk::default_cache_folder()));
  vk::LaneOptions options;
  options.name = "raster floor";
  GARUDA_TRY_ASSIGN(floor->lane_, vk::Lane::create(*floor->opened_.device, options));
  for (auto const& pass : passes) {
    GARUDA_TRY_ASSIGN(auto draw, PointDraw::create(*floor->lane_, *floor->pipelines_, pass.image, pass.pixels));
    floor->passes_.push_back({pass.name, std::move(draw), {}});
    GARUDA_TRY(floor->passes_.back().draw.run());
  }
  return floor;
}

Result<std::uint64_t> RasterFloor::run() {
  std::uint64_t total_ns = 0;
  for (auto& pass : passes_) {
    GARUDA_TRY_ASSIGN(auto const ns, pass.draw.run());
    pass.samples_ns.push_back(ns);
    total_ns += ns;
  }
  return total_ns;
}

std::uint64_t RasterFloor::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& pass : passes_)
    bytes += pass.draw.num_rows() * sizeof(std::uint32_t) * (1 + words_per_pixel(pass.draw.image().target));
  return bytes;
}

std::vector<PhaseStats> RasterFloor::median_phases() const {
  std::vector<PhaseStats> phases;
  for (auto const& pass : passes_) {
    auto found = std::ranges::find(phases, pass.name, &PhaseStats::name);
    if (found == phases.end()) found = phases.insert(phases.end(), PhaseStats{pass.name, 0, 0, 0});
    found->ns += summarise(pass.samples_ns).median_ns;
    found->bytes += pass.draw.num_rows() * sizeof(std::uint32_t) * (1 + words_per_pixel(pass.draw.image().target));
    found->items += pass.draw.num_rows();
  }
  return phases;
}

}  // namespace garuda::bench
