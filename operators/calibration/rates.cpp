#include "operators/calibration/rates.hpp"

#include <algorithm>
#include <cmath>

#include "garuda/error.hpp"

namespace garuda::calibration {
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
    RateField<DeviceRates>{"submission", "ns", &DeviceRates::submission_ns},
    RateField<DeviceRates>{"upload_stage", "bytes/s", &DeviceRates::stage_bytes_per_s},
    RateField<DeviceRates>{"upload_stage_call", "ns", &DeviceRates::stage_call_ns, true},
    RateField<DeviceRates>{"upload_import", "bytes/s", &DeviceRates::import_bytes_per_s, true},
    RateField<DeviceRates>{"upload_import_call", "ns", &DeviceRates::import_call_ns, true},
    RateField<DeviceRates>{"upload_map", "bytes/s", &DeviceRates::map_bytes_per_s, true},
    RateField<DeviceRates>{"upload_map_call", "ns", &DeviceRates::map_call_ns, true},
    RateField<DeviceRates>{"download", "bytes/s", &DeviceRates::download_bytes_per_s},
    RateField<DeviceRates>{"lane", "ns", &DeviceRates::lane_ns}};

constexpr std::array kHostFields{RateField<HostRates>{"copy", "bytes/s", &HostRates::copy_bytes_per_s},
                                 RateField<HostRates>{"encode", "keys/s", &HostRates::encoded_keys_per_s},
                                 RateField<HostRates>{"slice", "ns", &HostRates::slice_ns}};

constexpr std::array kHostCurves{
    CurveField<HostRates>{"partition", "rows/s", "partitions", &HostRates::partitioned_rows},
    CurveField<HostRates>{"gather", "values/s", "bytes of the column", &HostRates::gathered_values},
    CurveField<HostRates>{"build", "rows/s", "rows of the table", &HostRates::built_rows},
    CurveField<HostRates>{"probe", "rows/s", "rows of the table", &HostRates::probed_rows},
    CurveField<HostRates>{"group", "rows/s", "groups", &HostRates::grouped_rows},
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
      return {0.59e9, 0.59e9, 0.58e9, 0.58e9, 1.7e9, 7e9, 200e9, 2e9,  2e9,
              20e3,   6e9,    30e3,   12e9,   100e3, 0,   0,     12e9, 5e6};
    case vk::DeviceType::cpu:
      // Lavapipe (Mesa 22.3.6) on two cores of an x86-64 virtual machine.
      return {2.4e6, 5e6, 2.6e6, 5e6, 10e6, 0.2e9, 4e9, 20e6, 20e6, 50e3, 5e9, 30e3, 0, 0, 5e9, 5e3, 5e9, 1e6};
    case vk::DeviceType::integrated:
    case vk::DeviceType::virtual_gpu:
    case vk::DeviceType::other:
      break;
  }
  // Assumed: a small integrated GPU.
  return {0.05e9, 0.1e9, 0.05e9, 0.1e9, 0.2e9, 1e9, 20e9, 0.2e9, 0.2e9, 50e3, 5e9, 30e3, 0, 0, 10e9, 5e3, 10e9, 2e6};
}

HostRates default_host_rates(std::uint32_t threads) {
  // A thread of two of an x86-64 virtual machine (1 MiB of second-level, 32 MiB of last-level cache).
  double const n = threads;
  HostRates rates;
  rates.threads = threads;
  rates.copy_bytes_per_s = 12e9;
  rates.encoded_keys_per_s = 400e6 * n;
  rates.slice_ns = 1200;
  rates.partitioned_rows = scaled({{4, 105e6}, {256, 140e6}, {4096, 105e6}, {16384, 75e6}}, n);
  rates.gathered_values = scaled({{131072, 490e6}, {8388608, 320e6}, {134217728, 48e6}}, n);
  rates.built_rows = scaled({{1024, 70e6}, {8192, 66e6}, {262144, 56e6}, {2097152, 34e6}}, n);
  rates.probed_rows = scaled({{1024, 60e6}, {8192, 57e6}, {262144, 36e6}, {2097152, 22e6}}, n);
  rates.grouped_rows = scaled({{16, 125e6}, {16384, 108e6}, {1048576, 70e6}}, n);
  rates.aggregated_rows = scaled({{16, 360e6}, {16384, 300e6}, {1048576, 75e6}}, n);
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

}  // namespace garuda::calibration
