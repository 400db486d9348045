#include "bench/group_by_bench.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "bench/copy_bandwidth.hpp"
#include "bench/vulkan_device.hpp"
#include "operators/calibrate/point_draws.hpp"

namespace garuda::bench {
namespace {

// One bare additive draw a row, at its group's pixel.
class GroupFloor {
 public:
  static Result<std::unique_ptr<GroupFloor>> create(std::string const& device, Table const& table,
                                                    std::uint64_t groups) {
    auto floor = std::make_unique<GroupFloor>();
    GARUDA_TRY_ASSIGN(floor->opened_, open_device(device));
    auto& vk_device = *floor->opened_.device;
    GARUDA_TRY_ASSIGN(floor->pipelines_, vk::PipelineStore::create(vk_device, vk::default_cache_folder()));
    vk::LaneOptions lane_options;
    lane_options.name = "bench group-by floor";
    GARUDA_TRY_ASSIGN(floor->lane_, vk::Lane::create(vk_device, lane_options));
    auto const pixels = groups_of(table);
    GARUDA_TRY_ASSIGN(auto draw,
                      calibrate::PointDraw::create(*floor->lane_, *floor->pipelines_,
                                                   calibrate::image_for(groups, calibrate::PointTarget::add), pixels));
    floor->draw_.emplace(std::move(draw));
    GARUDA_TRY(floor->draw_->run());
    GARUDA_TRY_ASSIGN(auto const image, floor->draw_->read_image());
    if (image != calibrate::expected_image(floor->draw_->image(), pixels))
      return fail(ErrorCode::device_failure, "bare draws gave a wrong image");
    return floor;
  }

  Result<std::uint64_t> run() { return draw_->run(); }

 private:
  OpenedDevice opened_;
  std::unique_ptr<vk::PipelineStore> pipelines_;
  std::unique_ptr<vk::Lane> lane_;
  std::optional<calibrate::PointDraw> draw_;
};

using GroupBySeries = Series<GroupByOptions, GroupFloor>;

GroupBySpec spec_of(GroupByBenchRequest const& request) {
  GroupBySpec spec;
  for (std::uint32_t k = 0; k < request.workload.keys; ++k) spec.keys.push_back(fmt::format("k{}", k));
  for (auto const function : request.functions) spec.aggregates.push_back({function, "v", std::nullopt});
  return spec;
}

auto start_of(Engine& engine, Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
  return [&] { return engine.group_by(table.view(), spec, options); };
}

Result<GroupBySeries> verify(Engine& engine, Table const& table, ReferenceGroups const& reference,
                             GroupByBenchRequest const& request, Choice<GroupByTuning> const& choice) {
  GroupBySeries series;
  series.options = options_of<GroupByOptions>(request, choice);
  auto const spec = spec_of(request);
  GARUDA_TRY_ASSIGN(auto run, run_once(start_of(engine, table, spec, series.options)));
  if (auto checked = reference.check(spec.aggregates, run.batches); !checked)
    return tl::unexpected(wrong_result(std::move(checked).error(), run.plan));
  if (request.floor && run.plan.path == Path::graphics) {
    GARUDA_TRY_ASSIGN(series.floor, GroupFloor::create(run.plan.device, table, request.workload.groups));
  }
  series.plan = run.plan;
  series.schema = std::move(run.schema);
  return series;
}

Record make_record(Table const& table, GroupByBenchRequest const& request, std::uint64_t groups,
                   GroupBySeries const& series) {
  Record record;
  record.op = "group-by";
  record.path = to_string(series.plan.path);
  record.device = series.plan.device;
  record.driver = driver_of(series.plan, series.options.threads);
  record.mode = "end-to-end";
  record.rows = request.workload.rows;
  record.groups = request.workload.groups;
  record.rows_out = groups;
  record.samples_ns = series.samples_ns;
  record.time = summarise(series.samples_ns);
  record.bytes = request.workload.rows * row_bytes(table.schema()) + groups * row_bytes(series.schema);
  record.phases = series.stats[median_position(series.samples_ns)].phases;
  record.verified = true;
  return record;
}

Record make_floor(Record const& group_by, GroupBySeries const& series) {
  auto record = group_by;
  record.op = "raster-floor";
  record.mode = "resident";
  record.samples_ns = series.floor_ns;
  record.time = summarise(series.floor_ns);
  record.bytes = *record.rows * 8;
  record.phases.clear();
  return record;
}

}  // namespace

Result<std::vector<GroupByOutcome>> run_group_by_bench(GroupByBenchRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const table, generate_group_table(request.workload));
  return run_group_by_bench(request, table, ReferenceGroups(table, request.workload));
}

Result<std::vector<GroupByOutcome>> run_group_by_bench(GroupByBenchRequest const& request, Table const& generated,
                                                       ReferenceGroups const& reference) {
  GARUDA_TRY(check(request));
  auto const choices = choices_of(request);
  GARUDA_TRY_ASSIGN(auto engine, engine_for(choices));
  std::optional<Table> pinned;
  if (request.memory == TableMemory::pinned) {
    DeviceTableOptions options;
    options.device = request.device;
    options.control.cancelled = request.cancelled;
    GARUDA_TRY_ASSIGN(pinned, engine.pin(generated.view(), options));
  }
  auto const& table = pinned ? *pinned : generated;
  std::vector<GroupBySeries> all;
  for (auto const& choice : choices) {
    GARUDA_TRY_ASSIGN(auto series, verify(engine, table, reference, request, choice));
    all.push_back(std::move(series));
  }
  auto const spec = spec_of(request);
  for (std::uint32_t i = 0; i < request.repeat; ++i)
    for (auto& series : all) GARUDA_TRY(sample(series, start_of(engine, table, spec, series.options)));

  std::vector<GroupByOutcome> outcomes;
  for (auto const& series : all) {
    GroupByOutcome outcome;
    outcome.record = make_record(table, request, reference.num_groups(), series);
    outcome.choices = choices_text(series.plan);
    outcome.counters = series.stats[median_position(series.samples_ns)].counters;
    GARUDA_TRY_ASSIGN(outcome.bandwidth, measure_bandwidth(series.plan));
    if (series.floor) {
      outcome.floor = make_floor(outcome.record, series);
      outcome.total_ratio = summarise_ratios(series.samples_ns, series.floor_ns);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace garuda::bench
