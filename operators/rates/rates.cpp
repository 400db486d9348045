#include "operators/rates/rates.hpp"

#include <algorithm>
#include <cmath>

#include "garuda/error.hpp"

namespace garuda::rates {
namespace {

constexpr std::array kDeviceFields{
    RateField<DeviceRates>{"random_points", "points/s", &DeviceRates::random_points_per_s},
    RateField<DeviceRates>{"ordered_points", "points/s", &DeviceRates::ordered_points_per_s},
    RateField<DeviceRates>{"random_blends", "points/s", &DeviceRates::random_blends_per_s, true},
    RateField<DeviceRates>{"ordered_blends", "points/s", &DeviceRates::ordered_blends_per_s, true},
    RateField<DeviceRates>{"clipped_points", "points/s", &DeviceRates::clipped_points_per_s},
    RateField<DeviceRates>{"cleared_pixels", "pixels/s", &DeviceRates::cleared_pixels_per_s},
    RateField<DeviceRates>{"streamed_bytes", "bytes/s", &DeviceRates::streamed_bytes_per_s},
    RateField<DeviceRates>{"random_reads", "words/s", &DeviceRates::random_reads_per_s},
    RateField<DeviceRates>{"atomics", "words/s", &DeviceRates::atomics_per_s},
    RateField<DeviceRates>{"comparisons", "pairs/s", &DeviceRates::comparisons_per_s, true},
    RateField<DeviceRates>{"submission", "ns", &DeviceRates::submission_ns},
    RateField<DeviceRates>{"upload_stage", "bytes/s", &DeviceRates::stage_bytes_per_s},
    RateField<DeviceRates>{"upload_stage_call", "ns", &DeviceRates::stage_call_ns, true},
    RateField<DeviceRates>{"upload_import", "bytes/s", &DeviceRates::import_bytes_per_s, true},
    RateField<DeviceRates>{"upload_import_call", "ns", &DeviceRates::import_call_ns, true},
    RateField<DeviceRates>{"upload_map", "bytes/s", &DeviceRates::map_bytes_per_s, true},
    RateField<DeviceRates>{"upload_map_call", "ns", &DeviceRates::map_call_ns, true},
    RateField<DeviceRates>{"download", "bytes/s", &DeviceRates::download_bytes_per_s},
    RateField<DeviceRates>{"lane", "ns", &DeviceRates::lane_ns},
    RateField<DeviceRates>{"team_upload", "bytes/s", &DeviceRates::team_upload_bytes_per_s, true},
    RateField<DeviceRates>{"team_download", "bytes/s", &DeviceRates::team_download_bytes_per_s, true},
    RateField<DeviceRates>{"small_random_points", "points/s", &DeviceRates::small_random_points_per_s, true},
    RateField<DeviceRates>{"small_ordered_points", "points/s", &DeviceRates::small_ordered_points_per_s, true},
    RateField<DeviceRates>{"small_random_blends", "points/s", &DeviceRates::small_random_blends_per_s, true},
    RateField<DeviceRates>{"small_ordered_blends", "points/s", &DeviceRates::small_ordered_blends_per_s, true},
    RateField<DeviceRates>{"small_random_reads", "words/s", &DeviceRates::small_random_reads_per_s, true},
    RateField<DeviceRates>{"cached_reads", "words/s", &DeviceRates::cached_reads_per_s, true},
    RateField<DeviceRates>{"cached_atomics", "words/s", &DeviceRates::cached_atomics_per_s, true}};

constexpr std::array kHostFields{RateField<HostRates>{"copy", "bytes/s", &HostRates::copy_bytes_per_s},
                                 RateField<HostRates>{"encode", "keys/s", &HostRates::encoded_keys_per_s},
                                 RateField<HostRates>{"query", "ns", &HostRates::query_ns},
                                 RateField<HostRates>{"slice", "ns", &HostRates::slice_ns}};

constexpr std::array kHostCurves{
    CurveField<HostRates>{"partition", "rows/s", "partitions", &HostRates::partitioned_rows},
    CurveField<HostRates>{"gather", "values/s", "bytes of the column", &HostRates::gathered_values},
    CurveField<HostRates>{"build", "rows/s", "rows of the table", &HostRates::built_rows},
    CurveField<HostRates>{"probe", "rows/s", "rows of the table", &HostRates::probed_rows},
    CurveField<HostRates>{"build_dense", "rows/s", "rows of the table", &HostRates::built_dense_rows},
    CurveField<HostRates>{"probe_dense", "rows/s", "rows of the table", &HostRates::probed_dense_rows},
    CurveField<HostRates>{"direct", "rows/s", "groups", &HostRates::direct_rows},
    CurveField<HostRates>{"direct_groups", "groups/s", "groups", &HostRates::direct_groups},
    CurveField<HostRates>{"local", "rows/s", "groups", &HostRates::local_rows},
    CurveField<HostRates>{"local_groups", "groups/s", "groups", &HostRates::local_groups},
    CurveField<HostRates>{"partitioned", "rows/s", "groups", &HostRates::partitioned_rows_grouped},
    CurveField<HostRates>{"partitioned_groups", "groups/s", "groups", &HostRates::partitioned_groups},
    CurveField<HostRates>{"aggregate", "rows/s", "groups", &HostRates::aggregated_rows}};

bool is_rate(double value, bool optional) noexcept {
  return std::isfinite(value) && (value > 0 || (optional && value == 0));
}

bool is_sane(RateCurve const& curve) noexcept {
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (!is_rate(curve.points[i].size, false) || !is_rate(curve.points[i].per_s, false)) return false;
    if (i > 0 && !(curve.points[i - 1].size < curve.points[i].size)) return false;
  }
  return !curve.points.empty();
}

template <class Rates>
bool fields_are_sane(Rates const& rates, std::span<RateField<Rates> const> fields) noexcept {
  return std::ranges::all_of(fields, [&](auto const& field) { return is_rate(rates.*field.value, field.optional); });
}

RateCurve scaled(std::vector<RateCurve::Point> points, double factor) {
  for (auto& point : points) point.per_s *= factor;
  return {std::move(points)};
}

}  // namespace

DeviceRates rates_of_slices(DeviceRates rates, double slice_rows) {
  constexpr double kLargeFactor = 16;
  auto const beyond = std::max(slice_rows / static_cast<double>(kSmallDrawPoints), 1.0);
  auto const share = std::min(std::log(beyond) / std::log(kLargeFactor), 1.0);
  auto const mix = [&](double& rate, double small) {
    if (rate > 0 && small > 0) rate = small * std::pow(rate / small, share);
  };
  mix(rates.random_points_per_s, rates.small_random_points_per_s);
  mix(rates.ordered_points_per_s, rates.small_ordered_points_per_s);
  mix(rates.random_blends_per_s, rates.small_random_blends_per_s);
  mix(rates.ordered_blends_per_s, rates.small_ordered_blends_per_s);
  mix(rates.random_reads_per_s, rates.small_random_reads_per_s);
  return rates;
}

double RateCurve::at(double size) const {
  GARUDA_EXPECTS(!points.empty());
  if (size <= points.front().size) return points.front().per_s;
  if (size >= points.back().size) return points.back().per_s;
  auto const above = std::ranges::upper_bound(points, size, {}, [](Point const& point) { return point.size; });
  auto const below = std::prev(above);
  auto const share = std::log(size / below->size) / std::log(above->size / below->size);
  return below->per_s * std::pow(above->per_s / below->per_s, share);
}

std::span<RateField<DeviceRates> const> device_rate_fields() noexcept { return kDeviceFields; }
std::span<RateField<HostRates> const> host_rate_fields() noexcept { return kHostFields; }
std::span<CurveField<HostRates> const> host_curve_fields() noexcept { return kHostCurves; }

bool are_sane(DeviceRates const& rates) noexcept { return fields_are_sane(rates, device_rate_fields()); }

bool are_sane(HostRates const& rates) noexcept {
  return rates.threads > 0 && fields_are_sane(rates, host_rate_fields()) &&
         std::ranges::all_of(kHostCurves, [&](auto const& field) { return is_sane(rates.*field.curve); });
}

DeviceRates default_device_rates(vk::DeviceType type) {
  switch (type) {
    case vk::DeviceType::discrete:
      // Points, clears: measured on an H200, a data-centre part that rasterises slowly for its class. The rest: assumed
      // of a small discrete GPU behind eight lanes of PCIe 4.
      return {.random_points_per_s = 0.59e9,
              .ordered_points_per_s = 0.59e9,
              .random_blends_per_s = 0.58e9,
              .ordered_blends_per_s = 0.58e9,
              .clipped_points_per_s = 1.7e9,
              .cleared_pixels_per_s = 7e9,
              .streamed_bytes_per_s = 200e9,
              .random_reads_per_s = 2e9,
              .atomics_per_s = 2e9,
              .submission_ns = 20e3,
              .stage_bytes_per_s = 6e9,
              .stage_call_ns = 30e3,
              .import_bytes_per_s = 12e9,
              .import_call_ns = 100e3,
              .download_bytes_per_s = 12e9,
              .lane_ns = 5e6,
              .cached_reads_per_s = 10e9,
              .cached_atomics_per_s = 10e9};
    case vk::DeviceType::cpu:
      // Lavapipe (Mesa 22.3.6) on two cores of an x86-64 virtual machine.
      return {.random_points_per_s = 2.4e6,
              .ordered_points_per_s = 5e6,
              .random_blends_per_s = 2.6e6,
              .ordered_blends_per_s = 5e6,
              .clipped_points_per_s = 10e6,
              .cleared_pixels_per_s = 0.2e9,
              .streamed_bytes_per_s = 4e9,
              .random_reads_per_s = 20e6,
              .atomics_per_s = 20e6,
              .submission_ns = 50e3,
              .stage_bytes_per_s = 5e9,
              .stage_call_ns = 30e3,
              .import_bytes_per_s = 17e9,
              .import_call_ns = 60e3,
              .map_bytes_per_s = 5e9,
              .map_call_ns = 5e3,
              .download_bytes_per_s = 5e9,
              .lane_ns = 1e6,
              .small_random_points_per_s = 6.6e6,
              .small_ordered_points_per_s = 8.5e6,
              .small_random_blends_per_s = 7e6,
              .small_ordered_blends_per_s = 9e6,
              .small_random_reads_per_s = 30e6};
    case vk::DeviceType::integrated:
    case vk::DeviceType::virtual_gpu:
    case vk::DeviceType::other:
      break;
  }
  // Assumed: a small integrated GPU.
  return {.random_points_per_s = 0.05e9,
          .ordered_points_per_s = 0.1e9,
          .random_blends_per_s = 0.05e9,
          .ordered_blends_per_s = 0.1e9,
          .clipped_points_per_s = 0.2e9,
          .cleared_pixels_per_s = 1e9,
          .streamed_bytes_per_s = 20e9,
          .random_reads_per_s = 0.2e9,
          .atomics_per_s = 0.2e9,
          .submission_ns = 50e3,
          .stage_bytes_per_s = 5e9,
          .stage_call_ns = 30e3,
          .import_bytes_per_s = 10e9,
          .import_call_ns = 60e3,
          .map_bytes_per_s = 10e9,
          .map_call_ns = 5e3,
          .download_bytes_per_s = 10e9,
          .lane_ns = 2e6};
}

HostRates default_host_rates(std::uint32_t threads) {
  // A thread of two of an AMD EPYC (Zen 4, 1 MiB of second-level, 32 MiB of last-level cache), 2026-11-21.
  double const n = threads;
  HostRates rates;
  rates.threads = threads;
  rates.copy_bytes_per_s = 12e9;
  rates.encoded_keys_per_s = 800e6 * n;
  rates.query_ns = 130e3;
  rates.slice_ns = 530;
  rates.partitioned_rows = scaled({{4, 438e6}, {256, 394e6}, {1024, 290e6}, {4096, 218e6}, {16384, 189e6}}, n);
  rates.gathered_values = scaled({{1048576, 1250e6}, {8388608, 750e6}, {33554432, 160e6}, {134217728, 110e6}}, n);
  rates.built_rows =
      scaled({{1024, 260e6}, {65536, 250e6}, {262144, 225e6}, {1048576, 110e6}, {2097152, 110e6}, {4194304, 84e6}}, n);
  rates.probed_rows =
      scaled({{1024, 185e6}, {65536, 183e6}, {262144, 167e6}, {1048576, 103e6}, {2097152, 93e6}, {4194304, 70e6}}, n);
  rates.built_dense_rows = scaled(
      {{1024, 1100e6}, {65536, 1000e6}, {262144, 650e6}, {1048576, 385e6}, {2097152, 370e6}, {4194304, 100e6}}, n);
  rates.probed_dense_rows = scaled({{1024, 630e6},
                                    {65536, 640e6},
                                    {262144, 480e6},
                                    {1048576, 360e6},
                                    {2097152, 290e6},
                                    {4194304, 133e6},
                                    {8388608, 102e6}},
                                   n);
  rates.direct_rows = scaled({{64, 270e6}, {32768, 240e6}, {262144, 240e6}, {1048576, 130e6}}, n);
  // Each thread has its own groups, which all are merged: more threads do not make that quicker.
  rates.direct_groups = scaled({{32768, 40e6}, {262144, 44e6}, {1048576, 70e6}}, 1);
  rates.local_rows = scaled({{64, 245e6}, {4096, 205e6}, {32768, 135e6}, {262144, 120e6}, {1048576, 60e6}}, n);
  rates.local_groups = scaled({{32768, 14e6}, {262144, 24e6}, {1048576, 90e6}}, 1);
  rates.partitioned_rows_grouped = scaled({{64, 185e6}, {4096, 146e6}, {32768, 110e6}, {1048576, 91e6}}, n);
  rates.partitioned_groups = scaled({{32768, 21e6}, {262144, 36e6}, {1048576, 96e6}}, n);
  rates.aggregated_rows = scaled({{64, 840e6}, {32768, 465e6}, {262144, 300e6}, {1048576, 100e6}}, n);
  return rates;
}

UploadRate upload_rate(DeviceRates const& rates, vk::UploadMode mode) noexcept {
  switch (mode) {
    case vk::UploadMode::map:
      return {rates.map_bytes_per_s, rates.map_call_ns};
    case vk::UploadMode::import_host:
      return {rates.import_bytes_per_s, rates.import_call_ns};
    case vk::UploadMode::stage:
      break;
  }
  return {rates.stage_bytes_per_s, rates.stage_call_ns};
}

}  // namespace garuda::rates
