#include "operators/rates/rates.hpp"

#include <algorithm>
#include <cmath>

#include "garuda/error.hpp"

namespace garuda::rates {
namespace {

// Rates of kinds of devices that were not measured stand behind each field. Discrete GPUs: points and clears were
// measured on an H200, a data-centre part that rasterises slowly for its class; the rest is assumed of a small GPU
// behind eight lanes of PCIe 4. Software devices: lavapipe (Mesa 22.3.6) on two cores of an x86-64 virtual machine.
// Others: a small integrated GPU is assumed.
constexpr RateField<DeviceRates> kDeviceFields[]{
    {"random_points", "points/s", &DeviceRates::random_points_per_s, false, {0.59e9, 2.4e6, 0.05e9}},
    {"ordered_points", "points/s", &DeviceRates::ordered_points_per_s, false, {0.59e9, 5e6, 0.1e9}},
    {"random_blends", "points/s", &DeviceRates::random_blends_per_s, true, {0.58e9, 2.6e6, 0.05e9}},
    {"ordered_blends", "points/s", &DeviceRates::ordered_blends_per_s, true, {0.58e9, 5e6, 0.1e9}},
    {"clipped_points", "points/s", &DeviceRates::clipped_points_per_s, false, {1.7e9, 10e6, 0.2e9}},
    {"cleared_pixels", "pixels/s", &DeviceRates::cleared_pixels_per_s, false, {7e9, 0.2e9, 1e9}},
    {"streamed_bytes", "bytes/s", &DeviceRates::streamed_bytes_per_s, false, {200e9, 4e9, 20e9}},
    {"random_reads", "words/s", &DeviceRates::random_reads_per_s, false, {2e9, 20e6, 0.2e9}},
    {"atomics", "words/s", &DeviceRates::atomics_per_s, false, {2e9, 20e6, 0.2e9}},
    {"comparisons", "pairs/s", &DeviceRates::comparisons_per_s, true},
    {"submission", "ns", &DeviceRates::submission_ns, false, {20e3, 50e3, 50e3}},
    {"upload_stage", "bytes/s", &DeviceRates::stage_bytes_per_s, false, {6e9, 5e9, 5e9}},
    {"upload_stage_call", "ns", &DeviceRates::stage_call_ns, true, {30e3, 30e3, 30e3}},
    {"upload_import", "bytes/s", &DeviceRates::import_bytes_per_s, true, {12e9, 17e9, 10e9}},
    {"upload_import_call", "ns", &DeviceRates::import_call_ns, true, {100e3, 60e3, 60e3}},
    {"upload_map", "bytes/s", &DeviceRates::map_bytes_per_s, true, {0, 5e9, 10e9}},
    {"upload_map_call", "ns", &DeviceRates::map_call_ns, true, {0, 5e3, 5e3}},
    {"download", "bytes/s", &DeviceRates::download_bytes_per_s, false, {12e9, 5e9, 10e9}},
    {"lane", "ns", &DeviceRates::lane_ns, false, {5e6, 1e6, 2e6}},
    {"team_upload", "bytes/s", &DeviceRates::team_upload_bytes_per_s, true},
    {"team_download", "bytes/s", &DeviceRates::team_download_bytes_per_s, true},
    {"small_random_points", "points/s", &DeviceRates::small_random_points_per_s, true, {0, 6.6e6, 0}},
    {"small_ordered_points", "points/s", &DeviceRates::small_ordered_points_per_s, true, {0, 8.5e6, 0}},
    {"small_random_blends", "points/s", &DeviceRates::small_random_blends_per_s, true, {0, 7e6, 0}},
    {"small_ordered_blends", "points/s", &DeviceRates::small_ordered_blends_per_s, true, {0, 9e6, 0}},
    {"small_random_reads", "words/s", &DeviceRates::small_random_reads_per_s, true, {0, 30e6, 0}},
    {"cached_reads", "words/s", &DeviceRates::cached_reads_per_s, true, {10e9, 0, 0}},
    {"cached_atomics", "words/s", &DeviceRates::cached_atomics_per_s, true, {10e9, 0, 0}}};

constexpr RateField<HostRates> kHostFields[]{{"copy", "bytes/s", &HostRates::copy_bytes_per_s},
                                             {"encode", "keys/s", &HostRates::encoded_keys_per_s},
                                             {"query", "ns", &HostRates::query_ns},
                                             {"slice", "ns", &HostRates::slice_ns}};

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
std::span<CurveField<HostRates> const> host_curve_fields() {
  // Assumed of a host that was not measured: a thread of two of an AMD EPYC (Zen 4, 1 MiB of second-level, 32 MiB of
  // last-level cache), 2026-11-21. Where each thread has its own groups, which all are merged, more threads do not make
  // that quicker.
  static std::vector<CurveField<HostRates>> const curves{
      {"partition",
       "rows/s",
       "partitions",
       &HostRates::partitioned_rows,
       true,
       {{4, 438e6}, {256, 394e6}, {1024, 290e6}, {4096, 218e6}, {16384, 189e6}}},
      {"gather",
       "values/s",
       "bytes of the column",
       &HostRates::gathered_values,
       true,
       {{1048576, 1250e6}, {8388608, 750e6}, {33554432, 160e6}, {134217728, 110e6}}},
      {"build",
       "rows/s",
       "rows of the table",
       &HostRates::built_rows,
       true,
       {{1024, 260e6}, {65536, 250e6}, {262144, 225e6}, {1048576, 110e6}, {2097152, 110e6}, {4194304, 84e6}}},
      {"probe",
       "rows/s",
       "rows of the table",
       &HostRates::probed_rows,
       true,
       {{1024, 185e6}, {65536, 183e6}, {262144, 167e6}, {1048576, 103e6}, {2097152, 93e6}, {4194304, 70e6}}},
      {"build_dense",
       "rows/s",
       "rows of the table",
       &HostRates::built_dense_rows,
       true,
       {{1024, 1100e6}, {65536, 1000e6}, {262144, 650e6}, {1048576, 385e6}, {2097152, 370e6}, {4194304, 100e6}}},
      {"probe_dense",
       "rows/s",
       "rows of the table",
       &HostRates::probed_dense_rows,
       true,
       {{1024, 630e6},
        {65536, 640e6},
        {262144, 480e6},
        {1048576, 360e6},
        {2097152, 290e6},
        {4194304, 133e6},
        {8388608, 102e6}}},
      {"direct",
       "rows/s",
       "groups",
       &HostRates::direct_rows,
       true,
       {{64, 270e6}, {32768, 240e6}, {262144, 240e6}, {1048576, 130e6}}},
      {"direct_groups",
       "groups/s",
       "groups",
       &HostRates::direct_groups,
       false,
       {{32768, 40e6}, {262144, 44e6}, {1048576, 70e6}}},
      {"local",
       "rows/s",
       "groups",
       &HostRates::local_rows,
       true,
       {{64, 245e6}, {4096, 205e6}, {32768, 135e6}, {262144, 120e6}, {1048576, 60e6}}},
      {"local_groups",
       "groups/s",
       "groups",
       &HostRates::local_groups,
       false,
       {{32768, 14e6}, {262144, 24e6}, {1048576, 90e6}}},
      {"partitioned",
       "rows/s",
       "groups",
       &HostRates::partitioned_rows_grouped,
       true,
       {{64, 185e6}, {4096, 146e6}, {32768, 110e6}, {1048576, 91e6}}},
      {"partitioned_groups",
       "groups/s",
       "groups",
       &HostRates::partitioned_groups,
       true,
       {{32768, 21e6}, {262144, 36e6}, {1048576, 96e6}}},
      {"aggregate",
       "rows/s",
       "groups",
       &HostRates::aggregated_rows,
       true,
       {{64, 840e6}, {32768, 465e6}, {262144, 300e6}, {1048576, 100e6}}}};
  return curves;
}

bool are_sane(DeviceRates const& rates) noexcept { return fields_are_sane(rates, device_rate_fields()); }

bool are_sane(HostRates const& rates) noexcept {
  return rates.threads > 0 && fields_are_sane(rates, host_rate_fields()) &&
         std::ranges::all_of(host_curve_fields(), [&](auto const& field) { return is_sane(rates.*field.curve); });
}

DeviceRates default_device_rates(vk::DeviceType type) {
  auto const kind = type == vk::DeviceType::discrete ? 0U : type == vk::DeviceType::cpu ? 1U : 2U;
  DeviceRates rates;
  for (auto const& field : kDeviceFields) rates.*field.value = field.assumed[kind];
  return rates;
}

HostRates default_host_rates(std::uint32_t threads) {
  HostRates rates;
  rates.threads = threads;
  rates.copy_bytes_per_s = 12e9;
  rates.encoded_keys_per_s = 800e6 * threads;
  rates.query_ns = 130e3;
  rates.slice_ns = 530;
  for (auto const& field : host_curve_fields()) {
    auto& points = (rates.*field.curve).points = field.assumed;
    for (auto& point : points) point.per_s *= field.by_thread ? threads : 1;
  }
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
