// The entry point: an Engine owns devices, pipelines and memory budgets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/calibration.hpp"
#include "garuda/device_info.hpp"
#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/join_build.hpp"
#include "garuda/pinned_buffer.hpp"
#include "garuda/plan.hpp"
#include "garuda/query.hpp"
#include "garuda/substrait.hpp"
#include "garuda/table.hpp"

namespace garuda {

struct EngineOptions {
  bool vulkan = true;       ///< false: the Vulkan loader is not touched
  bool cuda = true;         ///< false: the CUDA plug-in is not loaded
  bool validation = false;  ///< validation layer with synchronisation validation
  bool pipeline_cache_on_disk = true;
  /// Vulkan devices are opened with one queue, of the driver's usual priority, which is quicker (NVIDIA's 580: 71 ms in
  /// place of 92). For an engine that has little to do: its copies do not run beside its passes, and what else the GPU
  /// does waits for these.
  bool single_queue = false;
  /// Folder of calibrations. nullopt: calibration/ in $XDG_CACHE_HOME/garuda or ~/.cache/garuda; empty: none is read or
  /// written.
  std::optional<std::string> calibration_folder = std::nullopt;
  /// The first call whose path is open (Path::automatic) has GPUs, and the host beside them, measured where no
  /// calibration is found: on a thread of its own, while no query runs, in at most ten seconds each; kept in the
  /// folder, so that it happens once. Not where nothing can be kept, or GARUDA_CALIBRATION=off is in the environment.
  bool calibrate_in_background = true;
  /// Freed host memory that is kept for what follows even while calls have a memory limit, beside that limit, bytes.
  /// Without one a quarter of the host's memory may be kept.
  std::uint64_t kept_beside_limit_bytes = 0;
};

/// Joins and groups tables. Safe to use from several threads. Devices are opened on first use.
class Engine {
 public:
  /// Finds the Vulkan devices, and where none of them is a usable GPU the CUDA devices. A machine with neither gives an
  /// engine with the CPU path only.
  static Result<Engine> create(EngineOptions const& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// Devices found so far. The span stays good; CUDA devices, which follow the others, are in later ones.
  std::span<DeviceInfo const> devices() const noexcept;

  /// Looks for CUDA devices now, once; calls that ask for path cuda, allow it or explain do so by themselves. Takes
  /// tenths of a second where there is an NVIDIA driver. Errors: no_device, with what is missing: plug-in, driver,
  /// device.
  Result<void> find_cuda_devices();

  /// Opens the device that calls with these options run on before the first of them does, while tables are read, say.
  /// Nothing where the path is open or needs no device. Errors: no_device, usage for a name of several devices,
  /// device_failure; calls meet them again.
  Result<void> open_device(RunOptions const& options);

  /// Starts a join. `left`, `right` and what they view must outlive the result. Blocks until keys are encoded and
  /// partitioned; rows are computed in the background and by JoinResult::next.
  /// Tables of one device (DeviceTable::view) are joined there before this returns; only the result's columns move, and
  /// QueryResult::take_device_table leaves them there. Ordered rows come of method=global. Sides have at most 2^31 rows
  /// (2^28 with null keys, or probe rows without partitions), the result 2^32 - 2. Source: Wu et al. 2025, §4.
  /// Errors: usage (spec, tables in different places), invalid_input (unknown column, unsupported or different key
  /// types), no_device, out_of_memory, limit_exceeded, device_failure, cancelled.
  Result<std::unique_ptr<JoinResult>> join(TableView left, JoinRight const& right, JoinSpec const& spec,
                                           JoinOptions const& options = {});

  /// The number of rows that `join` would give, and what counting took; no pair is enumerated.
  struct Counted {
    std::uint64_t rows = 0;
    Plan plan;
    RunStats stats;
  };
  Result<Counted> join_count(TableView left, JoinRight const& right, JoinSpec const& spec,
                             JoinOptions const& options = {});

  /// The plan that join() would run, without running it.
  Result<Plan> explain_join(TableView left, JoinRight const& right, JoinSpec const& spec,
                            JoinOptions const& options = {});
  /// The plan that join_count() would run.
  Result<Plan> explain_join_count(TableView left, JoinRight const& right, JoinSpec const& spec,
                                  JoinOptions const& options = {});

  /// Makes the build side of joins: `keys` of `table`, 1 to 16 columns, each once, become words, partitions and tables
  /// of the host, once; joins whose right side it is look their left rows up in them, on path cpu, or on another path
  /// take the keys from there. Rows are those of the same join without it. Keys of other types that are compared with
  /// these (an int64 with an int32) are made by the first such join, and kept. Blocks. `table` must outlive it. Memory:
  /// some 12 to 24 bytes a row.
  /// A table on a device keeps an index of its own (DeviceTable::build_index).
  /// Errors: usage for such a table, no keys or a key twice; invalid_input for an unknown column, or a type that
  /// is no key; limit_exceeded, out_of_memory, cancelled.
  Result<JoinBuild> build(TableView table, std::vector<std::string> const& keys, JoinBuildOptions const& options = {});

  /// Copies a table into the memory of a device, to be joined there as often as wanted. Columns of fixed width, or of
  /// strings, binary and dictionaries of them, nulls included; all of them are copied. Blocks; `table` is free
  /// afterwards. Errors: no_device for one without the compute path; invalid_input for a column of another type;
  /// out_of_memory, limit_exceeded, device_failure, cancelled.
  Result<DeviceTable> upload(TableView table, DeviceTableOptions const& options = {});

  /// Host memory that the device reads and writes in place, `bytes` bytes (> 0). Blocks while pages are locked, which
  /// takes longer than copying them, so it pays for memory that is used again. A join that places its tables on this
  /// device (JoinTuning::placement) and finds all their columns in such memory copies them without the host, and gives
  /// its result in such memory, which is kept for the next one. Errors: usage for no bytes; no_device for a device that
  /// cannot import host memory (VK_EXT_external_memory_host); out_of_memory, device_failure.
  Result<PinnedBuffer> allocate_pinned(std::uint64_t bytes, DeviceTableOptions const& options = {});

  /// A copy of a table of columns of fixed width in such memory. Blocks. Errors: those of allocate_pinned;
  /// invalid_input for a column of variable width or a dictionary; cancelled.
  Result<Table> pin(TableView table, DeviceTableOptions const& options = {});

  /// Starts a group-by. `table` and what it views must outlive the result. Blocks until keys are encoded and
  /// partitioned; groups are computed in the background and by GroupByResult::next.
  /// The table of a device (DeviceTable::view) is grouped there before this returns, with the same bits: up to 2^30
  /// rows, with keys beyond 64 bits 2^28; no least or greatest of fixed_size_binary, means of decimals of a negative
  /// scale (invalid_input). Source: Wu et al. 2025, §5.
  /// Errors: those of `join`; invalid_input also for a sum beyond its type, naming the group.
  Result<std::unique_ptr<GroupByResult>> group_by(TableView table, GroupBySpec const& spec,
                                                  GroupByOptions const& options = {});

  /// The plan that group_by() would run, without running it.
  Result<Plan> explain_group_by(TableView table, GroupBySpec const& spec, GroupByOptions const& options = {});

  /// Runs a query: joins and group-bys among its operators on the path of the options, the others on the host. The
  /// tables of its scans, which are the host's, must outlive the result. Blocks until all rows are made. The plan has a
  /// node for each operator, with the rows that it gave.
  /// Errors: those of `join` and `group_by`; usage for an unknown function or arguments that it does not take;
  /// invalid_input for a row for which an expression has no value (an overflow, a quotient by zero, a failed cast).
  Result<std::unique_ptr<QueryResult>> run(Query const& query, QueryOptions const& options = {});
  /// The operators that `run` would run with the same options, each with its path, device, reason and rows, about; and
  /// the query as it is written. Of joins and group-bys over tables the strategies, too. Tables that are read when a
  /// query runs are not read. Errors: those of `run`, but for those of rows.
  Result<Plan> explain(Query const& query, QueryOptions const& options = {});

  /// Runs the query of a plan of Substrait: a binary message `substrait.Plan` of version 0.20 to 0.x with one relation,
  /// as DataFusion writes it. The tables that it reads by name must outlive the result; `plan` is free afterwards.
  /// Errors: those of `run`; usage for a relation, expression, function, type or version that queries do not have,
  /// naming it; invalid_input for bytes that are no plan, and for unknown tables and columns.
  Result<std::unique_ptr<QueryResult>> run_substrait(std::span<std::byte const> plan,
                                                     std::span<NamedTable const> tables,
                                                     QueryOptions const& options = {});
  /// The operators that `run_substrait` would run with the same options; see explain.
  Result<Plan> explain_substrait(std::span<std::byte const> plan, std::span<NamedTable const> tables,
                                 QueryOptions const& options = {});
  /// The tables that the plan reads, each with the columns and rows that it reads, for whoever reads these from files.
  /// Only the schemas of the tables that `find` gives are looked at, so they need no rows; each has a schema of its
  /// own. Errors: those of explain_substrait, and those of `find`.
  static Result<std::vector<PlannedTable>> tables_of_substrait(std::span<std::byte const> plan, FindTable const& find);

  /// Gives back the device memory that is kept between calls, up to an eighth of a device's, and the pinned memory that
  /// freed results left behind. Safe while calls run.
  void release_device_memory();

  /// Gives back the host memory that freed results and intermediates left for later ones: up to a quarter of the host's
  /// or the control group's memory, shared by all engines of the process; nothing is kept once the last of them is
  /// gone, or from a call with a memory limit on until one without. Safe while calls run, and results live.
  void release_host_memory();

  /// Measures the host and the devices that `options` name, keeps the rates in the calibration folder and plans with
  /// them from now on. Rates that are late for ten seconds a device are measured in one run each. Blocks. Returns the
  /// rates.
  /// Errors: no_device, usage for a name of several devices, output when a file cannot be written, cancelled,
  /// out_of_memory, device_failure.
  Result<std::vector<CalibrationInfo>> calibrate(CalibrateOptions const& options = {});

  /// Measures, now, what calibrate_in_background would measure; whether that is anything. Nothing is measured while
  /// another process measures, or for a day after it failed. Blocks. Errors: those of calibrate(); limit_exceeded where
  /// it takes too long.
  Result<void> calibrate_missing(Control const& control = {});
  bool lacks_calibration() const;

  /// The rates that plans are made with: of the host, then of every Vulkan device.
  std::vector<CalibrationInfo> calibrations() const;

  /// Messages of the validation layer since the engine was made; empty without `validation`.
  std::vector<std::string> validation_messages() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace garuda
