#include "bench/cuda_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/compute_bench.hpp"
#include "bench/reference_join.hpp"
#include "bench/table_builder.hpp"
#include "core/stopwatch.hpp"
#include "garuda/control.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_lane.hpp"

namespace garuda::bench {
namespace {

using operators::cuda_result;

/// Device memory of one's own.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(GarudaCudaApi const& api, GarudaCudaBuffer* buffer, std::uint64_t address)
      : api_(&api), buffer_(buffer), address_(address) {}
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(buffer_, other.buffer_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~DeviceMemory() {
    if (buffer_ != nullptr) api_->destroy_buffer(buffer_);
  }
  std::uint64_t address() const noexcept { return address_; }

 private:
  GarudaCudaApi const* api_ = nullptr;
  GarudaCudaBuffer* buffer_ = nullptr;
  std::uint64_t address_ = 0;
};

/// A device opened for timing, with one lane.
class CudaBench {
 public:
  /// `device`: CUDA's index, a part of a name, or nothing: the first. Errors: no_device, device_failure.
  static Result<std::unique_ptr<CudaBench>> open(std::optional<std::string> const& device);

  GarudaCudaApi const& api() const noexcept { return device_->api(); }
  GarudaCudaLane* lane() const noexcept { return lanes_.front()->handle(); }
  GarudaCudaTraits const& traits() const noexcept { return device_->traits(); }
  std::string driver() const {
    auto const version = traits().driver_version;
    return fmt::format("NVIDIA, CUDA {}.{}", version / 1000, version % 1000 / 10);
  }

  Result<DeviceMemory> allocate(std::uint64_t bytes);
  Result<DeviceMemory> upload(std::span<std::byte const> values);
  /// Adds `rows` values of a device column to a table of the host, as integers of the width of `bytes`.
  Result<void> download(TableBuilder& builder, std::string name, std::uint64_t address, std::uint32_t bytes,
                        std::uint64_t rows);

  /// Runs, blocking: the host's time, and the device's phases.
  Result<PhaseSample> time(std::function<Result<void>()> const& run);
  /// A copy of `bytes` bytes within the device: the time is the device's.
  Result<PhaseSample> time_copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);

 private:
  template <class T>
  Result<void> download_as(TableBuilder& builder, std::string name, std::uint64_t address, std::uint64_t rows);

  PhaseCollector phases_;
  std::unique_ptr<operators::CudaLibrary> library_;
  std::unique_ptr<operators::CudaDevice> device_;
  std::vector<std::unique_ptr<operators::CudaLane>> lanes_;
};

Result<std::uint32_t> find_device(std::vector<GarudaCudaTraits> const& devices, std::string const& asked) {
  std::uint32_t index = 0;
  auto const [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), index);
  if (error == std::errc{} && end == asked.data() + asked.size() && index < devices.size()) return index;
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (std::string_view(devices[i].name).find(asked) != std::string_view::npos) return i;
  return fail(ErrorCode::no_device, fmt::format("no CUDA device with this index or name: {}", asked));
}

Result<std::unique_ptr<CudaBench>> CudaBench::open(std::optional<std::string> const& device) {
  auto bench = std::make_unique<CudaBench>();
  GARUDA_TRY_ASSIGN(bench->library_, operators::CudaLibrary::load());
  GARUDA_TRY_ASSIGN(auto const devices, bench->library_->devices());
  std::uint32_t ordinal = 0;
  if (device && *device != "auto") {
    GARUDA_TRY_ASSIGN(ordinal, find_device(devices, *device));
  }
  GARUDA_TRY_ASSIGN(bench->device_, operators::CudaDevice::open(*bench->library_, ordinal));
  operators::CudaLaneOptions options;
  options.stats = &bench->phases_;
  GARUDA_TRY_ASSIGN(bench->lanes_, operators::CudaLane::open(*bench->device_, options));
  return bench;
}

Result<DeviceMemory> CudaBench::allocate(std::uint64_t bytes) {
  GarudaCudaError error{};
  GarudaCudaBuffer* buffer = nullptr;
  std::uint64_t address = 0;
  GARUDA_TRY(cuda_result(api().create_buffer(lane(), bytes, &buffer, &address, &error), error));
  return DeviceMemory(api(), buffer, address);
}

Result<DeviceMemory> CudaBench::upload(std::span<std::byte const> values) {
  GARUDA_TRY_ASSIGN(auto memory, allocate(values.size()));
  GarudaCudaError error{};
  GARUDA_TRY(cuda_result(api().upload(lane(), memory.address(), values.data(), values.size(), &error), error));
  return memory;
}

template <class T>
Result<void> CudaBench::download_as(TableBuilder& builder, std::string name, std::uint64_t address,
                                    std::uint64_t rows) {
  std::vector<T> values(rows);
  GarudaCudaError error{};
  GARUDA_TRY(cuda_result(api().download(lane(), address, values.data(), rows * sizeof(T), &error), error));
  return builder.add_column<T>(std::move(name), [&](std::uint64_t row) { return values[row]; });
}

Result<void> CudaBench::download(TableBuilder& builder, std::string name, std::uint64_t address, std::uint32_t bytes,
                                 std::uint64_t rows) {
  return bytes == 4 ? download_as<std::int32_t>(builder, std::move(name), address, rows)
                    : download_as<std::int64_t>(builder, std::move(name), address, rows);
}

Result<PhaseSample> CudaBench::time(std::function<Result<void>()> const& run) {
  phases_.take();
  Stopwatch const watch;
  GARUDA_TRY(run());
  PhaseSample sample;
  sample.ns = watch.elapsed_ns();
  sample.phases = phases_.take();
  return sample;
}

Result<PhaseSample> CudaBench::time_copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
  GARUDA_TRY_ASSIGN(auto sample, time([&] {
                      GarudaCudaError error{};
                      return cuda_result(api().copy(lane(), target, source, bytes, &error), error);
                    }));
  sample.ns = 0;
  for (auto const& phase : sample.phases) sample.ns += phase.ns;
  return sample;
}

/// What an outcome is made of.
struct Runs {
  std::vector<PhaseSample> runs;
  std::vector<PhaseSample> copies;
};

Result<Runs> sample(CudaBench& bench, std::uint32_t repeat, std::atomic<bool> const* cancelled, std::uint64_t bytes,
                    std::function<Result<void>()> const& run) {
  auto const copied = std::max<std::uint64_t>(bytes / 2, 1);
  GARUDA_TRY_ASSIGN(auto const source, bench.allocate(copied));
  GARUDA_TRY_ASSIGN(auto const target, bench.allocate(copied));
  Control control;
  control.cancelled = cancelled;
  Runs runs;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between runs");
    GARUDA_TRY_ASSIGN(auto copy, bench.time_copy(target.address(), source.address(), copied));
    runs.copies.push_back(std::move(copy));
    GARUDA_TRY_ASSIGN(auto timed, bench.time(run));
    runs.runs.push_back(std::move(timed));
  }
  return runs;
}

Record make_record(CudaBench const& bench, char const* op, std::uint64_t rows_out, std::uint64_t bytes,
                   Runs const& runs) {
  Record record;
  record.op = op;
  record.path = "cuda";
  record.device = bench.traits().name;
  record.driver = bench.driver();
  record.mode = "resident";
  record.rows_out = rows_out;
  record.time = summarise(times_of(runs.runs));
  record.bytes = bytes;
  record.phases = median_sample(runs.runs).phases;
  record.verified = true;
  return record;
}

std::span<std::byte const> bytes_of(Table const& table, std::size_t column) {
  auto const width = static_cast<std::size_t>(byte_width(table.schema()[column].type));
  auto const rows = static_cast<std::size_t>(table.num_rows());
  return {static_cast<std::byte const*>(table.batches()[0].columns[column].values), rows * width};
}

/// A table's columns on the device, the first the keys.
struct ResidentColumns {
  std::vector<DeviceMemory> memory;
  GarudaCudaResidentTable table{};
};

Result<ResidentColumns> upload_columns(CudaBench& bench, Table const& table) {
  ResidentColumns resident;
  resident.table.rows = static_cast<std::uint64_t>(table.num_rows());
  if (table.schema().size() > GARUDA_CUDA_MAX_COLUMNS)
    return fail(ErrorCode::usage, fmt::format("--mode resident takes at most {} columns", GARUDA_CUDA_MAX_COLUMNS));
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    GARUDA_TRY_ASSIGN(auto memory, bench.upload(bytes_of(table, c)));
    GarudaCudaColumn const column{memory.address(), static_cast<std::uint32_t>(byte_width(table.schema()[c].type))};
    (c == 0 ? resident.table.key : resident.table.columns[resident.table.num_columns++]) = column;
    resident.memory.push_back(std::move(memory));
  }
  return resident;
}

/// A join or a group-by of the plug-in, ended when it goes.
template <class Handle>
using Owned = std::unique_ptr<Handle, void (*)(Handle*)>;

Result<Table> download_join(CudaBench& bench, JoinTables const& tables, GarudaCudaResidentRows const& rows) {
  TableBuilder builder(rows.rows);
  auto const& left = tables.left.schema();
  auto const& right = tables.right.schema();
  GARUDA_TRY(bench.download(builder, left[0].name, rows.key.address, rows.key.bytes, rows.rows));
  for (std::size_t c = 1; c < left.size(); ++c)
    GARUDA_TRY(bench.download(builder, left[c].name, rows.left[c - 1].address, rows.left[c - 1].bytes, rows.rows));
  for (std::size_t c = 1; c < right.size(); ++c)
    GARUDA_TRY(bench.download(builder, right[c].name, rows.right[c - 1].address, rows.right[c - 1].bytes, rows.rows));
  return builder.finish();
}

std::uint64_t join_bytes(JoinTables const& tables, std::uint64_t rows_out) {
  auto const left_bytes = row_bytes(tables.left.schema());
  auto const right_bytes = row_bytes(tables.right.schema());
  auto const key_bytes = static_cast<std::uint64_t>(byte_width(tables.right.schema()[0].type));
  return static_cast<std::uint64_t>(tables.left.num_rows()) * left_bytes +
         static_cast<std::uint64_t>(tables.right.num_rows()) * right_bytes +
         rows_out * (left_bytes + right_bytes - key_bytes);
}

Error wrong_result(CudaBench const& bench, Error error) {
  return std::move(error).wrap(fmt::format("wrong result of path cuda on {}", bench.traits().name));
}

constexpr char const* kClock = "time: host time from call to completion, phases: CUDA events";

}  // namespace

Result<JoinOutcome> run_cuda_join_bench(JoinBenchRequest const& request) {
  GARUDA_TRY(check(request));
  if (request.floor) return fail(ErrorCode::usage, "--floor draws what --path graphics draws");
  GARUDA_TRY_ASSIGN(auto bench, CudaBench::open(request.device));
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
  GARUDA_TRY_ASSIGN(auto const left, upload_columns(*bench, tables.left));
  GARUDA_TRY_ASSIGN(auto const right, upload_columns(*bench, tables.right));
  auto const& api = bench->api();
  GarudaCudaError error{};
  GarudaCudaResidentJoin* begun = nullptr;
  GARUDA_TRY(cuda_result(api.begin_resident_join(bench->lane(), &left.table, &right.table,
                                                 max_result_rows(request.workload), &begun, &error),
                         error));
  Owned<GarudaCudaResidentJoin> const join(begun, api.end_resident_join);
  GarudaCudaResidentRows rows{};
  auto const run = [&] { return cuda_result(api.run_resident_join(join.get(), &rows, &error), error); };
  GARUDA_TRY(run());
  JoinOutcome outcome;
  {
    ReferenceJoin const reference(tables.left.view(), tables.right.view());
    GARUDA_TRY_ASSIGN(auto const joined, download_join(*bench, tables, rows));
    if (auto checked = reference.check(joined.schema(), joined.batches()); !checked)
      return tl::unexpected(wrong_result(*bench, std::move(checked).error()));
    outcome.compared_rows = reference.compares_rows();
  }
  auto const bytes = join_bytes(tables, rows.rows);
  GARUDA_TRY_ASSIGN(auto const runs, sample(*bench, request.repeat, request.cancelled, bytes, run));
  outcome.record = make_record(*bench, "join", rows.rows, bytes, runs);
  outcome.record.rows_left = left.table.rows;
  outcome.record.rows_right = right.table.rows;
  outcome.choices = kClock;
  outcome.bandwidth = {"copying as many bytes,", per_second(bytes, summarise(times_of(runs.copies)).median_ns)};
  return outcome;
}

Result<GroupByOutcome> run_cuda_group_by_bench(GroupByBenchRequest const& request) {
  GARUDA_TRY(check(request));
  auto const& workload = request.workload;
  bool const is_sum = request.functions == std::vector{AggregateFunction::sum} &&
                      workload.value_type == ValueType::i32 && workload.keys == 1 && workload.rows > 0;
  if (!is_sum || request.floor)
    return fail(ErrorCode::usage,
                "--mode resident --path cuda sums int32 values by one key: --agg sum --value-type i32");
  GARUDA_TRY_ASSIGN(auto bench, CudaBench::open(request.device));
  GARUDA_TRY_ASSIGN(auto const table, generate_group_table(workload));
  GARUDA_TRY_ASSIGN(auto const resident, upload_columns(*bench, table));
  auto const& api = bench->api();
  GarudaCudaError error{};
  GarudaCudaResidentGroupBy* begun = nullptr;
  GARUDA_TRY(cuda_result(
      api.begin_resident_group_by(bench->lane(), resident.table.key.address, resident.table.columns[0].address,
                                  workload.rows, std::min(workload.groups, workload.rows), &begun, &error),
      error));
  Owned<GarudaCudaResidentGroupBy> const group_by(begun, api.end_resident_group_by);
  GarudaCudaResidentGroups groups{};
  auto const run = [&] { return cuda_result(api.run_resident_group_by(group_by.get(), &groups, &error), error); };
  GARUDA_TRY(run());
  auto bytes = workload.rows * row_bytes(table.schema());
  {
    TableBuilder builder(groups.groups);
    GARUDA_TRY(bench->download(builder, "k0", groups.keys, 4, groups.groups));
    GARUDA_TRY(bench->download(builder, "sum_v", groups.sums, 8, groups.groups));
    auto const grouped = builder.finish();
    bytes += groups.groups * row_bytes(grouped.schema());
    ReferenceGroups const reference(table, workload);
    if (auto checked = reference.check({{AggregateFunction::sum, "v", std::nullopt}}, grouped.batches()); !checked)
      return tl::unexpected(wrong_result(*bench, std::move(checked).error()));
  }
  GroupByOutcome outcome;
  GARUDA_TRY_ASSIGN(auto const runs, sample(*bench, request.repeat, request.cancelled, bytes, run));
  outcome.record = make_record(*bench, "group-by", groups.groups, bytes, runs);
  outcome.record.rows = workload.rows;
  outcome.record.groups = workload.groups;
  outcome.choices = kClock;
  outcome.bandwidth = {"copying as many bytes,", per_second(bytes, summarise(times_of(runs.copies)).median_ns)};
  return outcome;
}

Result<CopyBandwidth> measure_cuda_copy(std::string const& device) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  GARUDA_TRY_ASSIGN(auto bench, CudaBench::open(device));
  std::vector<std::byte> values(kBytes);
  GARUDA_TRY_ASSIGN(auto const memory, bench->upload(values));
  GarudaCudaError error{};
  auto const& api = bench->api();
  GARUDA_TRY_ASSIGN(auto const copied, bench->time([&]() -> Result<void> {
    GARUDA_TRY(cuda_result(api.upload(bench->lane(), memory.address(), values.data(), kBytes, &error), error));
    return cuda_result(api.download(bench->lane(), memory.address(), values.data(), kBytes, &error), error);
  }));
  return CopyBandwidth{"device copy in and out", per_second(2 * kBytes, copied.ns)};
}

}  // namespace garuda::bench
