#include "bench/parts/raster_floor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "garuda/join.hpp"

namespace garuda::bench {
namespace {

// Sparser keys than this are no case for direct addresses, and their images would not fit.
constexpr std::uint64_t kMaxDirectPixels = std::uint64_t{1} << 28;

// Counts of the most rows of a slice fit an image of this edge.
constexpr std::uint64_t kCountEdge = 4096;

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

// The keys of one side of a partition.
struct PartitionSide {
  Keys const& keys;
  std::int64_t smallest = 0;
  std::uint64_t num_pixels = 0;
};

Result<PartitionSide> side_of(Keys const& keys, std::uint32_t shift) {
  auto const [smallest, largest] = std::ranges::minmax(keys);
  auto const num_pixels = ((static_cast<std::uint64_t>(largest) - static_cast<std::uint64_t>(smallest)) >> shift) + 1;
  if (num_pixels > kMaxDirectPixels)
    return fail(ErrorCode::usage, fmt::format("keys too sparse for direct addresses: {} pixels", num_pixels));
  return PartitionSide{keys, smallest, num_pixels};
}

enum class RowOrder : std::uint8_t { ascending, descending };

// Points at the keys' direct addresses.
FloorPass keyed_pass(std::string name, PartitionSide const& side, std::uint32_t shift, RowOrder order,
                     calibrate::PointTarget target) {
  FloorPass pass{std::move(name), calibrate::image_for(side.num_pixels, target), {}};
  pass.pixels.reserve(side.keys.size());
  for (auto const key : side.keys)
    pass.pixels.push_back(static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(side.smallest)) >> shift));
  if (order == RowOrder::descending) std::ranges::reverse(pass.pixels);
  return pass;
}

FloorPass ordered_pass(std::string name, std::uint64_t num_points, calibrate::PointImage const& image) {
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

std::uint64_t counter_of(RunStats const& stats, std::string_view name) {
  std::uint64_t value = 0;
  for (auto const& [counter, count] : stats.counters)
    if (counter == name) value += count;
  return value;
}

// Deals `points` out to partitions in proportion to their rows; with unsliced dense keys every share is whole.
std::uint64_t share(std::uint64_t points, std::uint64_t rows, std::uint64_t all_rows) {
  return all_rows == 0 ? 0 : points / all_rows * rows + points % all_rows * rows / all_rows;
}

}  // namespace

Result<std::vector<FloorPass>> floor_passes(Table const& left_table, Table const& right_table,
                                            DirectLayout const& layout, DrawnPoints const& drawn) {
  auto const left = read_keys(left_table);
  auto const right = read_keys(right_table);
  GARUDA_TRY_ASSIGN(auto const statistics, sides_of("statistics", drawn.statistics, left.size(), right.size(), true));
  GARUDA_TRY_ASSIGN(auto const build, sides_of("build", drawn.build, left.size(), right.size(), true));
  auto const build_left = build.left || drawn.build == 0;
  GARUDA_TRY_ASSIGN(auto const count, sides_of("count", drawn.count, left.size(), right.size(), !build_left));
  auto const hash_target =
      layout.key_bits == 32 ? calibrate::PointTarget::overwrite_2 : calibrate::PointTarget::overwrite_4;
  auto const left_parts = partition_keys(left, layout.radix_bits);
  auto const right_parts = partition_keys(right, layout.radix_bits);

  auto const count_target = layout.runs ? calibrate::PointTarget::overwrite_2 : calibrate::PointTarget::add;

  std::vector<FloorPass> passes;
  for (std::size_t p = 0; p < left_parts.size(); ++p) {
    if (left_parts[p].empty() || right_parts[p].empty()) continue;
    GARUDA_TRY_ASSIGN(auto const l, side_of(left_parts[p], layout.radix_bits));
    GARUDA_TRY_ASSIGN(auto const r, side_of(right_parts[p], layout.radix_bits));
    auto const keyed = [&](char const* name, PartitionSide const& side, RowOrder order, calibrate::PointTarget target) {
      passes.push_back(keyed_pass(name, side, layout.radix_bits, order, target));
    };
    auto const ordered = [&](char const* name, std::uint64_t num_points, calibrate::PointTarget target,
                             std::uint64_t edge) {
      if (num_points > 0)
        passes.push_back(
            ordered_pass(name, num_points, calibrate::image_for(std::min(num_points, edge * edge), target)));
    };
    if (statistics.left) keyed("statistics", l, RowOrder::ascending, calibrate::PointTarget::add);
    if (statistics.right) keyed("statistics", r, RowOrder::ascending, calibrate::PointTarget::add);
    if (build.left) keyed("build", l, RowOrder::descending, hash_target);
    if (build.right) keyed("build", r, RowOrder::descending, hash_target);
    if (count.left) ordered("count", l.keys.size(), count_target, kCountEdge);
    if (count.right) ordered("count", r.keys.size(), count_target, kCountEdge);
    auto const probed =
        build_left ? share(drawn.probe, r.keys.size(), right.size()) : share(drawn.probe, l.keys.size(), left.size());
    ordered("probe", probed, calibrate::PointTarget::overwrite_2, layout.result_edge);
  }
  return passes;
}

namespace {

Result<std::vector<FloorPass>> passes_of(Workload const& workload, Plan const& plan, RunStats const& stats) {
  auto const* const group_by = workload.group_by();
  if (group_by != nullptr)
    return std::vector{FloorPass{"draw", calibrate::image_for(group_by->workload.groups, calibrate::PointTarget::add),
                                 groups_of(workload.tables()[0])}};
  GARUDA_TRY_ASSIGN(auto const tuning, parse_join_tuning(plan.tuning));
  auto const larger = std::max(workload.join()->rows_left, workload.join()->rows_right);
  if (counter_of(stats, "hash_slices") != 0 || plan.mixed_digit || plan.radix_shift != 0 || larger > plan.slice_rows)
    return fail(ErrorCode::usage, "bare draws equal only joins with direct addresses on unsliced, unmixed partitions");
  DirectLayout const layout{plan.radix_bits, tuning.result, plan.key_bits, counter_of(stats, "run_slices") != 0};
  DrawnPoints const drawn{items_of(stats, "statistics"), items_of(stats, "build"), items_of(stats, "count"),
                          items_of(stats, "probe")};
  return floor_passes(workload.tables()[0], workload.tables()[1], layout, drawn);
}

}  // namespace

Result<std::unique_ptr<BareDraws>> raster_floor(Workload const& workload, Plan const& plan, RunStats const& stats) {
  GARUDA_TRY_ASSIGN(auto const passes, passes_of(workload, plan, stats));
  return BareDraws::create(plan.device, passes);
}

}  // namespace garuda::bench
