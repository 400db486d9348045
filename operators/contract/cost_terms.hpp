// Terms that the costs of several operators are made of: nanoseconds of so many rows, points or bytes at a rate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/contract/cost_model.hpp"
#include "operators/rates/rates.hpp"

namespace garuda::contract {

inline constexpr double kNs = 1e9;
/// Bytes of (key, row id) that the partitioner's rate was measured with.
inline constexpr double kMeasuredRowBytes = 8;
/// Starting a thread that copies, with its staging memory.
inline constexpr double kCopyThreadNs = 0.3e6;

inline double partitions(std::uint32_t bits) { return static_cast<double>(std::uint64_t{1} << bits); }

inline double encode_ns(double keys, rates::HostRates const& host) { return keys / host.encoded_keys_per_s * kNs; }

inline double partition_ns(double rows, double row_bytes, std::uint32_t bits, rates::HostRates const& host) {
  if (bits == 0) return 0;
  return rows / host.partitioned_rows.at(partitions(bits)) * (row_bytes / kMeasuredRowBytes) * kNs;
}

inline double clear_ns(double pixels, rates::DeviceRates const& rates) {
  return pixels / rates.cleared_pixels_per_s * kNs;
}
inline double stream_ns(double bytes, rates::DeviceRates const& rates) {
  return bytes / rates.streamed_bytes_per_s * kNs;
}
inline double read_ns(double reads, rates::DeviceRates const& rates) { return reads / rates.random_reads_per_s * kNs; }
inline double atomic_ns(double atomics, rates::DeviceRates const& rates) { return atomics / rates.atomics_per_s * kNs; }
inline double random_ns(double points, rates::DeviceRates const& rates) {
  return points / rates.random_points_per_s * kNs;
}
inline double ordered_ns(double points, rates::DeviceRates const& rates) {
  return points / rates.ordered_points_per_s * kNs;
}
inline double clipped_ns(double points, rates::DeviceRates const& rates) {
  return points / rates.clipped_points_per_s * kNs;
}
/// Where nothing blends, counts and sums are compute passes with atomics.
inline double random_blend_ns(double points, rates::DeviceRates const& rates) {
  return rates.random_blends_per_s > 0 ? points / rates.random_blends_per_s * kNs : atomic_ns(points, rates);
}
inline double ordered_blend_ns(double points, rates::DeviceRates const& rates) {
  return rates.ordered_blends_per_s > 0 ? points / rates.ordered_blends_per_s * kNs : atomic_ns(points, rates);
}

inline double upload_ns(double bytes, DeviceCut const& cut, rates::DeviceRates const& rates) {
  auto const rate = rates::upload_rate(rates, cut.upload);
  return rate.ns(bytes) + rate.call_ns * static_cast<double>(2 * cut.slices - 1);
}

/// `a_slice`: submissions of a slice, each waited for. Lanes wait side by side.
inline double submissions_ns(double a_slice, DeviceCut const& cut, rates::DeviceRates const& rates) {
  return a_slice * static_cast<double>(cut.slices) / std::min<double>(cut.lanes, static_cast<double>(cut.slices)) *
         rates.submission_ns;
}

/// Bytes a second of so many host threads that copy side by side, each alone at a rate: at most as fast as a team was
/// measured to be, or where it was not (0), as the host copies.
inline double team_bytes_per_s(double alone_per_s, double team_per_s, std::uint32_t threads,
                               rates::HostRates const& host) {
  auto const most = team_per_s > 0 ? team_per_s : host.copy_bytes_per_s / 2;
  return std::max(std::min(alone_per_s * threads, most), alone_per_s);
}

inline double open_ns(DeviceCut const& cut, rates::DeviceRates const& rates) { return cut.lanes * rates.lane_ns; }

}  // namespace garuda::contract
