// What every way to join costs.
#include <algorithm>
#include <array>
#include <cmath>

#include "operators/cost_model.hpp"
#include "operators/cost_terms.hpp"
#include "operators/graphics/graphics_choice.hpp"
#include "operators/join_slices.hpp"

namespace garuda::operators {
namespace {

/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
constexpr double kJoinSubmissions = 6;
/// Values gathered at positions that ascend, as of a column that stays in a core's cache.
constexpr double kOrderedGatherBytes = 1 << 17;
/// Bytes of a value that a gather's rate was measured with, and of the cache line that a random one moves.
constexpr double kMeasuredValueBytes = 4;
constexpr double kLineBytes = 64;
/// Rows of batches to choose from.
constexpr std::array kChunkRows{std::uint64_t{1} << 17, kLargestChunkRows, std::uint64_t{1} << 21};
/// What a column costs that is gathered batch by batch, with nulls or variable widths, in plain ones.
constexpr double kGathererShare = 2;
/// Share of different keys from which on all are taken to be different.
constexpr double kUniqueShare = 0.9;
/// A table whose keys repeat, beside one with unique keys: its rows are counted and placed in runs, which takes so much
/// more of a cache and of time (AMD EPYC, Zen 4, 2 threads, 2^20 rows of 0.63 × 2^20 keys in 2^6 partitions,
/// 2026-11-21).
constexpr double kRunsBytes = 2.5;
constexpr double kRunsShare = 2.2;
constexpr double kDenseRunsShare = 1.1;
/// What keys of 64 bits cost in a table, in keys of 32.
constexpr double kWideKeyShare = 1.25;
/// A batch begun and handed over, beside its rows (AMD EPYC, Zen 4, 2 threads, batches of 2^10 and 2^19 rows of three
/// columns, 2026-11-21).
constexpr double kBatchNs = 30e3;
/// A pair that a lane's thread turns into row ids in fresh memory (Intel Xeon beside an H200: 2.4 of 2^22, 12 of 2^24
/// rows, 2026-11-21).
constexpr double kEmittedPairNs = 6;
/// Passes that partition a side of such a join.
constexpr double kStreamedPasses = 2;
/// Most slots a row, and slots beside, of a table that keys address directly.
constexpr double kDirectFill = 4;
constexpr double kDirectSlack = 1024;

double rows_of(JoinShape const& shape) { return static_cast<double>(shape.rows_left + shape.rows_right); }
double build_rows(JoinShape const& shape) { return static_cast<double>(std::min(shape.rows_left, shape.rows_right)); }
double probe_rows(JoinShape const& shape) { return static_cast<double>(std::max(shape.rows_left, shape.rows_right)); }
double rows_of(JoinShape const& shape, Side side) {
  return static_cast<double>(side == Side::left ? shape.rows_left : shape.rows_right);
}
/// What a path builds on unless told: the smaller side, the right one of two equal ones.
Side smaller_side(JoinShape const& shape) { return shape.rows_left < shape.rows_right ? Side::left : Side::right; }

double distinct_of(JoinShape const& shape, Side side) {
  auto const distinct = side == Side::left ? shape.distinct_left : shape.distinct_right;
  auto const rows = std::max(rows_of(shape, side), 1.0);
  return distinct > 0 ? std::min(distinct, rows) : rows;
}
double build_distinct(JoinShape const& shape) { return distinct_of(shape, smaller_side(shape)); }

Side build_side(JoinShape const& shape, CpuJoinWay const& way) {
  if (way.build == BuildSide::automatic) return smaller_side(shape);
  return way.build == BuildSide::left ? Side::left : Side::right;
}

double matches(JoinShape const& shape) { return shape.expected_matches; }

double key_bytes(JoinShape const& shape) { return shape.key_bits / 8.0; }
double row_id_bytes(JoinShape const& shape) { return shape.wide_row_ids ? 8 : 4; }
double join_row_bytes(JoinShape const& shape) { return key_bytes(shape) + row_id_bytes(shape); }

/// `values` values of `bytes` bytes, taken from anywhere in `source_bytes` bytes.
double taken_ns(double values, double bytes, double source_bytes, HostRates const& host) {
  auto const is_cached = source_bytes <= kOrderedGatherBytes;
  // Wide values read and write more; a random access moves a line whatever it wants of it.
  auto const width = is_cached ? std::max(bytes / kMeasuredValueBytes, 1.0) : 1 + bytes / kLineBytes;
  return values / host.gathered_values.at(source_bytes) * width * kNs;
}

/// Values of a column for all rows of the result that are found by row ids, which lie in `id_bytes` bytes.
double by_row_ns(JoinShape const& shape, OutputShape const& column, double id_bytes, HostRates const& host) {
  auto const ids = taken_ns(matches(shape), row_id_bytes(shape), id_bytes, host);
  auto const values = taken_ns(matches(shape), column.bytes, rows_of(shape, column.side) * column.bytes, host);
  return ids + values * (column.is_plain ? 1 : kGathererShare);
}

double output_row_bytes(JoinShape const& shape) {
  double bytes = 0;
  for (auto const& column : shape.output) bytes += column.bytes;
  return bytes;
}

/// The result's batches, and the last of them, which nothing else runs beside.
double batches_ns(JoinShape const& shape, double batch_rows, HostRates const& host) {
  auto const rows = std::max(std::min(batch_rows, matches(shape)), 1.0);
  return std::ceil(matches(shape) / rows) * kBatchNs + rows * output_row_bytes(shape) / host.copy_bytes_per_s * kNs;
}

/// Probe rows of a task of the CPU path: lanes end together when there are several a lane.
double task_probe_rows(double probe, HostRates const& host) {
  auto const fair = probe / static_cast<double>(host.threads * kTasksPerLane);
  return std::min(std::max(fair, static_cast<double>(kSmallestTaskRows)), std::max(probe, 1.0));
}

/// Rows of the CPU path's result that a task brings.
double task_rows(JoinShape const& shape, HostRates const& host) {
  auto const probe = std::max(probe_rows(shape), 1.0);
  return task_probe_rows(probe, host) * std::max(matches(shape) / probe, 1.0 / 16);
}

std::uint64_t cheapest_chunk(JoinShape const& shape, double most_rows, HostRates const& host) {
  auto best = kLargestChunkRows;
  auto const ns = [&](std::uint64_t rows) {
    return batches_ns(shape, std::min(static_cast<double>(rows), most_rows), host);
  };
  for (auto const rows : kChunkRows)
    if (ns(rows) < ns(best)) best = rows;
  return best;
}

/// The CPU path's result, made in its lanes.
double cpu_gather_ns(JoinShape const& shape, CpuJoinWay const& way, HostRates const& host) {
  auto ns = matches(shape) * 16 / host.copy_bytes_per_s * kNs;  // pairs, made and read in the cache
  auto const parts = partitions(way.radix_bits);
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    auto const is_probe = column.side != build_side(shape, way);
    auto const part_rows = is_probe ? 0 : rows_of(shape, column.side) / parts;
    if (column.is_key || (is_probe && column.is_plain && way.radix_bits == 0))
      ns += taken_ns(matches(shape), column.bytes, 0, host);
    else if (way.carries(c) || (column.is_plain && way.radix_bits == 0))
      ns += taken_ns(matches(shape), column.bytes, part_rows * column.bytes, host);
    else
      ns += by_row_ns(shape, column, part_rows * row_id_bytes(shape), host);
  }
  auto const rows = std::min(task_rows(shape, host), static_cast<double>(way.chunk_rows));
  return ns + batches_ns(shape, rows, host);
}

/// Bytes that partitioning moves of a row of `side`.
double moved_bytes(JoinShape const& shape, CpuJoinWay const& way, Side side) {
  auto bytes = key_bytes(shape);
  bool wants_ids = false;
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key) continue;
    if (way.carries(c))
      bytes += column.bytes;
    else
      wants_ids = true;
  }
  return bytes + (wants_ids ? row_id_bytes(shape) : 0);
}

/// The tables of the CPU path: keys to look up in how many, how large they are, and what they cost beside unique keys.
struct Tables {
  double build = 0;
  double probe = 0;
  double rows = 0;        ///< of a table with unique keys that takes as much of a cache
  double share = 1;       ///< of the time of such a table
  bool is_dense = false;  ///< keys address them
};

Tables tables_of(JoinShape const& shape, CpuJoinWay const& way) {
  auto const side = build_side(shape, way);
  auto const parts = partitions(way.radix_bits);
  auto const range = static_cast<double>(side == Side::left ? shape.key_range_left : shape.key_range_right);
  Tables tables;
  tables.build = rows_of(shape, side);
  tables.probe = rows_of(shape) - tables.build;
  tables.rows = tables.build / parts;
  tables.is_dense = range > 0 && range / parts < kDirectFill * tables.rows + kDirectSlack;
  if (distinct_of(shape, side) < kUniqueShare * tables.build) {
    tables.rows *= kRunsBytes;
    tables.share *= tables.is_dense ? kDenseRunsShare : kRunsShare;
  }
  if (shape.key_bits == 64) tables.share *= kWideKeyShare;
  return tables;
}

/// What building takes, in builds of all tables by all threads at once: one thread builds a table. Lanes wait for
/// large ones, which are made one at a time; small ones are made by every lane that has a task of their partition.
double build_shares(Tables const& tables, double parts, HostRates const& host) {
  double const threads = host.threads;
  if (tables.build / parts > static_cast<double>(kLaneTableRows)) return threads;
  auto const tasks = std::max(tables.probe / parts / task_probe_rows(tables.probe, host), 1.0);  // of a partition
  return threads * std::min(tasks, threads) / std::min(threads, parts * tasks);
}

/// A device path's pairs, gathered by the consumer: both sides out of order, or the probe side in order.
double consumed_ns(JoinShape const& shape, DeviceCut const& cut, HostRates const& host, bool in_probe_order = false) {
  auto const making = std::min<double>(cut.lanes, static_cast<double>(cut.slices));
  auto ns = matches(shape) * (kEmittedPairNs / making + 16 / host.copy_bytes_per_s * kNs);  // made, and read once
  for (auto const& column : shape.output) {
    bool const is_ordered = in_probe_order && column.side != smaller_side(shape);
    auto const source_bytes = is_ordered ? 0 : rows_of(shape, column.side) * column.bytes;
    ns += taken_ns(matches(shape), column.bytes, source_bytes, host) * kGathererShare;
  }
  return ns + batches_ns(shape, static_cast<double>(cut.chunk_rows), host);
}

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
  auto const share = smaller_side(shape) == Side::left ? shape.heaviest_left : shape.heaviest_right;
  auto const multiplicity = std::max(rows / distinct, share * rows);
  Clashes clashes;
  auto const fullest = address == Address::direct ? 1.0 : fullest_pixel(distinct, std::max(pixels, 1.0));
  clashes.layers = std::max(fullest * rows / distinct, multiplicity);
  auto const load = address == Address::direct ? 0 : distinct / std::max(pixels, 1.0);
  clashes.drawn = rows * (1 + load / 2) * (1 + (rows / distinct - 1) / 2);
  return clashes;
}

}  // namespace

std::uint64_t cpu_chunk_rows(JoinShape const& shape, HostRates const& host) {
  return cheapest_chunk(shape, task_rows(shape, host), host);
}

std::uint64_t device_chunk_rows(JoinShape const& shape, HostRates const& host) {
  return cheapest_chunk(shape, matches(shape), host);
}

PhaseCosts cpu_join_costs(JoinShape const& shape, CpuJoinWay const& way, HostRates const& host) {
  auto const parts = partitions(way.radix_bits);
  auto const tables = tables_of(shape, way);
  auto const& built = tables.is_dense ? host.built_dense_rows : host.built_rows;
  auto const& probed = tables.is_dense ? host.probed_dense_rows : host.probed_rows;
  // A partition of many pairs is cut up, one of few costs a slice all the same.
  auto const building = std::min<double>(host.threads, parts);
  auto const build_ns = tables.build / built.at(tables.rows) * kNs * tables.share * build_shares(tables, parts, host);
  auto const found = std::max(tables.probe, matches(shape));
  double moved_ns = 0;
  for (auto const side : {Side::left, Side::right})
    moved_ns += partition_ns(rows_of(shape, side), moved_bytes(shape, way, side), way.radix_bits, host);
  return {{"start", host.query_ns},
          {"encode", encode_ns(rows_of(shape), host)},
          {"partition", moved_ns},
          {"build", build_ns + parts / building * host.slice_ns},
          {"probe", found / probed.at(tables.rows) * kNs * tables.share},
          {"gather", cpu_gather_ns(shape, way, host)}};
}

PhaseCosts graphics_join_costs(JoinShape const& shape, GraphicsWay const& way, DeviceCut const& cut,
                               DeviceRates const& whole_rates, HostRates const& host) {
  auto const build = build_rows(shape);
  auto const probe = probe_rows(shape);
  auto const rates = calibration::rates_of_slices(whole_rates, probe / static_cast<double>(cut.slices));
  auto const out = matches(shape);
  auto const clashes = clashes_of(shape, way.address, cut.pixels);
  auto const is_stack = way.storage == Storage::stack;
  auto const layers = is_stack ? clashes.layers : 1;
  auto const points = layers * probe;  // instances of the probe side
  bool const is_blended = way.counting != Counting::compute;
  auto const counted = is_blended ? random_blend_ns(build, rates) + clear_ns(cut.pixels, rates)
                                  : atomic_ns(build, rates) + stream_ns(4 * cut.pixels, rates);
  auto const statistics = counted + stream_ns(4 * cut.pixels, rates);
  auto const stack_build = random_ns(clashes.drawn, rates) +
                           clipped_ns(std::max(layers * build - clashes.drawn, 0.0), rates) +
                           clear_ns(layers * cut.pixels, rates) + stream_ns(8 * layers * cut.pixels, rates);
  auto const runs_build =
      atomic_ns(kRunAtomics * build, rates) + read_ns(kRunReads * build, rates) + stream_ns(8 * cut.pixels, rates);
  auto const drawn_stack_count = ordered_blend_ns(std::min(out, points), rates) +
                                 clipped_ns(std::max(points - out, 0.0), rates) + read_ns(points, rates);
  auto const drawn_runs_count = ordered_ns(probe, rates) + read_ns(2 * probe, rates);
  auto const is_output = way.probe == Probe::output;
  auto const drawn_count = (is_stack ? drawn_stack_count : drawn_runs_count) + clear_ns(probe, rates);
  auto const drawn = is_output ? ordered_ns(out, rates) + read_ns(kSearchReads * out, rates)
                               : ordered_ns(out, rates) + clipped_ns(std::max(points - out, 0.0), rates);
  // Compute passes stop at a pixel's first empty layer, and instances of a row are one invocation.
  auto const matched_rows = stream_ns(kMatchedRowBytes * probe, rates);
  auto const computed_count = matched_rows + read_ns(is_stack ? points : kRunLookups * probe, rates);
  auto const computed = (is_output ? read_ns((1 + kSearchReads) * out, rates) : matched_rows + read_ns(out, rates)) +
                        stream_ns(8 * out, rates);
  bool const is_drawn = way.matching != Matching::compute;
  bool const count_is_drawn = is_drawn && (is_blended || !is_stack);
  auto const keys_bytes = (build + probe) * shape.key_bits / 8.0;
  return {{"start", host.query_ns},
          {"encode", encode_ns(rows_of(shape), host)},
          {"partition", partition_ns(rows_of(shape), join_row_bytes(shape), cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(keys_bytes, cut, rates)},
          {"statistics", statistics},
          {"build", is_stack ? stack_build : runs_build},
          {"count", count_is_drawn ? drawn_count : computed_count},
          {"prefix", stream_ns(16 * probe, rates)},
          {"probe", (is_drawn ? drawn : computed) + submissions_ns(kJoinSubmissions, cut, rates)},
          {"download", out * 8 / rates.download_bytes_per_s * kNs},
          {"gather", consumed_ns(shape, cut, host)}};
}

PhaseCosts compute_join_costs(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                              HostRates const& host, JoinMethod method) {
  auto const rows = rows_of(shape);
  // Its pairs are in the order of probe rows while the host has not partitioned them.
  bool const is_global = method == JoinMethod::global && cut.radix_bits == 0;
  auto const out = matches(shape);
  auto const key_bytes = shape.key_bits / 8.0;
  // Two passes over (key, row): a histogram reads the keys, the scatter reads and writes both.
  auto const partitioned = 2 * rows * (key_bytes + 2 * (key_bytes + 4));
  return {{"start", host.query_ns},
          {"encode", encode_ns(rows, host)},
          {"partition", partition_ns(rows, join_row_bytes(shape), cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(rows * key_bytes, cut, rates)},
          {"device partition", stream_ns(partitioned, rates)},
          {"join", atomic_ns(build_rows(shape), rates) + read_ns(probe_rows(shape), rates) +
                       stream_ns(16 * out, rates) + submissions_ns(kJoinSubmissions, cut, rates)},
          {"download", out * 8 / rates.download_bytes_per_s * kNs},
          {"gather", consumed_ns(shape, cut, host, is_global)}};
}

PhaseCosts streamed_join_costs(StreamedShape const& shape, DeviceRates const& rates, HostRates const& host) {
  // Threads copy into and out of staging memory side by side, up and down at once.
  auto const up_per_s =
      team_bytes_per_s(rates.stage_bytes_per_s, rates.team_upload_bytes_per_s, shape.copy_threads, host);
  auto const down_per_s =
      team_bytes_per_s(rates.download_bytes_per_s, rates.team_download_bytes_per_s, shape.copy_threads, host);
  auto const ranges = std::max(std::ceil(shape.probe_rows / std::max(shape.range_rows, 1.0)), 1.0);
  auto const passes_ns = [&](double rows, double row_bytes) {
    return stream_ns(kStreamedPasses * rows * (shape.key_bytes + 2 * row_bytes), rates);
  };
  auto const build_up = shape.build_rows * shape.build_row_bytes / up_per_s * kNs;
  auto const probe_up = shape.probe_rows * shape.probe_row_bytes / up_per_s * kNs;
  auto const down = shape.matches * shape.arriving_row_bytes / down_per_s * kNs;
  double gathered = 0;
  for (auto const& [value_bytes, column_bytes] : shape.gathered)
    gathered += taken_ns(shape.matches, value_bytes, column_bytes, host) * kGathererShare;
  auto const joined = passes_ns(shape.probe_rows, shape.probe_moved_bytes) + read_ns(shape.probe_rows, rates) +
                      stream_ns(2 * shape.matches * shape.result_row_bytes, rates);
  auto const slowest = std::max({probe_up, joined, down, gathered});
  // The first range arrives, and the last one's rows leave, while nothing else moves.
  auto const alone = (probe_up + joined + down + gathered - slowest) / ranges;
  return {{"start", host.query_ns},
          {"open", rates.lane_ns + 2 * shape.copy_threads * kCopyThreadNs},
          {"upload build", build_up},
          {"partition build", passes_ns(shape.build_rows, shape.build_moved_bytes)},
          {"ranges", slowest + alone},
          {"submissions", (1 + ranges) * (kJoinSubmissions * rates.submission_ns + 2 * rates.stage_call_ns)}};
}

}  // namespace garuda::operators
