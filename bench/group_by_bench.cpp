#include "bench/group_by_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/copy_bandwidth.hpp"
#include "bench/vulkan_device.hpp"
#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"
#include "operators/calibration/point_draws.hpp"

namespace garuda::bench {
namespace {

// One group-by, its result whole in host memory.
struct Run {
  std::uint64_t ns = 0;
  Schema schema;
  std::vector<Batch> batches;
  Plan plan;
  RunStats stats;
};

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
    GARUDA_TRY_ASSIGN(auto draw, calibration::PointDraw::create(
                                     *floor->lane_, *floor->pipelines_,
                                     calibration::image_for(groups, calibration::PointTarget::add), pixels));
    floor->draw_.emplace(std::move(draw));
    GARUDA_TRY(floor->draw_->run());
    GARUDA_TRY_ASSIGN(auto const image, floor->draw_->read_image());
    if (image != calibration::expected_image(floor->draw_->image(), pixels))
      return fail(ErrorCode::device_failure, "bare draws gave a wrong image");
    return floor;
  }

  Result<std::uint64_t> run() { return draw_->run(); }

 private:
  OpenedDevice opened_;
  std::unique_ptr<vk::PipelineStore> pipelines_;
  std::unique_ptr<vk::Lane> lane_;
  std::optional<calibration::PointDraw> draw_;
};

// What is kept of the runs of one path.
struct Series {
  GroupByOptions options;
  Plan plan;
  Schema schema;
  std::vector<std::uint64_t> samples_ns;
  std::vector<RunStats> stats;
  std::unique_ptr<GroupFloor> floor;
  std::vector<std::uint64_t> floor_ns;
};

GroupBySpec spec_of(GroupByBenchRequest const& request) {
  GroupBySpec spec;
  for (std::uint32_t k = 0; k < request.workload.keys; ++k) spec.keys.push_back(fmt::format("k{}", k));
  for (auto const function : request.functions) spec.aggregates.push_back({function, "v", std::nullopt});
  return spec;
}

Result<Run> group_once(Engine& engine, Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
  Run run;
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto const result, engine.group_by(table.view(), spec, options));
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, result->next());
    if (!batch) break;
    run.batches.push_back(std::move(*batch));
  }
  run.ns = watch.elapsed_ns();
  run.schema = result->schema();
  run.plan = result->plan();
  run.stats = result->stats();
  return run;
}

std::vector<GroupByChoice> choices_of(GroupByBenchRequest const& request) {
  if (!request.choices.empty()) return request.choices;
  std::vector<GroupByChoice> choices;
  for (auto const path : request.paths) choices.push_back({path, request.tuning});
  return choices;
}

Result<void> check(GroupByBenchRequest const& request) {
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  if (choices_of(request).empty()) return fail(ErrorCode::usage, "no path to measure");
  if (request.floor && std::ranges::find(request.paths, Path::graphics) == request.paths.end())
    return fail(ErrorCode::usage, "--floor draws on the device of --path graphics, which is not among the paths");
  return {};
}

Result<Series> verify(Engine& engine, Table const& table, ReferenceGroups const& reference,
                      GroupByBenchRequest const& request, GroupByChoice const& choice) {
  auto const path = choice.path;
  Series series;
  series.options.path = path;
  if (path != Path::cpu) series.options.device = request.device;
  series.options.tuning = choice.tuning;
  series.options.threads = request.threads;
  series.options.control.cancelled = request.cancelled;
  auto const spec = spec_of(request);
  GARUDA_TRY_ASSIGN(auto run, group_once(engine, table, spec, series.options));
  if (auto checked = reference.check(spec.aggregates, run.batches); !checked)
    return tl::unexpected(std::move(checked).error().wrap(
        fmt::format("wrong result of path {} on {}", to_string(run.plan.path), run.plan.device)));
  if (request.floor && run.plan.path == Path::graphics) {
    GARUDA_TRY_ASSIGN(series.floor, GroupFloor::create(run.plan.device, table, request.workload.groups));
  }
  series.plan = run.plan;
  series.schema = std::move(run.schema);
  return series;
}

Result<void> sample(Engine& engine, Table const& table, GroupBySpec const& spec, Series& series) {
  GARUDA_TRY_ASSIGN(auto run, group_once(engine, table, spec, series.options));
  series.samples_ns.push_back(run.ns);
  series.stats.push_back(std::move(run.stats));
  if (!series.floor) return {};
  GARUDA_TRY_ASSIGN(auto const ns, series.floor->run());
  series.floor_ns.push_back(ns);
  return {};
}

Record make_record(Table const& table, GroupByBenchRequest const& request, std::uint64_t groups, Series const& series) {
  Record record;
  record.op = "group-by";
  record.path = to_string(series.plan.path);
  record.device = series.plan.device;
  record.driver = driver_of(series.plan, series.options.threads);
  record.mode = "end-to-end";
  record.rows = request.workload.rows;
  record.groups = request.workload.groups;
  record.rows_out = groups;
  record.time = summarise(series.samples_ns);
  record.bytes = request.workload.rows * row_bytes(table.schema()) + groups * row_bytes(series.schema);
  record.phases = series.stats[median_position(series.samples_ns)].phases;
  record.verified = true;
  return record;
}

Record make_floor(Record const& group_by, Series const& series) {
  auto record = group_by;
  record.op = "raster-floor";
  record.mode = "resident";
  record.time = summarise(series.floor_ns);
  record.bytes = *record.rows * 8;
  record.phases.clear();
  return record;
}

}  // namespace

Result<std::vector<GroupByOutcome>> run_group_by_bench(GroupByBenchRequest const& request) {
  GARUDA_TRY(check(request));
  GARUDA_TRY_ASSIGN(auto const table, generate_group_table(request.workload));
  ReferenceGroups const reference(table, request.workload);

  auto const choices = choices_of(request);
  EngineOptions engine_options;
  engine_options.vulkan = std::ranges::any_of(choices, [](auto const& choice) { return choice.path != Path::cpu; });
  GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
  std::vector<Series> all;
  for (auto const& choice : choices) {
    GARUDA_TRY_ASSIGN(auto series, verify(engine, table, reference, request, choice));
    all.push_back(std::move(series));
  }
  auto const spec = spec_of(request);
  for (std::uint32_t i = 0; i < request.repeat; ++i)
    for (auto& series : all) GARUDA_TRY(sample(engine, table, spec, series));

  std::vector<GroupByOutcome> outcomes;
  for (auto const& series : all) {
    GroupByOutcome outcome;
    outcome.record = make_record(table, request, reference.num_groups(), series);
    outcome.choices =
        fmt::format("{}{}{}", series.plan.tuning, series.plan.tuning.empty() ? "" : "; ", series.plan.reason);
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
