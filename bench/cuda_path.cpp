#include "bench/cuda_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cuda_bench.hpp"
#include "bench/table_builder.hpp"
#include "operators/resolve/tuning_text.hpp"

namespace garuda::bench {
namespace {

using cuda::cuda_result;

static_assert(static_cast<int>(JoinMethod::partitioned) == GARUDA_CUDA_JOIN_PARTITIONED);
static_assert(static_cast<int>(JoinMethod::global) == GARUDA_CUDA_JOIN_TABLE);
static_assert(static_cast<int>(JoinMethod::sorted) == GARUDA_CUDA_JOIN_MERGE);
static_assert(static_cast<int>(Payload::carry) == GARUDA_CUDA_PAYLOAD_CARRY);
static_assert(static_cast<int>(Payload::gather) == GARUDA_CUDA_PAYLOAD_GATHER);

constexpr std::array kPartitionBy{resolve::Choice{"auto", 0}, resolve::Choice{"passes", 1}, resolve::Choice{"sort", 2}};

Result<GarudaCudaResidentTuning> parse_cuda_tuning(std::string const& text) {
  using resolve::choice_knob;
  using resolve::number_knob;
  using Tuning = GarudaCudaResidentTuning;
  std::array const knobs{choice_knob("method", resolve::kJoinMethodChoices, &Tuning::method),
                         choice_knob("payload", resolve::kPayloadChoices, &Tuning::payload),
                         number_knob("partition_rows", 1, 1 << 30, &Tuning::partition_rows),
                         choice_knob("partition_by", kPartitionBy, &Tuning::partition_by),
                         number_knob("tile_threads", 512, 1024, &Tuning::tile_threads),
                         number_knob("tile_items", 8, 16, &Tuning::tile_items)};
  return resolve::parse_tuning<Tuning>(knobs, text);
}

struct CudaBlock final : DeviceBlock {
  explicit CudaBlock(DeviceMemory own) : memory(std::move(own)) {}
  DeviceMemory memory;
};

/// CUDA's view of another API's memory.
class ImportedBlock final : public DeviceBlock {
 public:
  ImportedBlock(GarudaCudaApi const& api, GarudaCudaImported* imported) : api_(api), imported_(imported) {}
  ~ImportedBlock() override { api_.release_imported(imported_); }

 private:
  GarudaCudaApi const& api_;
  GarudaCudaImported* imported_;
};

Result<GarudaCudaResidentTable> resident_table(UploadedTable const& table) {
  if (table.addresses.size() > GARUDA_CUDA_MAX_COLUMNS)
    return fail(ErrorCode::usage, fmt::format("resident tables of path cuda have at most {} columns: {}",
                                              GARUDA_CUDA_MAX_COLUMNS, table.addresses.size()));
  GarudaCudaResidentTable resident{};
  resident.rows = table.rows;
  for (std::size_t c = 0; c < table.addresses.size(); ++c) {
    GarudaCudaColumn const column{table.addresses[c], static_cast<std::uint32_t>(byte_width(table.schema[c].type))};
    (c == 0 ? resident.key : resident.columns[resident.num_columns++]) = column;
  }
  return resident;
}

/// A join or a group-by of the plug-in, ended when it goes.
template <class Handle>
using Owned = std::unique_ptr<Handle, void (*)(Handle*)>;

class CudaJoin final : public ResidentQuery {
 public:
  CudaJoin(CudaBench& bench, Owned<GarudaCudaResidentJoin> join, UploadedTable const& left, UploadedTable const& right)
      : bench_(bench), join_(std::move(join)), left_(left), right_(right) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(join());
    return rows_.rows;
  }
  Result<PhaseSample> run() override {
    return bench_.time([&] { return join(); });
  }
  Result<Table> download() override {
    TableBuilder builder(rows_.rows);
    GARUDA_TRY(bench_.download(builder, left_.schema[0], rows_.key.address, rows_.rows));
    for (std::size_t c = 1; c < left_.schema.size(); ++c)
      GARUDA_TRY(bench_.download(builder, left_.schema[c], rows_.left[c - 1].address, rows_.rows));
    for (std::size_t c = 1; c < right_.schema.size(); ++c)
      GARUDA_TRY(bench_.download(builder, right_.schema[c], rows_.right[c - 1].address, rows_.rows));
    return builder.finish();
  }
  std::string describe() const override { return "partitioned, joined in shared memory"; }

 private:
  Result<void> join() {
    GarudaCudaError error{};
    return cuda_result(bench_.api().run_resident_join(join_.get(), &rows_, &error), error);
  }

  CudaBench& bench_;
  Owned<GarudaCudaResidentJoin> join_;
  UploadedTable const& left_;
  UploadedTable const& right_;
  GarudaCudaResidentRows rows_{};
};

std::uint32_t kind_of(DataType const& type) {
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
    case AggregateFunction::mean:
      break;
  }
  return GARUDA_CUDA_FUNCTION_MEAN;
}

DataType result_type(AggregateFunction function, DataType const& values) {
  switch (function) {
    case AggregateFunction::count:
      return DataType{TypeId::int64};
    case AggregateFunction::sum:
      return values.id == TypeId::float64 ? values : DataType{TypeId::int64};
    case AggregateFunction::mean:
      return DataType{TypeId::float64};
    default:
      return values;
  }
}

class CudaGroupBy final : public ResidentQuery {
 public:
  CudaGroupBy(CudaBench& bench, Owned<GarudaCudaResidentGroupBy> group_by, Schema schema)
      : bench_(bench), group_by_(std::move(group_by)), schema_(std::move(schema)) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(group());
    return groups_.groups;
  }
  Result<PhaseSample> run() override {
    return bench_.time([&] { return group(); });
  }
  Result<Table> download() override {
    TableBuilder builder(groups_.groups);
    GARUDA_TRY(bench_.download(builder, schema_[0], groups_.key.address, groups_.groups));
    for (std::size_t a = 1; a < schema_.size(); ++a)
      GARUDA_TRY(bench_.download(builder, schema_[a], groups_.results[a - 1], groups_.groups));
    return builder.finish();
  }
  std::string describe() const override {
    return "states in shared memory, after partitions where groups are many; sums of floats of wide range by windows";
  }

 private:
  Result<void> group() {
    GarudaCudaError error{};
    return cuda_result(bench_.api().run_resident_group_by(group_by_.get(), &groups_, &error), error);
  }

  CudaBench& bench_;
  Owned<GarudaCudaResidentGroupBy> group_by_;
  Schema schema_;
  GarudaCudaResidentGroups groups_{};
};

class CudaHistogram final : public ResidentQuery {
 public:
  CudaHistogram(CudaBench& bench, DeviceMemory counts, GarudaCudaHistogram const& histogram)
      : bench_(bench), counts_(std::move(counts)), histogram_(histogram) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(run());
    return histogram_.bins;
  }
  Result<PhaseSample> run() override {
    GARUDA_TRY_ASSIGN(auto const sample, bench_.time([&] {
      GarudaCudaError error{};
      return cuda_result(bench_.api().count_bins(bench_.lane(), &histogram_, &error), error);
    }));
    return sample.of_phase("count");
  }
  Result<Table> download() override {
    TableBuilder builder(histogram_.bins);
    GARUDA_TRY(bench_.download(builder, {"count", DataType{TypeId::int32}, false}, counts_.address(), histogram_.bins));
    return builder.finish();
  }
  std::string describe() const override {
    if (histogram_.method == GARUDA_CUDA_HISTOGRAM_CUB) return "cub::DeviceHistogram";
    return fmt::format("blocks of {}, {} a multiprocessor, {} stride", histogram_.threads, histogram_.blocks_each,
                       histogram_.method == GARUDA_CUDA_HISTOGRAM_BLOCK_STRIDE ? "block" : "grid");
  }

 private:
  CudaBench& bench_;
  DeviceMemory counts_;
  GarudaCudaHistogram histogram_;
};

class CudaCopy final : public ResidentRun {
 public:
  CudaCopy(CudaBench& bench, DeviceMemory source, DeviceMemory target, std::uint64_t bytes)
      : bench_(bench), source_(std::move(source)), target_(std::move(target)), bytes_(bytes) {}
  Result<PhaseSample> run() override {
    return bench_.time([&] {
      GarudaCudaError error{};
      return cuda_result(bench_.api().copy(bench_.lane(), target_.address(), source_.address(), bytes_, &error), error);
    });
  }

 private:
  CudaBench& bench_;
  DeviceMemory source_;
  DeviceMemory target_;
  std::uint64_t bytes_;
};

class CudaPath final : public ResidentPath {
 public:
  CudaPath(std::unique_ptr<CudaBench> bench, GarudaCudaResidentTuning const& tuning)
      : bench_(std::move(bench)), tuning_(tuning) {}

  Path path() const noexcept override { return Path::cuda; }
  std::string device() const override { return bench_->traits().name; }
  std::string driver() const override { return bench_->driver(); }
  DeviceUuid uuid() const noexcept override { return std::to_array(bench_->traits().uuid); }
  bool is_software() const noexcept override { return false; }
  std::string_view clock() const noexcept override { return "CUDA events"; }

  Result<UploadedTable> upload(Table const& table, Sharing sharing) override {
    if (sharing == Sharing::shared)
      return fail(
          ErrorCode::no_device,
          "the first path uploads the tables that all share, and path cuda only opens them: name compute first");
    UploadedTable uploaded;
    uploaded.rows = static_cast<std::uint64_t>(table.num_rows());
    uploaded.schema = table.schema();
    for (std::size_t c = 0; c < table.schema().size(); ++c) {
      auto const width = static_cast<std::uint64_t>(byte_width(table.schema()[c].type));
      auto const* const values = static_cast<std::byte const*>(table.batches()[0].columns[c].values);
      GARUDA_TRY_ASSIGN(auto memory, bench_->upload({values, uploaded.rows * width}));
      uploaded.addresses.push_back(memory.address());
      uploaded.blocks.push_back(std::make_unique<CudaBlock>(std::move(memory)));
    }
    return uploaded;
  }

  Result<UploadedTable> open_shared(UploadedTable const& table) override {
    UploadedTable opened;
    opened.rows = table.rows;
    opened.schema = table.schema;
    for (auto const& block : table.blocks) {
      GARUDA_TRY_ASSIGN(auto memory, block->share());
      GarudaCudaError error{};
      GarudaCudaImport const request{memory.descriptor.get(), memory.bytes, 1};
      GarudaCudaImported* imported = nullptr;
      std::uint64_t address = 0;
      GARUDA_TRY(
          cuda_result(bench_->api().import_memory(bench_->lane(), &request, &imported, &address, &error), error));
      memory.descriptor.take();  // CUDA's now
      opened.addresses.push_back(address);
      opened.blocks.push_back(std::make_unique<ImportedBlock>(bench_->api(), imported));
    }
    return opened;
  }

  Result<std::unique_ptr<ResidentQuery>> begin_join(UploadedTable const& left, UploadedTable const& right,
                                                    std::uint64_t expected_rows) override {
    GARUDA_TRY_ASSIGN(auto const left_table, resident_table(left));
    GARUDA_TRY_ASSIGN(auto const right_table, resident_table(right));
    GarudaCudaError error{};
    GarudaCudaResidentJoin* begun = nullptr;
    GARUDA_TRY(cuda_result(bench_->api().begin_resident_join(bench_->lane(), &left_table, &right_table, expected_rows,
                                                             &tuning_, &begun, &error),
                           error));
    return std::make_unique<CudaJoin>(*bench_, Owned<GarudaCudaResidentJoin>(begun, bench_->api().end_resident_join),
                                      left, right);
  }

  Result<std::unique_ptr<ResidentQuery>> begin_group_by(UploadedTable const& table,
                                                        std::vector<AggregateFunction> const& functions,
                                                        std::uint64_t expected_groups) override {
    if (table.schema.size() != 2)
      return fail(ErrorCode::usage,
                  fmt::format("resident group-bys of path cuda have one key: {}", table.schema.size() - 1));
    std::vector<GarudaCudaResidentAggregate> aggregates;
    Schema schema{table.schema[0]};
    for (auto const function : functions) {
      auto const& values = table.schema[1].type;
      aggregates.push_back({table.addresses[1], kind_of(values), function_of(function)});
      schema.push_back({fmt::format("a{}", aggregates.size()), result_type(function, values), false});
    }
    GarudaCudaColumn const key{table.addresses[0], static_cast<std::uint32_t>(byte_width(table.schema[0].type))};
    GarudaCudaError error{};
    GarudaCudaResidentGroupBy* begun = nullptr;
    GARUDA_TRY(cuda_result(bench_->api().begin_resident_group_by(bench_->lane(), &key, table.rows, aggregates.data(),
                                                                 static_cast<std::uint32_t>(aggregates.size()),
                                                                 expected_groups, &begun, &error),
                           error));
    return std::make_unique<CudaGroupBy>(
        *bench_, Owned<GarudaCudaResidentGroupBy>(begun, bench_->api().end_resident_group_by), std::move(schema));
  }

  Result<std::unique_ptr<ResidentQuery>> begin_histogram(UploadedTable const& table, std::uint64_t bins,
                                                         HistogramSetting const& setting) override {
    GARUDA_TRY_ASSIGN(auto counts, bench_->allocate(bins * 4));
    GarudaCudaHistogram histogram{};
    histogram.values = table.addresses[0];
    histogram.rows = table.rows;
    histogram.bins = bins;
    histogram.counts = counts.address();
    histogram.threads = setting.threads;
    histogram.blocks_each = setting.each;
    histogram.method = setting.threads == 0 ? GARUDA_CUDA_HISTOGRAM_CUB
                       : setting.by_block   ? GARUDA_CUDA_HISTOGRAM_BLOCK_STRIDE
                                            : GARUDA_CUDA_HISTOGRAM_GRID_STRIDE;
    return std::make_unique<CudaHistogram>(*bench_, std::move(counts), histogram);
  }
  std::vector<HistogramSetting> histogram_settings(std::uint64_t bins) const override {
    std::vector<HistogramSetting> settings;
    if (bins <= GARUDA_CUDA_MOST_CUB_BINS) settings.push_back({0, 0, false});
    for (std::uint32_t threads = 64; threads <= 1024; threads *= 2)
      for (std::uint32_t each = 1; each <= 32; each *= 2)
        for (bool const by_block : {false, true}) settings.push_back({threads, each, by_block});
    return settings;
  }

  Result<std::unique_ptr<ResidentRun>> begin_copy(std::uint64_t bytes) override {
    auto const copied = std::max<std::uint64_t>(bytes / 2, 1);
    GARUDA_TRY_ASSIGN(auto source, bench_->allocate(copied));
    GARUDA_TRY_ASSIGN(auto target, bench_->allocate(copied));
    return std::make_unique<CudaCopy>(*bench_, std::move(source), std::move(target), copied);
  }

 private:
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
  GARUDA_TRY_ASSIGN(auto const memory, bench->upload(values));
  GarudaCudaError error{};
  auto const& api = bench->api();
  GARUDA_TRY_ASSIGN(auto const copied, bench->time([&]() -> Result<void> {
    GARUDA_TRY(cuda_result(api.upload(bench->lane(), memory.address(), values.data(), kBytes, &error), error));
    return cuda_result(api.download(bench->lane(), memory.address(), values.data(), kBytes, &error), error);
  }));
  return CopyBandwidth{"device copy in and out", per_second(2 * kBytes, copied.host_ns)};
}

}  // namespace garuda::bench
