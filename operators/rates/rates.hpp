// Rates of a device and of the host, in units a second: the unit prices of the planner. Plain values; one table names
// each of them, for files, listings and checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::rates {

/// Rates of a Vulkan device. Optional ones are 0 where the device cannot do it.
struct DeviceRates {
  double random_points_per_s = 0;   ///< overwriting random pixels of an R32G32_UINT image
  double ordered_points_per_s = 0;  ///< the same, pixels in the order of the points
  double random_blends_per_s = 0;   ///< optional: adding to random pixels of an R32_SFLOAT image
  double ordered_blends_per_s = 0;  ///< optional
  double clipped_points_per_s = 0;  ///< points that the clipper drops: fetch and vertex stage alone
  double cleared_pixels_per_s = 0;
  double streamed_bytes_per_s = 0;  ///< read and written by a compute pass, both counted
  double random_reads_per_s = 0;    ///< compute: 4-byte words at random positions
  double atomics_per_s = 0;         ///< compute: additions to words at random positions
  /// Optional, 0 where it was not measured: words of 32 bits, each with each of another column, counted.
  double comparisons_per_s = 0;
  double submission_ns = 0;       ///< submitting and waiting for an empty submission
  double stage_bytes_per_s = 0;   ///< upload through staging segments, from pageable memory
  double stage_call_ns = 0;       ///< fixed part of such an upload
  double import_bytes_per_s = 0;  ///< optional: upload of imported pages
  double import_call_ns = 0;      ///< optional
  double map_bytes_per_s = 0;     ///< optional: the host writes mapped device memory
  double map_call_ns = 0;         ///< optional
  double download_bytes_per_s = 0;
  double lane_ns = 0;  ///< opening a lane with its first memory, and closing it
  // vk::kMostStreamingThreads threads, or all there are, that copy one way side by side through staging memory.
  // Optional: 0 where it was not measured.
  double team_upload_bytes_per_s = 0;
  double team_download_bytes_per_s = 0;
  // Rates that slices of small partitions come to: draws of kSmallDrawPoints points into an image of as many pixels
  // twice, reads in as many words. Optional: 0 where it was not measured, which stands for the rates above.
  double small_random_points_per_s = 0;
  double small_ordered_points_per_s = 0;
  double small_random_blends_per_s = 0;
  double small_ordered_blends_per_s = 0;
  double small_random_reads_per_s = 0;
  // Accesses to words at random positions in kCachedWords words, which a large cache holds. Optional likewise.
  double cached_reads_per_s = 0;
  double cached_atomics_per_s = 0;

  friend bool operator==(DeviceRates const&, DeviceRates const&) = default;
};

inline constexpr std::uint64_t kSmallDrawPoints = std::uint64_t{1} << 13;
inline constexpr std::uint32_t kSmallDrawEdge = 128;  ///< of its image
inline constexpr std::uint64_t kCachedWords = std::uint64_t{1} << 22;

/// The rates for slices of so many rows: the small ones at kSmallDrawPoints, the others from 16 times as many on,
/// between them interpolated on logarithmic scales.
DeviceRates rates_of_slices(DeviceRates rates, double slice_rows);

/// A rate that depends on a size. Between the sizes that were measured it is interpolated on logarithmic scales, beyond
/// them it is that of the nearest one. Sizes ascend.
struct RateCurve {
  struct Point {
    double size = 0;
    double per_s = 0;
    friend bool operator==(Point const&, Point const&) = default;
  };
  std::vector<Point> points;

  /// Rate at `size`. Requires points.
  double at(double size) const;
  friend bool operator==(RateCurve const&, RateCurve const&) = default;
};

/// Rates of the host, all its threads together.
struct HostRates {
  std::uint32_t threads = 1;      ///< that were measured with
  double copy_bytes_per_s = 0;    ///< bytes copied from memory to memory
  double encoded_keys_per_s = 0;  ///< 64-bit keys turned into words
  double query_ns = 0;            ///< a group-by of a few rows, from call to last batch
  double slice_ns = 0;            ///< a slice of a few rows on the CPU path, on one thread
  RateCurve partitioned_rows;     ///< (u32 key, row id) by number of partitions
  RateCurve gathered_values;      ///< 4-byte values at random positions, by bytes of the column
  RateCurve built_rows;           ///< of the CPU path's hash table of a join, by its rows
  RateCurve probed_rows;          ///< counted and written as pairs, one match each, by the table's rows
  RateCurve built_dense_rows;     ///< the same where keys without gaps address the table
  RateCurve probed_dense_rows;
  // The strategies to group a whole table on the CPU path: rows added to groups, and groups made, cleared, merged and
  // written, both by number of groups.
  RateCurve direct_rows;
  RateCurve direct_groups;
  RateCurve local_rows;
  RateCurve local_groups;
  RateCurve partitioned_rows_grouped;
  RateCurve partitioned_groups;
  RateCurve aggregated_rows;  ///< 64-bit integer sums on the CPU path, by number of groups

  friend bool operator==(HostRates const&, HostRates const&) = default;
};

/// One rate of a device, or one that is a single number of the host.
template <class Rates>
struct RateField {
  std::string_view name;
  std::string_view unit;  ///< points/s, bytes/s, ns, …
  double Rates::*value;
  bool optional = false;  ///< may be 0
  /// Rates of a device that was not measured: of a discrete one, of a software one, of any other.
  std::array<double, 3> assumed{};
};
template <class Rates>
struct CurveField {
  std::string_view name;
  std::string_view unit;
  std::string_view size;  ///< what the rate depends on
  RateCurve Rates::*curve;
  bool by_thread = true;                  ///< whether `assumed` is of one thread, else of all
  std::vector<RateCurve::Point> assumed;  ///< the rates of a host that was not measured
};

std::span<RateField<DeviceRates> const> device_rate_fields() noexcept;
std::span<RateField<HostRates> const> host_rate_fields() noexcept;
std::span<CurveField<HostRates> const> host_curve_fields();

/// Whether every rate is a finite positive number (optional ones may be 0) and curves ascend.
bool are_sane(DeviceRates const& rates) noexcept;
bool are_sane(HostRates const& rates) noexcept;

/// Rates assumed of a device that was not measured, by its type.
DeviceRates default_device_rates(vk::DeviceType type);

/// Rates assumed of a host with `threads` threads that was not measured.
HostRates default_host_rates(std::uint32_t threads);

/// Bytes a second and fixed nanoseconds of a way to upload; 0 bytes a second where the device has not this way.
struct UploadRate {
  double bytes_per_s = 0;
  double call_ns = 0;
  double ns(double bytes) const noexcept { return call_ns + bytes / bytes_per_s * 1e9; }
};
UploadRate upload_rate(DeviceRates const& rates, vk::UploadMode mode) noexcept;

}  // namespace garuda::rates
