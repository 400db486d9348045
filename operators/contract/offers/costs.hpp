// Estimates of cost: nanoseconds a phase of every strategy, and the terms that they are made of: so many rows, points
// or bytes at a rate. The costs of a strategy stand beside its kernel. All of them are pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operators/contract/offers/machine.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::contract {

/// Estimates by phase, named as the phases of a run.
using PhaseCosts = std::vector<std::pair<std::string, double>>;
double total_ns(PhaseCosts const& costs);

/// How a device cuts the work of a join or a group-by.
struct DeviceCut {
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slices = 1;
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  double pixels = 0;                             ///< of all hash images together, one layer each
  vk::UploadMode upload = vk::UploadMode::stage;
};

/// The way to upload that takes least for slices of `bytes` bytes, of those that the device has: where it reads host
/// memory in place, that.
vk::UploadMode cheapest_upload(rates::DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes);

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
