// The statistics that --stats prints.
#pragma once

#include <cstdint>
#include <string>

#include "garuda/plan.hpp"

namespace garuda::cli {

/// Times of the steps around the run itself.
struct FileTimes {
  std::uint64_t engine_ns = 0;       ///< finding devices, while files are read
  std::uint64_t device_open_ns = 0;  ///< then opening the device of a path that was asked for
  std::uint64_t engine_wait_ns = 0;  ///< what of both the run waited for
  std::uint64_t library_ns = 0;      ///< loading the library for files, Arrow's with it
  std::uint64_t read_ns = 0;         ///< reading and validating both inputs
  std::uint64_t write_ns = 0;        ///< writing the output file
  std::uint64_t read_bytes = 0;      ///< of the input files; of Parquet those of the columns that were read
  std::uint64_t write_bytes = 0;     ///< of the output file
  std::uint64_t elapsed_ns = 0;      ///< the whole command, files included
};

/// A table: path, device, rows, phases with their times and throughput, counters.
std::string stats_table(RunStats const& stats, Plan const& plan, FileTimes const& times);

/// One JSON object on one line: path, device, driver, rows_left, rows_right (of a group-by: rows), rows_out,
/// total_ns, phases, plan; then
/// counters, engine_ns, device_open_ns, engine_wait_ns, library_ns, read_ns, read_bytes, write_ns, write_bytes,
/// elapsed_ns.
std::string stats_json(RunStats const& stats, Plan const& plan, FileTimes const& times);

}  // namespace garuda::cli
