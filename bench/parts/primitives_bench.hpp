// `garuda bench primitives`: the passes that compute operators are made of, against the device's copy rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

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
