// One cell of the suite on the paths and devices of this machine: verified, timed in turns, digested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/operator_bench.hpp"
#include "bench/workloads/workload.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::report {

/// The path and device that a cell is measured on. Mode resident: Engine::upload put the tables there.
struct Target {
  Path path = Path::cpu;
  bench::Mode mode = bench::Mode::end_to_end;
  std::optional<std::uint32_t> device;  ///< nullopt on the CPU path

  friend bool operator==(Target const&, Target const&) = default;
};
/// "compute on device 0, resident".
std::string describe(Target const& target);

/// A cell measured on a target.
struct Measured {
  bench::Record record;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  bench::RowDigest digest;
  std::uint64_t longest_submission_us = 0;  ///< of all timed runs; 0 where nothing was submitted
};

/// Runs the workload on each target once, comparing the whole result with the reference, then takes `sampling.repeat`
/// samples, all in turns: from the call to the last batch, or in mode resident to the result on the device, the faster
/// of two runs that begin with memory of their own. One result a target, in their order; a target that fails leaves the
/// others. Blocks. Errors: cancelled.
Result<std::vector<Result<Measured>>> measure_cell(Engine& engine, bench::Workload const& workload,
                                                   std::vector<Target> const& targets, bench::Sampling const& sampling);

}  // namespace garuda::report
