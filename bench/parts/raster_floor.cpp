#include "bench/parts/raster_floor.hpp"

#include <algorithm>
#include <string>

#include "bench/parts/vulkan_device.hpp"

namespace garuda::bench {
namespace {

using calibrate::PixelOrder;
using calibrate::PointTarget;

std::uint64_t points_in(RunStats const& stats, std::string_view phase) {
  std::uint64_t points = 0;
  for (auto const& one : stats.phases)
    if (one.name == phase) points += one.items;
  return points;
}

bool has_counter(RunStats const& stats, std::string_view name) {
  return std::ranges::any_of(stats.counters, [&](auto const& one) { return one.first == name && one.second > 0; });
}

}  // namespace

std::uint64_t point_bytes(PointTarget target, std::uint64_t points) noexcept {
  return points * sizeof(std::uint32_t) * (1 + calibrate::words_per_pixel(target));
}

std::vector<DrawnPoints> points_of_join(Plan const& plan, RunStats const& stats) {
  auto const hashed = plan.key_bits == 32 ? PointTarget::overwrite_2 : PointTarget::overwrite_4;
  // Slices whose rows are runs overwrite (first, count) where others add to the CountFBO.
  auto const counted = has_counter(stats, "run_slices") ? PointTarget::overwrite_2 : PointTarget::add;
  std::vector<DrawnPoints> drawn{{"statistics", PointTarget::add, PixelOrder::random},
                                 {"build", hashed, PixelOrder::random},
                                 {"count", counted, PixelOrder::ordered},
                                 {"probe", PointTarget::overwrite_2, PixelOrder::ordered}};
  for (auto& one : drawn) one.points = points_in(stats, one.phase);
  std::erase_if(drawn, [](DrawnPoints const& one) { return one.points == 0; });
  return drawn;
}

Result<std::vector<PhaseStats>> raster_floor(std::string_view device, std::vector<DrawnPoints> const& drawn) {
  GARUDA_TRY_ASSIGN(auto const opened, open_lane(device, "bench draws"));
  Control const control;
  calibrate::MeasuringTime const time(control, calibrate::kMostMeasuring, false);
  std::vector<PhaseStats> phases;
  for (auto const& one : drawn) {
    GARUDA_TRY_ASSIGN(auto const per_s,
                      calibrate::measure_points(*opened.lane, *opened.pipelines, one.target, one.order, time, 1));
    GARUDA_TRY(opened.lane->reset());
    auto const ns = static_cast<std::uint64_t>(static_cast<double>(one.points) / per_s * 1e9);
    phases.push_back({std::string(one.phase), ns, point_bytes(one.target, one.points), one.points});
  }
  return phases;
}

}  // namespace garuda::bench
