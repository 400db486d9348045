#include "bench/compute_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "bench/table_builder.hpp"
#include "operators/compute/group_by/column_group_by.hpp"
#include "operators/compute/join/join_passes.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/resident_join_ways.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/rates/calibration_store.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kCopyUnit = 16;  // bytes that a copy pass moves at a time

struct ComputeBlock final : DeviceBlock {
  explicit ComputeBlock(vk::Buffer own) : buffer(std::move(own)) {}
  vk::Buffer buffer;
};

struct ExportedBlock final : DeviceBlock {
  explicit ExportedBlock(vk::ExportedBuffer own) : buffer(std::move(own)) {}
  Result<SharedMemory> share() const override {
    GARUDA_TRY_ASSIGN(auto descriptor, buffer.open_memory());
    return SharedMemory{std::move(descriptor), buffer.memory_bytes()};
  }
  vk::ExportedBuffer buffer;
};

compute::DeviceRows rows_of(UploadedTable const& table) {
  compute::DeviceRows rows;
  rows.rows = table.rows;
  for (std::size_t c = 0; c < table.addresses.size(); ++c) {
    compute::DeviceColumn const column{table.addresses[c],
                                       static_cast<std::uint32_t>(byte_width(table.schema[c].type)) / 4};
    if (c == 0) {
      rows.keys = column;
    } else {
      rows.payload.push_back(column);
    }
  }
  return rows;
}

template <class T>
Result<void> add_values(ComputeBench& bench, TableBuilder& builder, Field const& field, vk::Buffer const& buffer,
                        std::uint64_t rows) {
  std::vector<T> values(rows);
  if (rows > 0) GARUDA_TRY(bench.context().download(buffer, std::as_writable_bytes(std::span(values))));
  return builder.add_column<T>(field.name, [&](std::uint64_t row) { return values[row]; });
}

Result<void> add_column(ComputeBench& bench, TableBuilder& builder, Field const& field, vk::Buffer const& buffer,
                        std::uint64_t rows) {
  if (field.type.id == TypeId::float64) return add_values<double>(bench, builder, field, buffer, rows);
  return byte_width(field.type) == 4 ? add_values<std::int32_t>(bench, builder, field, buffer, rows)
                                     : add_values<std::int64_t>(bench, builder, field, buffer, rows);
}

class ComputeJoin final : public ResidentQuery {
 public:
  ComputeJoin(ComputeBench& bench, compute::ResidentJoin join, std::string way, UploadedTable const& left,
              UploadedTable const& right)
      : bench_(bench), join_(std::move(join)), way_(std::move(way)), left_(left), right_(right) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(join_.record(bench_.context()));
    GARUDA_TRY_ASSIGN(result_, join_.finish(bench_.context()));
    return result_.rows;
  }
  Result<PhaseSample> run() override {
    return bench_.time([&] { return join_.record(bench_.context()); });
  }
  Result<Table> download() override {
    TableBuilder builder(result_.rows);
    auto const add = [&](Field const& field, vk::Buffer const& buffer) {
      return add_column(bench_, builder, field, buffer, result_.rows);
    };
    GARUDA_TRY(add(left_.schema[0], *result_.keys));
    for (std::size_t c = 0; c < result_.left.size(); ++c) GARUDA_TRY(add(left_.schema[c + 1], *result_.left[c]));
    for (std::size_t c = 0; c < result_.right.size(); ++c) GARUDA_TRY(add(right_.schema[c + 1], *result_.right[c]));
    return builder.finish();
  }
  std::string describe() const override {
    auto const& tuning = bench_.tuning();
    return fmt::format("{}; subgroup {}, partition {} × {} × {} tiles{}, {} radix bits, join {} × {} rows, {} slots",
                       way_, tuning.subgroup_size, tuning.partition_group_size, tuning.partition_items,
                       tuning.partition_tiles, tuning.stable_join ? " stable" : "",
                       compute::join_radix_bits(std::min(left_.rows, right_.rows), tuning), tuning.join_group_size,
                       tuning.join_items, 1U << tuning.join_log2_slots);
  }

 private:
  ComputeBench& bench_;
  compute::ResidentJoin join_;
  std::string way_;
  UploadedTable const& left_;
  UploadedTable const& right_;
  compute::ResidentResult result_;
};

compute::DeviceValueKind kind_of(DataType const& type) {
  if (type.id == TypeId::float64) return compute::DeviceValueKind::float64;
  return type.id == TypeId::int64 ? compute::DeviceValueKind::int64 : compute::DeviceValueKind::int32;
}

DataType result_type(AggregateFunction function, DataType const& values) {
  bool const is_extreme = function == AggregateFunction::min || function == AggregateFunction::max;
  bool const is_float =
      function == AggregateFunction::mean || (function == AggregateFunction::sum && values.id == TypeId::float64);
  return is_extreme ? values : DataType{is_float ? TypeId::float64 : TypeId::int64};
}

std::string_view form_of(compute::DeviceKeyForm form) {
  constexpr std::array<std::string_view, 4> kForms{"no keys", "plain keys", "packed keys", "numbered keys"};
  return kForms.at(static_cast<std::size_t>(form));
}

class ComputeGroupBy final : public ResidentQuery {
 public:
  ComputeGroupBy(ComputeBench& bench, compute::ColumnGroupBy group_by, Schema schema)
      : bench_(bench), group_by_(std::move(group_by)), schema_(std::move(schema)) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(group_by_.run(bench_.context()));
    if (auto const over = group_by_.overflow())
      return fail(ErrorCode::invalid_input,
                  fmt::format("aggregate {} is beyond its type in group {}", over->aggregate, over->group));
    return group_by_.num_groups();
  }
  Result<PhaseSample> run() override {
    return bench_.time([&] { return group_by_.run(bench_.context()); });
  }
  Result<Table> download() override {
    TableBuilder builder(group_by_.num_groups());
    auto columns = group_by_.keys();
    auto const aggregates = group_by_.aggregates();
    columns.insert(columns.end(), aggregates.begin(), aggregates.end());
    for (std::size_t c = 0; c < columns.size(); ++c)
      GARUDA_TRY(add_column(bench_, builder, schema_[c], *columns[c].values, group_by_.num_groups()));
    return builder.finish();
  }
  std::string describe() const override {
    constexpr std::array kWays{"auto", "shared", "table", "partitioned"};
    auto const& grouping = group_by_.grouping();
    auto const way = std::string_view(kWays.at(static_cast<std::size_t>(grouping.way)));
    auto const keys =
        fmt::format("{} of {} bits, {}", form_of(group_by_.key_form()), group_by_.key_bits(),
                    group_by_.num_batches() == 1 ? std::string() : fmt::format("{} turns, ", group_by_.num_batches()));
    auto const table = fmt::format("table of {} slots", grouping.table_slots);
    if (grouping.way == compute::ResidentWay::table) return fmt::format("{}{}, {}", keys, way, table);
    auto const bits = grouping.way == compute::ResidentWay::partitioned
                          ? fmt::format(" by {} bits,", grouping.radix_bits)
                          : std::string();
    return fmt::format(
        "{}{},{} {} x {} slots in shared memory, workgroups of {} x {} rows a tile, windows of {} rows, {}", keys, way,
        bits, grouping.slots, grouping.copies, grouping.group_size, grouping.items, grouping.window_rows, table);
  }

 private:
  ComputeBench& bench_;
  compute::ColumnGroupBy group_by_;
  Schema schema_;
};

class ComputeHistogram final : public ResidentQuery {
 public:
  ComputeHistogram(ComputeBench& bench, UploadedTable const& table, vk::Buffer counts, std::uint64_t bins,
                   HistogramSetting const& setting)
      : bench_(bench), table_(table), counts_(std::move(counts)), bins_(bins), setting_(setting) {}

  Result<std::uint64_t> prepare() override {
    GARUDA_TRY(run());
    return bins_;
  }
  Result<PhaseSample> run() override {
    GARUDA_TRY(bench_.time([&] { return bench_.context().fill("clear", counts_, 0); }));
    return bench_.time([&] {
      return compute::record_count_bins(bench_.context(), "count", table_.addresses[0], table_.rows, counts_.address(),
                                        bins_, {setting_.threads, setting_.each});
    });
  }
  Result<Table> download() override {
    TableBuilder builder(bins_);
    GARUDA_TRY(add_column(bench_, builder, {"count", DataType{TypeId::int32}, false}, counts_, bins_));
    return builder.finish();
  }
  std::string describe() const override {
    return fmt::format("workgroups of {}, {} values an invocation", setting_.threads, setting_.each);
  }

 private:
  ComputeBench& bench_;
  UploadedTable const& table_;
  vk::Buffer counts_;
  std::uint64_t bins_;
  HistogramSetting setting_;
};

class ComputeCopy final : public ResidentRun {
 public:
  ComputeCopy(ComputeBench& bench, vk::Buffer source, vk::Buffer target)
      : bench_(bench), source_(std::move(source)), target_(std::move(target)) {}
  Result<PhaseSample> run() override {
    return bench_.time([&] {
      return compute::record_copy(bench_.context(), "copy", source_.address(), target_.address(), source_.bytes());
    });
  }

 private:
  ComputeBench& bench_;
  vk::Buffer source_;
  vk::Buffer target_;
};

class ComputePath final : public ResidentPath {
 public:
  explicit ComputePath(std::unique_ptr<ComputeBench> bench) : bench_(std::move(bench)) {}

  Path path() const noexcept override { return Path::compute; }
  std::string device() const override { return bench_->device().name(); }
  std::string driver() const override { return bench_->device().driver(); }
  DeviceUuid uuid() const noexcept override { return bench_->device().device->traits().uuid; }
  bool is_software() const noexcept override { return bench_->device().device->traits().type == vk::DeviceType::cpu; }
  std::string_view clock() const noexcept override { return bench_->clock(); }

  Result<UploadedTable> upload(Table const& table, Sharing sharing) override {
    UploadedTable uploaded;
    uploaded.rows = static_cast<std::uint64_t>(table.num_rows());
    uploaded.schema = table.schema();
    for (std::size_t c = 0; c < table.schema().size(); ++c) {
      auto const width = static_cast<std::uint64_t>(byte_width(table.schema()[c].type));
      auto const* const values = static_cast<std::byte const*>(table.batches()[0].columns[c].values);
      std::span const bytes(values, uploaded.rows * width);
      if (sharing == Sharing::shared) {
        GARUDA_TRY_ASSIGN(auto exported, upload_exported(bytes));
        uploaded.addresses.push_back(exported.address());
        uploaded.blocks.push_back(std::make_unique<ExportedBlock>(std::move(exported)));
        continue;
      }
      GARUDA_TRY_ASSIGN(auto buffer, bench_->upload(bytes, "column"));
      uploaded.addresses.push_back(buffer.address());
      uploaded.blocks.push_back(std::make_unique<ComputeBlock>(std::move(buffer)));
    }
    return uploaded;
  }

  Result<std::unique_ptr<ResidentQuery>> begin_join(UploadedTable const& left, UploadedTable const& right,
                                                    std::uint64_t expected_rows) override {
    auto left_rows = rows_of(left);
    auto right_rows = rows_of(right);
    compute::ResidentJoinShape shape{compute::shape_of(left_rows), compute::shape_of(right_rows)};
    shape.key_bytes = 4.0 * left_rows.keys.words;
    shape.matches = static_cast<double>(expected_rows);
    GARUDA_TRY_ASSIGN(auto const way, compute::choose_resident_join(shape, rates(), bench_->tuning()));
    GARUDA_TRY_ASSIGN(auto join, compute::ResidentJoin::create(bench_->context(), std::move(left_rows),
                                                               std::move(right_rows), expected_rows, way));
    return std::make_unique<ComputeJoin>(*bench_, std::move(join), compute::to_string(way), left, right);
  }

  Result<std::unique_ptr<ResidentQuery>> begin_group_by(UploadedTable const& table,
                                                        std::vector<AggregateFunction> const& functions,
                                                        std::uint64_t expected_groups) override {
    compute::ColumnGroupBySpec spec;
    spec.rows = table.rows;
    spec.expected_groups = expected_groups;
    auto const num_keys = table.schema.size() - 1;
    Schema schema(table.schema.begin(), table.schema.begin() + static_cast<std::ptrdiff_t>(num_keys));
    auto const values = [&](std::size_t c) {
      auto const& type = table.schema[c].type;
      return compute::DeviceValues{{table.addresses[c], static_cast<std::uint32_t>(byte_width(type)) / 4},
                                   kind_of(type)};
    };
    for (std::size_t c = 0; c < num_keys; ++c) spec.keys.push_back(values(c));
    spec.values.push_back(values(num_keys));
    for (auto const function : functions) {
      compute::DeviceAggregate aggregate{function};
      if (function != AggregateFunction::count) aggregate.column = 0;
      spec.aggregates.push_back(aggregate);
      auto const type = result_type(function, table.schema[num_keys].type);
      schema.push_back({fmt::format("a{}", spec.aggregates.size()), type, false});
    }
    GARUDA_TRY_ASSIGN(auto group_by, compute::ColumnGroupBy::create(bench_->context(), std::move(spec)));
    return std::make_unique<ComputeGroupBy>(*bench_, std::move(group_by), std::move(schema));
  }

  Result<std::unique_ptr<ResidentQuery>> begin_histogram(UploadedTable const& table, std::uint64_t bins,
                                                         HistogramSetting const& setting) override {
    GARUDA_TRY_ASSIGN(auto counts, bench_->context().device_buffer(bins * 4, "counts"));
    return std::make_unique<ComputeHistogram>(*bench_, table, std::move(counts), bins, setting);
  }
  std::vector<HistogramSetting> histogram_settings(std::uint64_t) const override {
    std::vector<HistogramSetting> settings;
    auto const most = bench_->device().device->traits().limits.max_workgroup_invocations;
    for (std::uint32_t threads = std::max(64U, bench_->tuning().subgroup_size); threads <= std::min(most, 1024U);
         threads *= 2)
      for (auto const each : {1U, 2U, 4U, 8U, 16U}) settings.push_back({threads, each, false});
    return settings;
  }

  Result<std::unique_ptr<ResidentRun>> begin_copy(std::uint64_t bytes) override {
    auto const copied = std::max(bytes / 2 / kCopyUnit, std::uint64_t{1}) * kCopyUnit;
    GARUDA_TRY_ASSIGN(auto source, bench_->context().device_buffer(copied, "copy source"));
    GARUDA_TRY_ASSIGN(auto target, bench_->context().device_buffer(copied, "copy target"));
    return std::make_unique<ComputeCopy>(*bench_, std::move(source), std::move(target));
  }

 private:
  /// As the engine knows them, from the device's calibration where there is one.
  rates::DeviceRates rates() const {
    auto const* const traits = &bench_->device().device->traits();
    rates::CalibrationStore const known(rates::default_folder(), std::span(&traits, 1));
    return known.device(0).rates;
  }

  /// Through a buffer of the path's own, which is copied on the device and dropped.
  Result<vk::ExportedBuffer> upload_exported(std::span<std::byte const> bytes) {
    auto const copied = (std::max<std::uint64_t>(bytes.size(), 1) + kCopyUnit - 1) / kCopyUnit * kCopyUnit;
    GARUDA_TRY_ASSIGN(auto exported, vk::ExportedBuffer::create(*bench_->device().device, copied, "shared column"));
    GARUDA_TRY_ASSIGN(auto const staged, bench_->upload(bytes, "column"));
    GARUDA_TRY(bench_->time([&] {
      return compute::record_copy(bench_->context(), "share", staged.address(), exported.address(), copied);
    }));
    return exported;
  }

  std::unique_ptr<ComputeBench> bench_;
};

}  // namespace

Result<std::unique_ptr<ResidentPath>> open_compute_path(std::string_view device, std::string const& tuning) {
  GARUDA_TRY_ASSIGN(auto bench, ComputeBench::open(device, std::nullopt, [&](auto& changed, auto const& limits) {
                      return compute::apply_tuning(tuning, limits, changed);
                    }));
  return std::make_unique<ComputePath>(std::move(bench));
}

}  // namespace garuda::bench
