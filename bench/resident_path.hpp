// A path that joins and groups tables lying in its device's memory: what the benchmarks of mode resident ask of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compute_bench.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"
#include "vk_runtime/exported_buffer.hpp"

namespace garuda::bench {

/// Device memory that another API on the same GPU may open.
struct SharedMemory {
  vk::FileDescriptor descriptor;
  std::uint64_t bytes = 0;  ///< of the whole allocation, which is one buffer's
};

/// Memory that an uploaded column lies in; given back when it goes.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(DeviceBlock const&) = delete;
  DeviceBlock& operator=(DeviceBlock const&) = delete;
  virtual ~DeviceBlock() = default;
  /// Opens the memory for another API. Errors: no_device for memory that was not made for it; those of the driver.
  virtual Result<SharedMemory> share() const;
};

/// Whether other paths are to see an uploaded table.
enum class Sharing : std::uint8_t { own, shared };

/// A table's columns in device memory, the first the keys. Gone before the path that uploaded it.
struct UploadedTable {
  std::uint64_t rows = 0;
  Schema schema;
  std::vector<std::uint64_t> addresses;  ///< of the columns, as the path's API gives them
  std::vector<std::unique_ptr<DeviceBlock>> blocks;
};

/// Something that runs on a device as often as wanted.
class ResidentRun {
 public:
  ResidentRun() = default;
  ResidentRun(ResidentRun const&) = delete;
  ResidentRun& operator=(ResidentRun const&) = delete;
  virtual ~ResidentRun() = default;
  /// Runs and waits. Errors: those of the path.
  virtual Result<PhaseSample> run() = 0;
};

/// A join or a group-by of uploaded tables. Gone before them.
class ResidentQuery : public ResidentRun {
 public:
  /// Runs once, and again while the result needs more room than was expected. Called first. Returns the result's rows.
  virtual Result<std::uint64_t> prepare() = 0;
  /// The result of prepare(), in host memory. Called before run().
  virtual Result<Table> download() = 0;
  /// What was chosen, in words.
  virtual std::string describe() const = 0;
};

/// What tells a GPU apart, whatever API opened it.
using DeviceUuid = std::array<std::uint8_t, 16>;

/// One way to count values by their low bits.
struct HistogramSetting {
  std::uint32_t threads = 0;  ///< of a workgroup; 0: the library's own choice
  std::uint32_t each = 0;     ///< values an invocation (compute), workgroups a multiprocessor (cuda)
  bool by_block = false;      ///< cuda: a workgroup takes a stretch of rows, not all workgroups in turn
};

/// A path on an opened device.
class ResidentPath {
 public:
  ResidentPath() = default;
  ResidentPath(ResidentPath const&) = delete;
  ResidentPath& operator=(ResidentPath const&) = delete;
  virtual ~ResidentPath() = default;

  virtual Path path() const noexcept = 0;
  virtual std::string device() const = 0;
  virtual std::string driver() const = 0;
  virtual DeviceUuid uuid() const noexcept = 0;
  /// Whether a CPU does the device's work.
  virtual bool is_software() const noexcept = 0;
  /// What samples are timed by.
  virtual std::string_view clock() const noexcept = 0;

  /// Copies a table of one batch to the device, its columns 4 or 8 bytes wide and without nulls.
  /// Errors: no_device where the path does not share memory and is asked to; out_of_memory, limit_exceeded,
  /// device_failure.
  virtual Result<UploadedTable> upload(Table const& table, Sharing sharing) = 0;
  /// The same bytes as `table`, which another path on the same GPU uploaded to be shared and which outlives the result.
  /// Nothing is copied. Errors: no_device where the path does not open memory of others; device_failure.
  virtual Result<UploadedTable> open_shared(UploadedTable const& table);
  /// The inner join on the first columns: left columns, then right columns without the key. `expected_rows`: room for
  /// the result at first. Errors: usage for tables that the path does not join; those of upload().
  virtual Result<std::unique_ptr<ResidentQuery>> begin_join(UploadedTable const& left, UploadedTable const& right,
                                                            std::uint64_t expected_rows) = 0;
  /// Groups by all columns but the last: the keys, then each function of the last column. `expected_groups`: about.
  /// Errors: usage for what the path does not compute; those of upload().
  virtual Result<std::unique_ptr<ResidentQuery>> begin_group_by(UploadedTable const& table,
                                                                std::vector<AggregateFunction> const& functions,
                                                                std::uint64_t expected_groups) = 0;
  /// Counts the first column's values, 4 bytes wide, in `bins` bins by their low bits; a power of two. The result is
  /// one column of int32. Only the phase "count" is timed.
  virtual Result<std::unique_ptr<ResidentQuery>> begin_histogram(UploadedTable const& table, std::uint64_t bins,
                                                                 HistogramSetting const& setting) = 0;
  /// The settings that are worth comparing.
  virtual std::vector<HistogramSetting> histogram_settings(std::uint64_t bins) const = 0;
  /// A copy within the device that reads and writes `bytes` bytes in all.
  virtual Result<std::unique_ptr<ResidentRun>> begin_copy(std::uint64_t bytes) = 0;
};

}  // namespace garuda::bench
