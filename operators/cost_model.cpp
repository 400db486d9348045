#include "operators/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "garuda/join.hpp"
#include "operators/graphics/graphics_choice.hpp"

namespace garuda::operators {
namespace {

constexpr double kNs = 1e9;
/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
constexpr double kJoinSubmissions = 6;
constexpr double kGroupBySubmissions = 10;
/// Bytes of (key, row id) that the partitioner's rate was measured with.
constexpr double kMeasuredRowBytes = 8;
/// Share of a partitioning pass that the choice of the digit takes: a histogram.
constexpr double kDigitShare = 0.3;
/// Values gathered at positions that ascend, as of a column that stays in a core's cache.
constexpr double kOrderedGatherBytes = 1 << 17;
/// Bytes of a value that a gather's rate was measured with, and of the cache line that a random one moves.
constexpr double kMeasuredValueBytes = 4;
constexpr double kLineBytes = 64;

double rows_of(JoinShape const& shape) { return static_cast<double>(shape.rows_left + shape.rows_right); }
double build_rows(JoinShape const& shape) { return static_cast<double>(std::min(shape.rows_left, shape.rows_right)); }
double probe_rows(JoinShape const& shape) { return static_cast<double>(std::max(shape.rows_left, shape.rows_right)); }
double partitions(std::uint32_t bits) { return static_cast<double>(std::uint64_t{1} << bits); }

double build_distinct(JoinShape const& shape) {
  auto const distinct = shape.rows_left <= shape.rows_right ? shape.distinct_left : shape.distinct_right;
  return distinct > 0 ? std::min(distinct, std::max(build_rows(shape), 1.0)) : std::max(build_rows(shape), 1.0);
}

double matches(JoinShape const& shape) { return shape.expected_matches; }

double encode_ns(double keys, HostRates const& host) { return keys / host.encoded_keys_per_s * kNs; }

double partition_ns(double rows, double row_bytes, std::uint32_t bits, HostRates const& host) {
  if (bits == 0) return 0;
  return rows * (1 + kDigitShare) / host.partitioned_rows.at(partitions(bits)) * (row_bytes / kMeasuredRowBytes) * kNs;
}

/// Values of one side's columns for `rows_out` rows.
double gather_side_ns(double rows_out, double table_rows, std::uint32_t columns, double row_bytes, bool is_ordered,
                      HostRates const& host) {
  if (columns == 0) return 0;
  auto const value_bytes = row_bytes / columns;
  auto const column_bytes = is_ordered ? kOrderedGatherBytes : table_rows * value_bytes;
  // Wide values read and write more; a random access moves a line whatever it wants of it.
  auto const width = is_ordered ? std::max(value_bytes / kMeasuredValueBytes, 1.0) : 1 + value_bytes / kLineBytes;
  return rows_out * columns / host.gathered_values.at(column_bytes) * width * kNs;
}

double gather_ns(JoinShape const& shape, bool probe_is_ordered, bool build_is_ordered, HostRates const& host) {
  auto const left_is_probe = shape.rows_left > shape.rows_right;
  auto const pairs_ns = matches(shape) * 32 / host.copy_bytes_per_s * kNs;  // made, and read once
  return pairs_ns +
         gather_side_ns(matches(shape), static_cast<double>(shape.rows_left), shape.columns_left,
                        static_cast<double>(shape.row_bytes_left), left_is_probe ? probe_is_ordered : build_is_ordered,
                        host) +
         gather_side_ns(matches(shape), static_cast<double>(shape.rows_right), shape.columns_right,
                        static_cast<double>(shape.row_bytes_right), left_is_probe ? build_is_ordered : probe_is_ordered,
                        host);
}

double join_row_bytes(JoinShape const& shape) { return shape.key_bits / 8.0 + (shape.wide_row_ids ? 8 : 4); }

/// What hash images hold: rows that share a pixel are layers of a stack.
struct Clashes {
  double layers = 1;  ///< of the fullest pixel
  double drawn = 0;   ///< points that are not clipped while the stack is built
};

/// The fullest of `pixels` pixels that `rows` rows fall on at random: the least k that fewer than one pixel exceeds
/// (Poisson).
double fullest_pixel(double rows, double pixels) {
  auto const load = rows / pixels;
  auto term = std::exp(-load);
  auto above = 1 - term;
  double k = 0;
  while (above * pixels >= 1 && k < 64) {
    k += 1;
    term *= load / k;
    above -= term;
  }
  return std::max(k, 1.0);
}

Clashes clashes_of(JoinShape const& shape, Address address, double pixels) {
  auto const rows = std::max(build_rows(shape), 1.0);
  auto const distinct = build_distinct(shape);
  auto const share = shape.rows_left <= shape.rows_right ? shape.heaviest_left : shape.heaviest_right;
  auto const multiplicity = std::max(rows / distinct, share * rows);
  Clashes clashes;
  auto const fullest = address == Address::direct ? 1.0 : fullest_pixel(distinct, std::max(pixels, 1.0));
  clashes.layers = std::max(fullest * rows / distinct, multiplicity);
  auto const load = address == Address::direct ? 0 : distinct / std::max(pixels, 1.0);
  clashes.drawn = rows * (1 + load / 2) * (1 + (rows / distinct - 1) / 2);
  return clashes;
}

double clear_ns(double pixels, DeviceRates const& rates) { return pixels / rates.cleared_pixels_per_s * kNs; }
double stream_ns(double bytes, DeviceRates const& rates) { return bytes / rates.streamed_bytes_per_s * kNs; }
double read_ns(double reads, DeviceRates const& rates) { return reads / rates.random_reads_per_s * kNs; }
double atomic_ns(double atomics, DeviceRates const& rates) { return atomics / rates.atomics_per_s * kNs; }
double random_ns(double points, DeviceRates const& rates) { return points / rates.random_points_per_s * kNs; }
double ordered_ns(double points, DeviceRates const& rates) { return points / rates.ordered_points_per_s * kNs; }
double clipped_ns(double points, DeviceRates const& rates) { return points / rates.clipped_points_per_s * kNs; }
/// Where nothing blends, counts and sums are compute passes with atomics.
double random_blend_ns(double points, DeviceRates const& rates) {
  return rates.random_blends_per_s > 0 ? points / rates.random_blends_per_s * kNs : atomic_ns(points, rates);
}
double ordered_blend_ns(double points, DeviceRates const& rates) {
  return rates.ordered_blends_per_s > 0 ? points / rates.ordered_blends_per_s * kNs : atomic_ns(points, rates);
}

double upload_ns(double bytes, DeviceCut const& cut, DeviceRates const& rates) {
  auto const rate = calibration::upload_rate(rates, cut.upload);
  return rate.ns(bytes) + rate.call_ns * static_cast<double>(2 * cut.slices - 1);
}

double submissions_ns(double a_slice, DeviceCut const& cut, DeviceRates const& rates) {
  // Lanes wait side by side.
  return a_slice * static_cast<double>(cut.slices) / std::min<double>(cut.lanes, static_cast<double>(cut.slices)) *
         rates.submission_ns;
}

double open_ns(DeviceCut const& cut, DeviceRates const& rates) { return cut.lanes * rates.lane_ns; }

double group_key_bytes(GroupByShape const& shape) { return shape.key_bits / 8.0 + 4.0 * shape.key_words; }

double group_partition_ns(GroupByShape const& shape, std::uint32_t bits, HostRates const& host) {
  auto const row_bytes = std::max(shape.key_bits / 8.0, 4.0) + (shape.wide_row_ids ? 8 : 4);
  return partition_ns(static_cast<double>(shape.rows), row_bytes, bits, host);
}

}  // namespace

double total_ns(PhaseCosts const& costs) {
  double total = 0;
  for (auto const& [phase, ns] : costs) total += ns;
  return total;
}

std::string to_string(GraphicsWay const& way) {
  JoinTuning tuning;
  tuning.address = way.address;
  tuning.storage = way.storage;
  tuning.probe = way.probe;
  return to_string(tuning);
}

vk::UploadMode cheapest_upload(DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes) {
  auto best = vk::UploadMode::stage;
  auto const consider = [&](vk::UploadMode mode, bool has) {
    auto const rate = calibration::upload_rate(rates, mode);
    if (has && rate.bytes_per_s > 0 && rate.ns(bytes) < calibration::upload_rate(rates, best).ns(bytes)) best = mode;
  };
  consider(vk::UploadMode::map, traits.device_memory_mappable());
  consider(vk::UploadMode::import_host, traits.features.external_memory_host);
  return best;
}

PhaseCosts cpu_join_costs(JoinShape const& shape, std::uint32_t radix_bits, HostRates const& host) {
  auto const carried = radix_bits > 0 ? static_cast<double>(shape.carried_bytes) : 0;
  auto const payload = static_cast<double>(shape.rows_left * shape.row_bytes_left) +
                       static_cast<double>(shape.rows_right * shape.row_bytes_right);
  // Carried columns are fetched from a partition, which is in the cache.
  auto const share = payload > 0 ? std::min(carried / payload, 1.0) : 0;
  auto const table_rows = build_rows(shape) / partitions(radix_bits);
  auto const width = shape.key_bits == 64 ? 1.25 : 1.0;
  // A partition of many pairs is cut up, one of few costs a slice all the same.
  auto const slices = partitions(radix_bits) / std::min<double>(host.threads, partitions(radix_bits));
  auto const found = std::max(probe_rows(shape), matches(shape));
  return {{"encode", encode_ns(rows_of(shape), host)},
          {"partition", partition_ns(rows_of(shape), join_row_bytes(shape), radix_bits, host) +
                            2 * carried / host.copy_bytes_per_s * kNs},
          {"build", (build_rows(shape) / host.built_rows.at(table_rows) * kNs + slices * host.slice_ns) * width},
          {"probe", found / host.probed_rows.at(table_rows) * kNs * width},
          {"gather",
           share * gather_ns(shape, true, true, host) + (1 - share) * gather_ns(shape, radix_bits == 0, false, host)}};
}

PhaseCosts graphics_join_costs(JoinShape const& shape, GraphicsWay const& way, DeviceCut const& cut,
                               DeviceRates const& rates, HostRates const& host) {
  auto const build = build_rows(shape);
  auto const probe = probe_rows(shape);
  auto const out = matches(shape);
  auto const clashes = clashes_of(shape, way.address, cut.pixels);
  auto const is_stack = way.storage == Storage::stack;
  auto const layers = is_stack ? clashes.layers : 1;
  auto const points = layers * probe;  // instances of the probe side
  auto const statistics =
      random_blend_ns(build, rates) + clear_ns(cut.pixels, rates) + stream_ns(4 * cut.pixels, rates);
  auto const stack_build = random_ns(clashes.drawn, rates) +
                           clipped_ns(std::max(layers * build - clashes.drawn, 0.0), rates) +
                           clear_ns(layers * cut.pixels, rates) + stream_ns(8 * layers * cut.pixels, rates);
  auto const runs_build =
      atomic_ns(kRunAtomics * build, rates) + read_ns(kRunReads * build, rates) + stream_ns(8 * cut.pixels, rates);
  auto const stack_count = ordered_blend_ns(std::min(out, points), rates) +
                           clipped_ns(std::max(points - out, 0.0), rates) + read_ns(points, rates);
  auto const runs_count = ordered_ns(probe, rates) + read_ns(2 * probe, rates);
  auto const is_output = way.probe == Probe::output;
  auto const probed = is_output ? ordered_ns(out, rates) + read_ns(kSearchReads * out, rates)
                                : ordered_ns(out, rates) + clipped_ns(std::max(points - out, 0.0), rates);
  auto const keys_bytes = (build + probe) * shape.key_bits / 8.0;
  return {{"encode", encode_ns(rows_of(shape), host)},
          {"partition", partition_ns(rows_of(shape), join_row_bytes(shape), cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(keys_bytes, cut, rates)},
          {"statistics", statistics},
          {"build", is_stack ? stack_build : runs_build},
          {"count", (is_stack ? stack_count : runs_count) + clear_ns(probe, rates)},
          {"prefix", stream_ns(16 * probe, rates)},
          {"probe", probed + submissions_ns(kJoinSubmissions, cut, rates)},
          {"download", out * 8 / rates.download_bytes_per_s * kNs},
          {"gather", gather_ns(shape, false, false, host)}};
}

PhaseCosts compute_join_costs(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                              HostRates const& host) {
  auto const rows = rows_of(shape);
  auto const out = matches(shape);
  auto const key_bytes = shape.key_bits / 8.0;
  // Two passes over (key, row): a histogram reads the keys, the scatter reads and writes both.
  auto const partitioned = 2 * rows * (key_bytes + 2 * (key_bytes + 4));
  return {{"encode", encode_ns(rows, host)},
          {"partition", partition_ns(rows, join_row_bytes(shape), cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(rows * key_bytes, cut, rates)},
          {"device partition", stream_ns(partitioned, rates)},
          {"join", atomic_ns(build_rows(shape), rates) + read_ns(probe_rows(shape), rates) +
                       stream_ns(16 * out, rates) + submissions_ns(kJoinSubmissions, cut, rates)},
          {"download", out * 8 / rates.download_bytes_per_s * kNs},
          {"gather", gather_ns(shape, false, false, host)}};
}

PhaseCosts cpu_group_by_costs(GroupByShape const& shape, HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  auto const width = std::max(group_key_bytes(shape) / 4, 1.0);
  return {{"group", rows / host.grouped_rows.at(groups) * kNs * (0.75 + 0.25 * width) + host.slice_ns},
          {"aggregate", rows * shape.states / host.aggregated_rows.at(groups) * kNs}};
}

PhaseCosts graphics_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                   HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  // Groups beyond one a pixel are drawn again, into the next image.
  auto const load = groups / std::max(cut.pixels, 1.0);
  auto const again = std::min(load / 2, 3.0);
  auto const uploaded = rows * (group_key_bytes(shape) + 4.0 * shape.value_words);
  return {
      {"encode", encode_ns(rows, host)},
      {"partition", group_partition_ns(shape, cut.radix_bits, host)},
      {"open", open_ns(cut, rates)},
      {"upload", upload_ns(uploaded, cut, rates)},
      {"group", random_ns(rows * (1 + again), rates) + clear_ns(cut.pixels * (1 + again), rates) +
                    read_ns(2 * rows * (1 + again), rates) + stream_ns(24 * rows, rates)},
      {"aggregate", random_blend_ns(rows * shape.draws, rates) + clear_ns(8 * groups, rates) +
                        submissions_ns(kGroupBySubmissions, cut, rates)},
      {"download", groups * static_cast<double>(shape.state_bytes + 4) / rates.download_bytes_per_s * kNs},
      {"merge", cut.slices <= 1 ? 0 : groups * static_cast<double>(cut.slices) / host.grouped_rows.at(groups) * kNs}};
}

PhaseCosts compute_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                  HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  auto const uploaded = rows * (group_key_bytes(shape) + 4.0 * shape.value_words);
  return {{"encode", encode_ns(rows, host)},
          {"partition", group_partition_ns(shape, cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(uploaded, cut, rates)},
          {"group", atomic_ns(rows, rates) + read_ns(rows, rates)},
          {"aggregate", atomic_ns(rows * shape.states, rates) + submissions_ns(kGroupBySubmissions, cut, rates)},
          {"download", groups * static_cast<double>(shape.state_bytes + 4) / rates.download_bytes_per_s * kNs}};
}

}  // namespace garuda::operators
