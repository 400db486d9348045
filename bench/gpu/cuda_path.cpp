// The CUDA path on resident tables, through the plug-in.
#include "bench/gpu/resident_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/workloads/table_builder.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_lane.hpp"
#include "operators/resolve/tuning_text.hpp"

namespace garuda::bench {
namespace {

static_assert(static_cast<int>(Payload::carry) == GARUDA_CUDA_PAYLOAD_CARRY);
static_assert(static_cast<int>(Payload::gather) == GARUDA_CUDA_PAYLOAD_GATHER);

constexpr std::array kPartitionBy{resolve::Choice{"auto", 0}, resolve::Choice{"passes", 1}, resolve::Choice{"sort", 2}};

Result<GarudaCudaResidentTuning> parse_cuda_tuning(std::string const& text) {
  using resolve::choice_knob;
  using resolve::number_knob;
  using Tuning = GarudaCudaResidentTuning;
  std::array const knobs{choice_knob("payload", resolve::kPayloadChoices, &Tuning::payload),
                         number_knob("partition_rows", 1, 1 << 30, &Tuning::partition_rows),
                         choice_knob("partition_by", kPartitionBy, &Tuning::partition_by),
                         number_knob("tile_items", 8, 16, &Tuning::tile_items)};
  return resolve::parse_tuning<Tuning>(knobs, text);
}

Result<std::uint32_t> find_device(std::vector<GarudaCudaTraits> const& devices, std::string const& asked) {
  std::uint32_t index = 0;
  auto const [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), index);
  if (error == std::errc{} && end == asked.data() + asked.size() && index < devices.size()) return index;
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (std::string_view(devices[i].name).find(asked) != std::string_view::npos) return i;
  return fail(ErrorCode::no_device, fmt::format("no CUDA device with this index or name: {}", asked));
}

Result<std::uint32_t> find_same(std::vector<GarudaCudaTraits> const& devices, DeviceUuid const& uuid) {
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (std::ranges::equal(devices[i].uuid, uuid)) return i;
  return fail(ErrorCode::no_device, "the Vulkan device is no CUDA device");
}

/// A device opened for timing, with one lane. Does not move.
class CudaBench {
 public:
  static Result<std::unique_ptr<CudaBench>> open(std::optional<std::string> const& device,
                                                 std::optional<DeviceUuid> const& uuid) {
    auto bench = std::make_unique<CudaBench>();
    GARUDA_TRY_ASSIGN(bench->library_, cuda::CudaLibrary::load());
    GARUDA_TRY_ASSIGN(auto const devices, bench->library_->devices());
    std::uint32_t ordinal = 0;
    if (uuid) {
      GARUDA_TRY_ASSIGN(ordinal, find_same(devices, *uuid));
    } else if (device && *device != "auto") {
      GARUDA_TRY_ASSIGN(ordinal, find_device(devices, *device));
    }
    GARUDA_TRY_ASSIGN(bench->device_, cuda::CudaDevice::open(*bench->library_, ordinal));
    cuda::CudaLaneOptions options;
    options.stats = &bench->phases_;
    GARUDA_TRY_ASSIGN(bench->lanes_, cuda::CudaLane::open(*bench->device_, options));
    return bench;
  }

  GarudaCudaApi const& api() const noexcept { return device_->api(); }
  cuda::CudaLane const& own_lane() const noexcept { return *lanes_.front(); }
  GarudaCudaLane* lane() const noexcept { return own_lane().handle(); }
  GarudaCudaTraits const& traits() const noexcept { return device_->traits(); }

  Result<Table> download(Schema const& schema, std::vector<std::uint64_t> const& columns, std::uint64_t rows) {
    TableBuilder builder(rows);
    for (std::size_t c = 0; c < schema.size(); ++c)
      GARUDA_TRY(builder.add_column(schema[c], [&](std::byte* values) {
        auto const bytes = rows * static_cast<std::uint64_t>(byte_width(schema[c].type));
        return cuda::call(api().download, lane(), columns[c], values, bytes);
      }));
    return builder.finish();
  }

  /// Runs, blocking.
  Result<Sample> time(std::function<Result<void>()> const& run) { return phases_.time(run); }

 private:
  PhaseCollector phases_;
  std::unique_ptr<cuda::CudaLibrary> library_;
  std::unique_ptr<cuda::CudaDevice> device_;
  std::vector<std::unique_ptr<cuda::CudaLane>> lanes_;
};

Result<GarudaCudaResidentTable> resident_table(UploadedTable const& table) {
  if (table.columns.size() > GARUDA_CUDA_MAX_COLUMNS)
    return fail(ErrorCode::usage, fmt::format("resident tables of path cuda have at most {} columns: {}",
                                              GARUDA_CUDA_MAX_COLUMNS, table.columns.size()));
  GarudaCudaResidentTable resident{};
  resident.rows = table.rows;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    GarudaCudaColumn const column{table.columns[c].address, table.width(c)};
    (c == 0 ? resident.key : resident.columns[resident.num_columns++]) = column;
  }
  return resident;
}

std::uint32_t cuda_kind_of(DataType const& type) {
  if (type.id == TypeId::float64) return GARUDA_CUDA_FLOAT64;
  return byte_width(type) == 4 ? GARUDA_CUDA_INT32 : GARUDA_CUDA_INT64;
}

std::uint32_t function_of(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::count:
      return GARUDA_CUDA_FUNCTION_COUNT;
    case AggregateFunction::sum:
      return GARUDA_CUDA_FUNCTION_SUM;
    case AggregateFunction::min:
      return GARUDA_CUDA_FUNCTION_MIN;
    case AggregateFunction::max:
      return GARUDA_CUDA_FUNCTION_MAX;
    default:
      break;
  }
  return GARUDA_CUDA_FUNCTION_MEAN;
}

class CudaPath final : public ResidentPath {
 public:
  CudaPath(std::unique_ptr<CudaBench> bench, GarudaCudaResidentTuning const& tuning)
      : bench_(std::move(bench)), tuning_(tuning) {}

  Path path() const noexcept override { return Path::cuda; }
  std::string device() const override { return bench_->traits().name; }
  std::string driver() const override {
    auto const version = bench_->traits().driver_version;
    return fmt::format("NVIDIA, CUDA {}.{}", version / 1000, version % 1000 / 10);
  }
  DeviceUuid uuid() const noexcept override { return std::to_array(bench_->traits().uuid); }
  bool is_software() const noexcept override { return false; }
  std::string_view clock() const noexcept override { return "CUDA events"; }

  Result<ResidentQuery> join(UploadedTable const& left, UploadedTable const& right,
                             std::uint64_t expected_rows) override {
    GARUDA_TRY_ASSIGN(auto const left_table, resident_table(left));
    GARUDA_TRY_ASSIGN(auto const right_table, resident_table(right));
    GarudaCudaResidentJoin* begun = nullptr;
    GARUDA_TRY(cuda::call(api().begin_resident_join, bench_->lane(), &left_table, &right_table, GARUDA_CUDA_JOIN_ROWS,
                          expected_rows, &tuning_, &begun));
    std::shared_ptr<GarudaCudaResidentJoin> const join(begun, api().end_resident_join);
    auto const rows = std::make_shared<GarudaCudaResidentRows>();
    auto const run = [this, join, rows] { return cuda::call(api().run_resident_join, join.get(), rows.get()); };
    ResidentQuery query;
    query.prepare = [run, rows]() -> Result<std::uint64_t> {
      GARUDA_TRY(run());
      return rows->rows;
    };
    query.download = [this, rows, schema = joined_schema(left, right), num_left = left.columns.size()] {
      std::vector<std::uint64_t> columns{rows->key.address};
      for (std::size_t c = 1; c < schema.size(); ++c)
        columns.push_back((c < num_left ? rows->left[c - 1] : rows->right[c - num_left]).address);
      return bench_->download(schema, columns, rows->rows);
    };
    query.run = [this, run] { return bench_->time(run); };
    query.describe = [] { return "partitioned, joined in shared memory"; };
    return query;
  }

  Result<ResidentQuery> group_by(UploadedTable const& table, std::vector<AggregateFunction> const& functions,
                                 std::uint64_t expected_groups) override {
    if (table.schema.size() != 2)
      return fail(ErrorCode::usage,
                  fmt::format("resident group-bys of path cuda have one key: {}", table.schema.size() - 1));
    std::vector<GarudaCudaResidentAggregate> aggregates;
    for (auto const function : functions)
      aggregates.push_back({table.columns[1].address, cuda_kind_of(table.schema[1].type), function_of(function)});
    GarudaCudaColumn const key{table.columns[0].address, table.width(0)};
    GarudaCudaResidentGroupBy* begun = nullptr;
    GARUDA_TRY(cuda::call(api().begin_resident_group_by, bench_->lane(), &key, table.rows, aggregates.data(),
                          static_cast<std::uint32_t>(aggregates.size()), expected_groups, &begun));
    std::shared_ptr<GarudaCudaResidentGroupBy> const group_by(begun, api().end_resident_group_by);
    auto const groups = std::make_shared<GarudaCudaResidentGroups>();
    auto const run = [this, group_by, groups] {
      return cuda::call(api().run_resident_group_by, group_by.get(), groups.get());
    };
    ResidentQuery query;
    query.prepare = [run, groups]() -> Result<std::uint64_t> {
      GARUDA_TRY(run());
      return groups->groups;
    };
    query.download = [this, groups, schema = grouped_schema(table, functions)] {
      std::vector<std::uint64_t> columns{groups->key.address};
      columns.insert(columns.end(), groups->results, groups->results + schema.size() - 1);
      return bench_->download(schema, columns, groups->groups);
    };
    query.run = [this, run] { return bench_->time(run); };
    query.describe = [] {
      return "states in shared memory, after partitions where groups are many; sums of floats of wide range by windows";
    };
    return query;
  }

  Result<ResidentQuery> histogram(UploadedTable const& table, std::uint64_t bins,
                                  HistogramSetting const& setting) override {
    GARUDA_TRY_ASSIGN(auto counts, cuda::CudaMemory::allocate(bench_->own_lane(), bins * 4));
    GarudaCudaHistogram histogram{};
    histogram.values = table.columns[0].address;
    histogram.rows = table.rows;
    histogram.bins = bins;
    histogram.counts = counts.address();
    histogram.threads = setting.threads;
    histogram.blocks_each = setting.each;
    histogram.method = setting.threads == 0 ? GARUDA_CUDA_HISTOGRAM_CUB
                       : setting.by_block   ? GARUDA_CUDA_HISTOGRAM_BLOCK_STRIDE
                                            : GARUDA_CUDA_HISTOGRAM_GRID_STRIDE;
    auto const run = [this, counts, histogram] { return cuda::call(api().count_bins, bench_->lane(), &histogram); };
    ResidentQuery query;
    query.prepare = [run, bins]() -> Result<std::uint64_t> {
      GARUDA_TRY(run());
      return bins;
    };
    query.download = [this, counts, bins] {
      return bench_->download({{"count", DataType{TypeId::int32}, false}}, {counts.address()}, bins);
    };
    query.run = [this, run]() -> Result<Sample> {
      GARUDA_TRY_ASSIGN(auto const sample, bench_->time(run));
      return sample.of_phase("count");
    };
    query.describe = [setting]() -> std::string {
      if (setting.threads == 0) return "cub::DeviceHistogram";
      return fmt::format("blocks of {}, {} a multiprocessor, {} stride", setting.threads, setting.each,
                         setting.by_block ? "block" : "grid");
    };
    return query;
  }
  std::vector<HistogramSetting> histogram_settings(std::uint64_t bins) const override {
    std::vector<HistogramSetting> settings;
    if (bins <= GARUDA_CUDA_MOST_CUB_BINS) settings.push_back({0, 0, false});
    for (std::uint32_t threads = 64; threads <= 1024; threads *= 2)
      for (std::uint32_t each = 1; each <= 32; each *= 2)
        for (bool const by_block : {false, true}) settings.push_back({threads, each, by_block});
    return settings;
  }

  Result<std::function<Result<Sample>()>> copy(std::uint64_t bytes) override {
    auto const copied = std::max<std::uint64_t>(bytes / 2, 1);
    GARUDA_TRY_ASSIGN(auto source, cuda::CudaMemory::allocate(bench_->own_lane(), copied));
    GARUDA_TRY_ASSIGN(auto target, cuda::CudaMemory::allocate(bench_->own_lane(), copied));
    return [this, source, target, copied] {
      return bench_->time(
          [&] { return cuda::call(api().copy, bench_->lane(), target.address(), source.address(), copied); });
    };
  }

 protected:
  Result<UploadedColumn> upload_column(std::span<std::byte const> bytes, Sharing sharing) override {
    if (sharing == Sharing::shared)
      return fail(
          ErrorCode::no_device,
          "the first path uploads the tables that all share, and path cuda only opens them: name compute first");
    GARUDA_TRY_ASSIGN(auto memory, cuda::CudaMemory::upload(bench_->own_lane(), bytes));
    return UploadedColumn{memory.address(), std::make_shared<cuda::CudaMemory>(memory), {}};
  }
  Result<UploadedColumn> open_column(SharedMemory memory) override {
    GarudaCudaImport const request{memory.descriptor.get(), memory.bytes, 1};
    GarudaCudaImported* imported = nullptr;
    UploadedColumn column;
    GARUDA_TRY(cuda::call(api().import_memory, bench_->lane(), &request, &imported, &column.address));
    memory.descriptor.take();  // CUDA's now
    column.memory = std::shared_ptr<GarudaCudaImported>(imported, api().release_imported);
    return column;
  }

 private:
  GarudaCudaApi const& api() const noexcept { return bench_->api(); }

  std::unique_ptr<CudaBench> bench_;
  GarudaCudaResidentTuning tuning_;
};

}  // namespace

Result<std::unique_ptr<ResidentPath>> open_cuda_path(std::optional<std::string> const& device,
                                                     std::optional<DeviceUuid> const& uuid, std::string const& tuning) {
  GARUDA_TRY_ASSIGN(auto const parsed, parse_cuda_tuning(tuning));
  GARUDA_TRY_ASSIGN(auto bench, CudaBench::open(device, uuid));
  return std::make_unique<CudaPath>(std::move(bench), parsed);
}

Result<CopyBandwidth> measure_cuda_copy(std::string const& device) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  GARUDA_TRY_ASSIGN(auto bench, CudaBench::open(device, std::nullopt));
  std::vector<std::byte> values(kBytes);
  GARUDA_TRY_ASSIGN(auto const memory, cuda::CudaMemory::upload(bench->own_lane(), values));
  auto const& api = bench->api();
  GARUDA_TRY_ASSIGN(auto const copied, bench->time([&]() -> Result<void> {
    GARUDA_TRY(cuda::call(api.upload, bench->lane(), memory.address(), values.data(), kBytes));
    return cuda::call(api.download, bench->lane(), memory.address(), values.data(), kBytes);
  }));
  return CopyBandwidth{"device copy in and out", per_second(2 * kBytes, copied.host_ns)};
}

}  // namespace garuda::bench
