// The entry point: an Engine owns devices, pipelines and memory budgets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/calibration.hpp"
#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/pinned_buffer.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"

namespace garuda {

enum class DeviceKind : std::uint8_t { discrete, integrated, virtual_gpu, cpu, other };
std::string_view to_string(DeviceKind kind) noexcept;

/// What a device is driven through.
enum class DeviceApi : std::uint8_t { vulkan, cuda };
std::string_view to_string(DeviceApi api) noexcept;

/// A device as found, usable or not. A GPU that Vulkan and CUDA know is listed twice.
struct DeviceInfo {
  std::uint32_t index = 0;
  DeviceApi api = DeviceApi::vulkan;
  std::optional<std::uint32_t> same_gpu;  ///< of a CUDA device: the Vulkan device with its UUID
  std::string name;
  std::string driver;
  std::string api_version;
  DeviceKind kind = DeviceKind::other;
  std::uint64_t memory_bytes = 0;
  bool unified_memory = false;
  std::uint32_t subgroup_size = 0;
  bool usable = false;
  std::string reason;                                       ///< why it is not usable, or why it would be chosen
  std::vector<std::string> missing_optional;                ///< optional features it lacks, and what runs differently
  std::vector<std::pair<std::string, std::string>> traits;  ///< limits, features and formats that garuda uses
};

struct EngineOptions {
  bool vulkan = true;       ///< false: the Vulkan loader is not touched
  bool cuda = true;         ///< false: the CUDA plug-in is not loaded
  bool validation = false;  ///< validation layer with synchronisation validation
  bool pipeline_cache_on_disk = true;
  /// Folder of calibrations. nullopt: calibration/ in $XDG_CACHE_HOME/garuda or ~/.cache/garuda; empty: none is read or
  /// written.
  std::optional<std::string> calibration_folder = std::nullopt;
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

  /// Those found so far. The span stays good; CUDA devices, which follow the others, are in later ones.
  std::span<DeviceInfo const> devices() const noexcept;

  /// Looks for CUDA devices now, once; calls that ask for path cuda, allow it or explain do so by themselves. Takes
  /// tenths of a second where there is an NVIDIA driver. Errors: no_device, with what is missing: plug-in, driver,
  /// device.
  Result<void> find_cuda_devices();

  /// Starts a join. `left`, `right` and what they view must outlive the result. Blocks until keys are encoded and
  /// partitioned; rows are computed in the background and by JoinResult::next.
  /// Errors: usage (spec), invalid_input (unknown column, unsupported or different key types), no_device,
  /// out_of_memory, limit_exceeded, device_failure, cancelled.
  Result<std::unique_ptr<JoinResult>> join(TableView left, TableView right, JoinSpec const& spec,
                                           JoinOptions const& options = {});

  /// The number of rows that `join` would give, and what counting took; no pair is enumerated.
  struct Counted {
    std::uint64_t rows = 0;
    Plan plan;
    RunStats stats;
  };
  Result<Counted> join_count(TableView left, TableView right, JoinSpec const& spec, JoinOptions const& options = {});

  /// What `join` would do, without doing it.
  Result<Plan> explain_join(TableView left, TableView right, JoinSpec const& spec, JoinOptions const& options = {});

  /// Copies a table into the memory of a device, to be joined there as often as wanted. Columns of fixed width, nulls
  /// included; all of them are copied. Blocks; `table` is free afterwards.
  /// Errors: no_device for one without the compute path; invalid_input for a column of variable width or a dictionary;
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

  /// Joins tables of one device there; only the result's columns move, and the result stays there. Rows come in any
  /// order unless the spec asks for them ordered. Blocks. Errors: usage (spec, tables of two devices, an ordered result
  /// by another method than global); invalid_input (unknown column, key columns of types that are not compared, as for
  /// tables of the host, a decimal key beyond 64 bits, naming its row); limit_exceeded for sides beyond 2^31 rows
  /// (2^28 with null keys, or for probe rows without partitions) or a result beyond 2^32 - 2; out_of_memory,
  /// device_failure, cancelled. Source: Wu et al. 2025, §4.
  Result<DeviceJoin> join(DeviceTable const& left, DeviceTable const& right, JoinSpec const& spec,
                          DeviceJoinOptions const& options = {});

  /// Groups a table of a device there, as `group_by` does on the host: all aggregates, several keys or none, nulls; the
  /// same bits. The groups stay there, in any order unless the spec or the options ask for one. Blocks. Keys whose
  /// ranges together fit 64 bits are packed into one word, others numbered through a hash table. Errors: usage (spec,
  /// options); invalid_input (unknown column, keys of float16, least or greatest of fixed_size_binary, means of
  /// decimals of a negative scale, keys beyond 64 bits in their order, a sum beyond its type, naming the group);
  /// limit_exceeded beyond 2^30 rows, with keys beyond 64 bits beyond 2^28; out_of_memory, device_failure, cancelled.
  /// Source: Wu et al. 2025, §5.
  Result<DeviceGroupBy> group_by(DeviceTable const& table, GroupBySpec const& spec,
                                 DeviceGroupByOptions const& options = {});

  /// Starts a group-by. `table` and what it views must outlive the result. Blocks until keys are encoded and
  /// partitioned; groups are computed in the background and by GroupByResult::next.
  /// Errors: those of `join`; invalid_input also for a sum beyond its type, naming the group.
  Result<std::unique_ptr<GroupByResult>> group_by(TableView table, GroupBySpec const& spec,
                                                  GroupByOptions const& options = {});

  /// What `group_by` would do, without doing it.
  Result<Plan> explain_group_by(TableView table, GroupBySpec const& spec, GroupByOptions const& options = {});

  /// Gives back the device memory that is kept between calls, up to an eighth of a device's, and the pinned memory that
  /// freed results left behind. Safe while calls run.
  void release_device_memory();

  /// Gives back the host memory that freed results and intermediates left for later ones: up to a quarter of the host's
  /// or the control group's memory, shared by all engines of the process; nothing is kept once the last of them is
  /// gone, or from a call with a memory limit on until one without. Safe while calls run, and results live.
  void release_host_memory();

  /// Measures the host and the devices that `options` name, some seconds each, keeps the rates in the calibration
  /// folder and plans with them from now on. Blocks. Returns what was measured.
  /// Errors: no_device, usage for a name of several devices, output when a file cannot be written, cancelled,
  /// out_of_memory, device_failure.
  Result<std::vector<CalibrationInfo>> calibrate(CalibrateOptions const& options = {});

  /// The rates that plans are made with: of the host, then of every Vulkan device.
  std::vector<CalibrationInfo> calibrations() const;

  /// What the validation layer said since the engine was made; empty without `validation`.
  std::vector<std::string> validation_messages() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace garuda
