// A path that joins and groups tables lying in its device's memory: what the benchmarks of mode resident ask of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"
#include "vk_runtime/memory/exported_buffer.hpp"

namespace garuda::bench {

/// A path and how it is told to go about it: the text of its tuning, "method=global,…".
struct Choice {
  Path path = Path::automatic;
  std::string tuning;
};

/// Device memory that another API on the same GPU may open.
struct SharedMemory {
  os::FileDescriptor descriptor;
  std::uint64_t bytes = 0;  ///< of the whole allocation, which is one buffer's
};

/// Whether other paths are to see an uploaded table.
enum class Sharing : std::uint8_t { own, shared };

struct UploadedColumn {
  std::uint64_t address = 0;                    ///< as the path's API gives it
  std::shared_ptr<void const> memory;           ///< where it lies
  std::function<Result<SharedMemory>()> share;  ///< opens the memory for another API; none unless it was made for it
};

/// A table's columns in device memory, the first the keys. Gone before the path that uploaded it.
struct UploadedTable {
  std::uint64_t rows = 0;
  Schema schema;
  std::vector<UploadedColumn> columns;

  std::uint32_t width(std::size_t column) const { return static_cast<std::uint32_t>(byte_width(schema[column].type)); }
};

/// A join, a group-by or a histogram of uploaded tables. Gone before them. Errors of its members: those of the path.
struct ResidentQuery {
  /// Runs once, and again while the result needs more room than was expected. Called first. Gives the result's rows.
  std::function<Result<std::uint64_t>()> prepare;
  /// The result of prepare(), in host memory. Called before run().
  std::function<Result<Table>()> download;
  std::function<Result<Sample>()> run;
  std::function<std::string()> describe;  ///< what was chosen, in words; after prepare()
};

/// Identifies a GPU, whatever API opened it.
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
  /// The clock that times samples.
  virtual std::string_view clock() const noexcept = 0;

  /// Copies a table of one batch to the device, its columns 4 or 8 bytes wide and without nulls.
  /// Errors: no_device where the path does not share memory and is asked to; out_of_memory, limit_exceeded,
  /// device_failure.
  Result<UploadedTable> upload(Table const& table, Sharing sharing);
  /// Opens the memory of `table`, which another path on the same GPU uploaded to be shared and which outlives the
  /// result. Copies nothing. Errors: no_device where a path does not share or open memory; device_failure.
  Result<UploadedTable> open_shared(UploadedTable const& table);
  /// The inner join on the first columns: left columns, then right columns without the key. `expected_rows`: room for
  /// the result at first. Errors: usage for tables that the path does not join; those of upload().
  virtual Result<ResidentQuery> join(UploadedTable const& left, UploadedTable const& right,
                                     std::uint64_t expected_rows) = 0;
  /// Groups by all columns but the last: the keys, then each function of the last column. `expected_groups` estimates.
  /// Errors: usage for what the path does not compute; those of upload().
  virtual Result<ResidentQuery> group_by(UploadedTable const& table, std::vector<AggregateFunction> const& functions,
                                         std::uint64_t expected_groups) = 0;
  /// Counts the first column's values, 4 bytes wide, in `bins` bins by their low bits; a power of two. The result is
  /// one column of int32. Only the phase "count" is timed.
  virtual Result<ResidentQuery> histogram(UploadedTable const& table, std::uint64_t bins,
                                          HistogramSetting const& setting) = 0;
  /// The settings that are worth comparing.
  virtual std::vector<HistogramSetting> histogram_settings(std::uint64_t bins) const = 0;
  /// A copy within the device that reads and writes `bytes` bytes in all.
  virtual Result<std::function<Result<Sample>()>> copy(std::uint64_t bytes) = 0;

 protected:
  virtual Result<UploadedColumn> upload_column(std::span<std::byte const> bytes, Sharing sharing) = 0;
  virtual Result<UploadedColumn> open_column(SharedMemory memory);
};

/// The columns of a resident join's result.
Schema joined_schema(UploadedTable const& left, UploadedTable const& right);
/// The columns of a resident group-by's result.
Schema grouped_schema(UploadedTable const& table, std::vector<AggregateFunction> const& functions);

/// Opens a Vulkan device ("auto", an index or a part of a name). `tuning`: method and payload of joins, method of
/// group-bys, as --tuning of garuda has them; an operator that does not have all of it refuses its workloads. Samples
/// are timed by the device where its timestamps can be trusted. Errors: no_device; usage for a tuning of neither.
Result<std::unique_ptr<ResidentPath>> open_compute_path(std::string_view device, std::string const& tuning);

/// Opens the CUDA device with this UUID where one is given, else `device` (CUDA's index, a part of a name, or nothing:
/// the first). Samples are timed by CUDA events, from the first step of each stretch of work to its wait; host_ns has
/// the waits between them too. `tuning`: of joins, as method=partitioned|global,payload=carry|gather,
/// partition_rows=N,partition_by=passes|sort,tile_items=8|16.
/// Errors: usage, no_device, device_failure.
Result<std::unique_ptr<ResidentPath>> open_cuda_path(std::optional<std::string> const& device,
                                                     std::optional<DeviceUuid> const& uuid, std::string const& tuning);

/// Copies to the CUDA device of this name and back. Errors: no_device, out_of_memory, device_failure.
Result<CopyBandwidth> measure_cuda_copy(std::string const& device);

/// The paths that were asked for, each opened or the reason why not. A CUDA device beside a Vulkan device is the same
/// GPU. Errors of a path: usage where it has no resident mode; no_device; those of the path.
std::vector<Result<std::unique_ptr<ResidentPath>>> open_resident_paths(std::span<Choice const> choices,
                                                                       std::optional<std::string> const& device);

}  // namespace garuda::bench
