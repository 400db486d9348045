#include "operators/cpu/join/cpu_join_costs.hpp"

#include <cmath>

#include "operators/contract/join_terms.hpp"
#include "operators/run/join_slices.hpp"

namespace garuda::cpu {
namespace {

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
/// Most slots a row, and slots beside, of a table that keys address directly; the same of one in a second-level cache,
/// and its slots.
constexpr double kDirectFill = 4;
constexpr double kDirectSlack = 1024;
constexpr double kCachedFill = 32;
constexpr double kCachedSlots = 1 << 18;
/// Bits of a bitmap in a slot of such a table.
constexpr double kBitsOfSlot = 32;
/// What a probe row found, and bytes that marking a build row is worth.
constexpr double kFoundBytes = 4;
/// A build row of a table that one thread makes for all lanes, for each other thread: its lines come out of their
/// caches, and they wait (16 threads of an Intel Xeon, tables of 390 K rows, 2026-11-25: 13 ns a row).
constexpr double kSharedRowNs = 0.8;
constexpr double kBuildMarkBytes = 8;

Side build_side(contract::JoinShape const& shape, CpuJoinWay const& way) {
  if (way.build == BuildSide::automatic) return contract::smaller_side(shape);
  return way.build == BuildSide::left ? Side::left : Side::right;
}

/// Values of a column for all rows of the result that are found by row ids, which lie in `id_bytes` bytes. `rows`: of
/// the column's table, 0 where they are found in their order.
double by_row_ns(contract::JoinShape const& shape, contract::OutputShape const& column, double id_bytes, double rows,
                 rates::HostRates const& host) {
  auto const ids = contract::taken_ns(contract::matches(shape), contract::row_id_bytes(shape), id_bytes, host);
  auto const values = contract::column_ns(contract::matches(shape), column, rows, host);
  return ids + values * (column.is_plain ? 1 : contract::kGathererShare);
}

/// Probe rows of a task of the CPU path: lanes end together when there are several a lane.
double task_probe_rows(double probe, rates::HostRates const& host) {
  auto const fair = probe / static_cast<double>(host.threads * contract::kTasksPerLane);
  return std::min(std::max(fair, static_cast<double>(contract::kSmallestTaskRows)), std::max(probe, 1.0));
}

/// Rows of the CPU path's result that a task brings.
double task_rows(contract::JoinShape const& shape, rates::HostRates const& host) {
  auto const probe = std::max(contract::probe_rows(shape), 1.0);
  return task_probe_rows(probe, host) * std::max(contract::matches(shape) / probe, 1.0 / 16);
}

/// The CPU path's result, made in its lanes.
double cpu_gather_ns(contract::JoinShape const& shape, CpuJoinWay const& way, rates::HostRates const& host) {
  auto ns = contract::matches(shape) * 16 / host.copy_bytes_per_s * contract::kNs;  // pairs, made and read in the cache
  auto const parts = contract::partitions(way.radix_bits);
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    auto const is_probe = column.side != build_side(shape, way);
    auto const part_rows = is_probe ? 0 : contract::rows_of(shape, column.side) / parts;
    if (column.is_key || (is_probe && column.is_plain && way.radix_bits == 0))
      ns += contract::taken_ns(contract::matches(shape), column.bytes, 0, host);
    else if (way.carries(c) && !column.is_plain)
      // The cell, and then the value in its order.
      ns += contract::taken_ns(contract::matches(shape), column.cell_bytes, part_rows * column.cell_bytes, host) +
            contract::taken_ns(contract::matches(shape), column.bytes, 0, host);
    else if (way.carries(c) || (column.is_plain && way.radix_bits == 0))
      ns += contract::taken_ns(contract::matches(shape), column.bytes, part_rows * column.bytes, host);
    else
      ns += by_row_ns(shape, column, part_rows * contract::row_id_bytes(shape),
                      is_probe && way.radix_bits == 0 ? 0 : contract::rows_of(shape, column.side), host);
  }
  auto const rows = std::min(task_rows(shape, host), static_cast<double>(way.chunk_rows));
  return ns + contract::batches_ns(shape, rows, host);
}

/// Bytes that partitioning moves of a row of `side`.
double moved_bytes(contract::JoinShape const& shape, CpuJoinWay const& way, Side side) {
  auto bytes = contract::key_bytes(shape);
  // Marks become those of the table's rows by row ids, unless the keys are columns as they are.
  bool wants_ids = !shape.output.empty() && contract::is_marked(shape, side) && shape.encoded_bytes > 0;
  // Words of a condition are found by row.
  wants_ids = wants_ids || shape.of(side).tested_columns > 0;
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key) continue;
    if (way.carries(c))
      bytes += column.carried_bytes();
    else
      wants_ids = wants_ids || shape.parts.pairs;
  }
  return bytes + (wants_ids ? contract::row_id_bytes(shape) : 0);
}

/// The tables of the CPU path: keys to look up in how many, how large they are, and what they cost beside unique keys.
struct Tables {
  double build = 0;
  double probe = 0;
  double rows = 0;        ///< of a table with unique keys that takes as much of a cache
  double share = 1;       ///< of the time of such a table
  bool is_dense = false;  ///< keys address them
};

Tables tables_of(contract::JoinShape const& shape, CpuJoinWay const& way) {
  auto const side = build_side(shape, way);
  auto const parts = contract::partitions(way.radix_bits);
  auto const range = static_cast<double>(shape.of(side).key_range);
  Tables tables;
  tables.build = contract::rows_of(shape, side);
  tables.probe = contract::rows_of(shape) - tables.build;
  tables.rows = tables.build / parts;
  auto const most_direct =
      std::max(kDirectFill * tables.rows + kDirectSlack, std::min(kCachedFill * tables.rows, kCachedSlots));
  tables.is_dense = way.by_bitmap || (range > 0 && range / parts < most_direct);
  if (way.by_bitmap) {
    tables.rows = std::max(range / kBitsOfSlot, 1.0);
  } else if (contract::distinct_of(shape, side) < kUniqueShare * tables.build) {
    tables.rows *= kRunsBytes;
    tables.share *= tables.is_dense ? kDenseRunsShare : kRunsShare;
  }
  if (shape.key_bits == 64) tables.share *= kWideKeyShare;
  return tables;
}

/// Whether all lanes look up in one table, which one of them makes.
bool is_shared(Tables const& tables, CpuJoinWay const& way, double parts) {
  return !way.by_bitmap && tables.build / parts > static_cast<double>(contract::kLaneTableRows);
}

/// What building takes, in builds of all tables by all threads at once: one thread builds a table. Lanes wait for
/// large ones, which are made one at a time; small ones are made by every lane that has a task of their partition.
double build_shares(Tables const& tables, double parts, rates::HostRates const& host) {
  double const threads = host.threads;
  if (tables.build / parts > static_cast<double>(contract::kLaneTableRows)) return threads;
  auto const tasks = std::max(tables.probe / parts / task_probe_rows(tables.probe, host), 1.0);  // of a partition
  return threads * std::min(tasks, threads) / std::min(threads, parts * tasks);
}

/// Of probe rows what was found is there, a bit each is made of it; of build rows every probe row sets a byte first.
double cpu_mark_ns(contract::JoinShape const& shape, CpuJoinWay const& way, rates::HostRates const& host) {
  double bytes = 0;
  for (auto const side : {Side::left, Side::right}) {
    if (!contract::is_marked(shape, side)) continue;
    bool const is_build = side == build_side(shape, way);
    bytes += is_build ? kBuildMarkBytes * contract::rows_of(shape) : kFoundBytes * contract::rows_of(shape, side);
  }
  return bytes / host.copy_bytes_per_s * contract::kNs;
}

}  // namespace

std::uint64_t cpu_chunk_rows(contract::JoinShape const& shape, rates::HostRates const& host) {
  return contract::cheapest_chunk(shape, task_rows(shape, host), host);
}

contract::PhaseCosts cpu_join_costs(contract::JoinShape const& shape, CpuJoinWay const& way,
                                    rates::HostRates const& host) {
  auto const parts = contract::partitions(way.radix_bits);
  auto const tables = tables_of(shape, way);
  auto const& built = tables.is_dense ? host.built_dense_rows : host.built_rows;
  auto const& probed = tables.is_dense ? host.probed_dense_rows : host.probed_rows;
  // A partition of many pairs is cut up, one of few costs a slice all the same.
  auto const building = std::min<double>(host.threads, parts);
  // All threads set bits of one bitmap.
  auto const shares = way.by_bitmap ? 1 : build_shares(tables, parts, host);
  auto const shared_ns = is_shared(tables, way, parts) ? tables.build * kSharedRowNs * (host.threads - 1.0) : 0;
  auto const build_ns = tables.build / built.at(tables.rows) * contract::kNs * tables.share * shares + shared_ns;
  auto const found = std::max(tables.probe, contract::pairs_made(shape));
  double moved_ns = 0;
  for (auto const side : {Side::left, Side::right})
    moved_ns +=
        contract::partition_ns(contract::rows_of(shape, side), moved_bytes(shape, way, side), way.radix_bits, host);
  return {{"start", host.query_ns},
          {"encode", contract::encode_ns(contract::rows_of(shape), host)},
          {"partition", moved_ns},
          {"build", build_ns + parts / building * host.slice_ns},
          {"probe", found / probed.at(tables.rows) * contract::kNs * tables.share},
          {"condition", contract::condition_ns(shape, host)},
          {"mark", cpu_mark_ns(shape, way, host)},
          {"gather", cpu_gather_ns(shape, way, host) + contract::unmatched_ns(shape, host)}};
}

}  // namespace garuda::cpu
