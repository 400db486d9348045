// The benchmarks of parts alone: `garuda bench partition`, `histogram` and `primitives`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/workloads/generators.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

// Partitioning: how near it comes to merely copying memory.

/// Where the row ids come from that are moved with the keys.
///   made:   they are the keys' numbers, as in a table without null keys
///   stored: read from memory beside the keys, as after rows with null keys are left out
enum class RowIds : std::uint8_t { made, stored };
/// Errors: usage.
Result<RowIds> parse_row_ids(std::string_view text);

struct PartitionRequest : Sampling {
  std::uint64_t rows = 0;
  std::uint32_t bits = 10;
  KeyType key_type = KeyType::i32;
  std::uint32_t payload = 0;                                  ///< columns of the key's type that are moved along
  bool mixed = false;                                         ///< partition by hash digits, not by the lowest bits
  std::vector<RowIds> row_ids{RowIds::made, RowIds::stored};  ///< measured one after the other
  std::string instructions;                                   ///< empty: the fastest that the machine has
  std::vector<std::uint32_t> threads{1, 0};                   ///< one measurement each; 0: all
};

/// Partitions random keys with their row ids, compares the whole result with what a stable partitioning gives, then
/// partitions under the clock, with copies of 256 MiB (calibrate::HostCopy) by as many threads before and after each
/// sample. One outcome a number of threads and kind of row ids: op "partition"; bytes: keys read twice (count,
/// move), stored row ids and payload once, everything written once; ratios: bytes that samples move a second over those
/// of the copies around each. Blocks. Errors: usage (rows or repeat 0, no threads or row ids, bits above 16, an
/// instruction set that is not there); out_of_memory; cancelled; device_failure when a row is in the wrong place.
Result<std::vector<Outcome>> run_partition_bench(PartitionRequest const& request);

// Histograms: integers counted by their low bits, as GARUDA's §6.2 does, by blending and by atomics.

struct HistogramRequest : Sampling {
  std::uint64_t rows = std::uint64_t{1} << 25;
  std::uint64_t bins = std::uint64_t{1} << 24;
  std::vector<Path> paths{Path::graphics, Path::compute, Path::cuda};
  std::optional<std::string> device;
};

/// Counts random words on every path: graphics draws a point a value and adds by blending, compute and cuda add by
/// atomics in every setting of their grids, the setting the first of an outcome's notes. Every count is compared with
/// the host's before anything is timed; settings are timed one after the other, without the clearing of the bins: op
/// "histogram", mode "resident". Outcomes in the order of paths, then settings. Blocks. Errors: usage for bins that are
/// no power of two, or no image; those of the paths; device_failure for a wrong count; cancelled.
Result<std::vector<Outcome>> run_histogram_bench(HistogramRequest const& request);

// Primitives: the passes that compute operators are made of, against the device's copy rate.

enum class PrimitiveOp : std::uint8_t { copy, reduce, scan, histogram, partition, gather, segments, compact };
/// Errors: usage.
Result<PrimitiveOp> parse_primitive_op(std::string_view text);

struct PrimitivesRequest : Sampling {
  PrimitiveOp op = PrimitiveOp::copy;
  std::uint64_t rows = 0;
  std::uint32_t bits = 8;     ///< of a digit: histogram, partition
  std::uint32_t payload = 1;  ///< u32 columns that move with the keys
  bool stable = true;
  bool clustered = false;           ///< gather: rows within 2^12 of each other, else over the whole column
  std::uint64_t segment_rows = 64;  ///< segments: elements of one, on the average
  std::uint32_t subgroup = 0;       ///< size to force; 0: the device's
  std::string device = "auto";
};

/// Runs the primitive on random words, compares the whole result with the host's, then times it: path "compute", mode
/// "resident", bytes read and written once. It is timed as a whole; its phases are those of runs with timestamps
/// between passes, which take a little longer. Beside it stands a copy of as many bytes by a compute pass, in the same
/// repetitions. Blocks.
/// Errors: usage; no_device; limit_exceeded; out_of_memory; cancelled; device_failure, also when a result differs.
Result<Outcome> run_primitives_bench(PrimitivesRequest const& request);

}  // namespace garuda::bench
