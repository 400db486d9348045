// The Vulkan compute path on resident tables.
#include "bench/gpu/resident_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "bench/parts/vulkan_device.hpp"
#include "bench/workloads/table_builder.hpp"
#include "operators/compute/group_by/column_group_by.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/rates/calibrations.hpp"

namespace garuda::bench {
namespace {

compute::DeviceColumn column_of(UploadedTable const& table, std::size_t column) {
  return {table.columns[column].address, table.width(column) / 4};
}

compute::DeviceRows rows_of(UploadedTable const& table) {
  compute::DeviceRows rows;
  rows.rows = table.rows;
  rows.keys = column_of(table, 0);
  for (std::size_t c = 1; c < table.columns.size(); ++c) rows.payload.push_back(column_of(table, c));
  return rows;
}

compute::DeviceValueKind kind_of(DataType const& type) {
  if (type.id == TypeId::float64) return compute::DeviceValueKind::float64;
  return type.id == TypeId::int64 ? compute::DeviceValueKind::int64 : compute::DeviceValueKind::int32;
}

std::string describe_join(compute::ComputeTuning const& tuning, std::string const& way, std::uint64_t build_rows) {
  auto const tile = compute::scatter_tile(tuning, compute::partition_bits(tuning), false);
  return fmt::format("{}; subgroup {}, partition {} × {}, {} radix bits, join {} × {} rows, {} slots", way,
                     tuning.subgroup_size, tile.group_size, tile.items, compute::join_radix_bits(build_rows, tuning),
                     tuning.join.group_size, tuning.join.items, 1U << tuning.join.log2_slots);
}

std::string describe_group_by(compute::ColumnGroupBy const& group_by) {
  constexpr std::array kMethods{"auto", "hash", "partitioned", "shared"};
  constexpr std::array kForms{"no keys", "plain keys", "packed keys", "numbered keys"};
  auto const& grouping = group_by.grouping();
  auto text =
      fmt::format("{} of {} bits, {}{}", kForms.at(static_cast<std::size_t>(group_by.key_form())), group_by.key_bits(),
                  group_by.num_batches() == 1 ? std::string() : fmt::format("{} turns, ", group_by.num_batches()),
                  kMethods.at(static_cast<std::size_t>(grouping.method)));
  if (grouping.method == GroupMethod::partitioned) text += fmt::format(" by {} bits", grouping.radix_bits);
  if (grouping.method != GroupMethod::hash)
    text += fmt::format(", {} x {} slots in shared memory, workgroups of {} x {} rows a tile, windows of {} rows",
                        grouping.slots, grouping.copies, grouping.group_size, grouping.items, grouping.window_rows);
  return text + fmt::format(", table of {} slots", grouping.table_slots);
}

class ComputePath final : public ResidentPath {
 public:
  ComputePath(std::unique_ptr<ComputeBench> bench, Result<JoinTuning> join, Result<GroupByTuning> group_by)
      : bench_(std::move(bench)), join_tuning_(std::move(join)), group_by_tuning_(std::move(group_by)) {}

  Path path() const noexcept override { return Path::compute; }
  std::string device() const override { return bench_->device().name(); }
  std::string driver() const override { return bench_->device().driver(); }
  DeviceUuid uuid() const noexcept override { return bench_->traits().uuid; }
  bool is_software() const noexcept override { return bench_->is_software(); }
  std::string_view clock() const noexcept override { return bench_->device().clock(); }

  Result<ResidentQuery> join(UploadedTable const& left, UploadedTable const& right,
                             std::uint64_t expected_rows) override {
    auto left_rows = rows_of(left);
    auto right_rows = rows_of(right);
    compute::ResidentJoinShape shape{compute::shape_of(left_rows), compute::shape_of(right_rows)};
    shape.key_bytes = 4.0 * left_rows.keys.words;
    shape.matches = static_cast<double>(expected_rows);
    GARUDA_TRY_ASSIGN(shape.asked, join_tuning_);
    GARUDA_TRY_ASSIGN(auto const ways, compute::resident_join_strategies(shape, rates(), bench_->tuning()));
    auto const& way = ways.front();
    GARUDA_TRY_ASSIGN(auto created, compute::ResidentJoin::create(bench_->context(), std::move(left_rows),
                                                                  std::move(right_rows), expected_rows, way));
    auto const join = std::make_shared<compute::ResidentJoin>(std::move(created));
    ResidentQuery query;
    query.prepare = [this, join]() -> Result<std::uint64_t> {
      GARUDA_TRY(join->record(bench_->context()));
      GARUDA_TRY(join->finish(bench_->context()));
      return join->result().rows;
    };
    query.download = [this, join, schema = joined_schema(left, right)] {
      auto const& result = join->result();
      std::vector<vk::Buffer const*> columns{&result.keys};
      for (auto const* const side : {&result.left, &result.right})
        for (auto const& column : *side) columns.push_back(&column);
      return download(schema, columns, result.rows);
    };
    query.run = [this, join] { return bench_->time([&] { return join->record(bench_->context()); }); };
    query.describe = [this, text = to_string(compute::forcing(way)), rows = std::min(left.rows, right.rows)] {
      return describe_join(bench_->tuning(), text, rows);
    };
    return query;
  }

  Result<ResidentQuery> group_by(UploadedTable const& table, std::vector<AggregateFunction> const& functions,
                                 std::uint64_t expected_groups) override {
    compute::ColumnGroupBySpec spec;
    spec.rows = table.rows;
    spec.expected_groups = expected_groups;
    GARUDA_TRY_ASSIGN(auto const tuning, group_by_tuning_);
    spec.method = tuning.method;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      auto& columns = c + 1 < table.columns.size() ? spec.keys : spec.values;
      columns.push_back({column_of(table, c), kind_of(table.schema[c].type)});
    }
    for (auto const function : functions) {
      compute::DeviceAggregate aggregate{function};
      if (function != AggregateFunction::count) aggregate.column = 0;
      spec.aggregates.push_back(aggregate);
    }
    GARUDA_TRY_ASSIGN(auto created, compute::ColumnGroupBy::create(bench_->context(), std::move(spec)));
    auto const group_by = std::make_shared<compute::ColumnGroupBy>(std::move(created));
    ResidentQuery query;
    query.prepare = [this, group_by]() -> Result<std::uint64_t> {
      GARUDA_TRY(group_by->run(bench_->context()));
      if (auto const over = group_by->overflow())
        return fail(ErrorCode::invalid_input,
                    fmt::format("aggregate {} is beyond its type in group {}", over->aggregate, over->group));
      return group_by->num_groups();
    };
    query.download = [this, group_by, schema = grouped_schema(table, functions)] {
      std::vector<vk::Buffer const*> columns;
      for (auto const& key : group_by->keys()) columns.push_back(&*key.values);
      for (auto const& aggregate : group_by->aggregates()) columns.push_back(&*aggregate.values);
      return download(schema, columns, group_by->num_groups());
    };
    query.run = [this, group_by] { return bench_->time([&] { return group_by->run(bench_->context()); }); };
    query.describe = [group_by] { return describe_group_by(*group_by); };
    return query;
  }

  Result<ResidentQuery> histogram(UploadedTable const& table, std::uint64_t bins,
                                  HistogramSetting const& setting) override {
    GARUDA_TRY_ASSIGN(auto buffer, bench_->context().device_buffer(bins * 4, "counts"));
    auto const counts = std::make_shared<vk::Buffer>(std::move(buffer));
    ResidentQuery query;
    query.run = [this, counts, bins, setting, values = table.columns[0].address,
                 rows = table.rows]() -> Result<Sample> {
      GARUDA_TRY(bench_->time([&] { return bench_->context().fill("clear", *counts, 0); }));
      return bench_->time([&] {
        return compute::record_count_bins(bench_->context(), "count", values, rows, counts->address(), bins,
                                          {setting.threads, setting.each});
      });
    };
    query.prepare = [run = query.run, bins]() -> Result<std::uint64_t> {
      GARUDA_TRY(run());
      return bins;
    };
    query.download = [this, counts, bins] {
      return download({{"count", DataType{TypeId::int32}, false}}, {counts.get()}, bins);
    };
    query.describe = [setting] {
      return fmt::format("workgroups of {}, {} values an invocation", setting.threads, setting.each);
    };
    return query;
  }
  std::vector<HistogramSetting> histogram_settings(std::uint64_t) const override {
    std::vector<HistogramSetting> settings;
    auto const most = std::min(bench_->traits().limits.max_workgroup_invocations, 1024U);
    for (std::uint32_t threads = std::max(64U, bench_->tuning().subgroup_size); threads <= most; threads *= 2)
      for (auto const each : {1U, 2U, 4U, 8U, 16U}) settings.push_back({threads, each, false});
    return settings;
  }

  Result<std::function<Result<Sample>()>> copy(std::uint64_t bytes) override { return bench_->copy(bytes); }

 protected:
  Result<UploadedColumn> upload_column(std::span<std::byte const> bytes, Sharing sharing) override {
    GARUDA_TRY_ASSIGN(auto buffer, bench_->upload(bytes, "column"));
    if (sharing == Sharing::own) {
      auto const memory = std::make_shared<vk::Buffer>(std::move(buffer));
      return UploadedColumn{memory->address(), memory, {}};
    }
    // Copied on the device into memory that other APIs may open.
    auto const copied = (std::max<std::uint64_t>(bytes.size(), 1) + 15) / 16 * 16;
    GARUDA_TRY_ASSIGN(auto exported, vk::ExportedBuffer::create(*bench_->device().device, copied, "shared column"));
    GARUDA_TRY(bench_->time([&] {
      return compute::record_copy(bench_->context(), "share", buffer.address(), exported.address(), copied);
    }));
    auto const memory = std::make_shared<vk::ExportedBuffer>(std::move(exported));
    return UploadedColumn{memory->address(), memory, [memory]() -> Result<SharedMemory> {
                            GARUDA_TRY_ASSIGN(auto descriptor, memory->open_memory());
                            return SharedMemory{std::move(descriptor), memory->memory_bytes()};
                          }};
  }

 private:
  /// The device's rates as the engine knows them, from its calibration where there is one.
  rates::DeviceRates rates() const {
    auto const* const traits = &bench_->traits();
    rates::CalibrationStore const known(rates::default_folder(), std::span(&traits, 1));
    return known.device(0).rates;
  }

  Result<Table> download(Schema const& schema, std::vector<vk::Buffer const*> const& columns, std::uint64_t rows) {
    TableBuilder builder(rows);
    for (std::size_t c = 0; c < schema.size(); ++c)
      GARUDA_TRY(builder.add_column(schema[c], [&](std::byte* values) -> Result<void> {
        auto const bytes = rows * static_cast<std::uint64_t>(byte_width(schema[c].type));
        if (rows == 0) return {};
        return bench_->context().download(*columns[c], std::span(values, bytes));
      }));
    return builder.finish();
  }

  std::unique_ptr<ComputeBench> bench_;
  Result<JoinTuning> join_tuning_;
  Result<GroupByTuning> group_by_tuning_;
};

}  // namespace

Result<std::unique_ptr<ResidentPath>> open_compute_path(std::string_view device, std::string const& tuning) {
  auto join = parse_join_tuning(tuning);
  auto group_by = parse_group_by_tuning(tuning);
  if (!join && !group_by) return propagate(std::move(join));
  GARUDA_TRY_ASSIGN(auto bench, ComputeBench::open(device));
  return std::make_unique<ComputePath>(std::move(bench), std::move(join), std::move(group_by));
}

}  // namespace garuda::bench
