#include "bench/operator_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/parts/floors.hpp"
#include "bench/workloads/words.hpp"
#include "core/stopwatch.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kModes{Word<Mode>{"resident", Mode::resident}, Word<Mode>{"end-to-end", Mode::end_to_end}};

Result<void> check(OperatorRequest const& request) {
  GARUDA_TRY(check(static_cast<Sampling const&>(request)));
  auto const choices = choices_of(request);
  if (choices.empty()) return fail(ErrorCode::usage, "no path to measure");
  bool const draws = request.mode == Mode::end_to_end && std::ranges::count(choices, Path::graphics, &Choice::path) > 0;
  if (request.floor && !draws)
    return fail(ErrorCode::usage, "--floor draws what --path graphics draws, which is not among the paths");
  if (request.mode == Mode::end_to_end) return {};
  if (request.memory != TableMemory::ordinary)
    return fail(ErrorCode::usage, "--memory is of --mode end-to-end: resident tables are on the device");
  auto const* const group_by = std::get_if<GroupByCase>(&request.workload);
  if (group_by != nullptr && group_by->workload.rows == 0)
    return fail(ErrorCode::usage, "--rows must be at least 1 in --mode resident: 0");
  return {};
}

void describe(Record& record, Path path, std::string device, std::string driver, Mode mode) {
  record.path = to_string(path);
  record.device = std::move(device);
  record.driver = std::move(driver);
  record.mode = to_string(mode);
}

/// Adds the time that copying alone takes, host to host: the build side goes up, then the probe side goes up while rows
/// come down.
Result<void> add_bound(Workload const& workload, Outcome& outcome) {
  auto& record = outcome.record;
  GARUDA_TRY_ASSIGN(auto const rates, measure_stream_rates(record.device));
  std::array<double, 2> bytes{};
  for (std::size_t side = 0; side < bytes.size(); ++side) {
    auto const& table = workload.tables()[side];
    bytes.at(side) = static_cast<double>(table.num_rows()) * static_cast<double>(row_bytes(table.schema()));
  }
  auto const down = static_cast<double>(record.bytes) - bytes[0] - bytes[1];
  bool const build_is_left = *record.rows_left <= *record.rows_right;
  auto const build_s = bytes[build_is_left ? 0 : 1] / rates.up_bytes_per_s;
  auto const probe_s = bytes[build_is_left ? 1 : 0] / rates.up_bytes_per_s;
  record.bound_ns = static_cast<std::uint64_t>((build_s + std::max(probe_s, down / rates.down_bytes_per_s)) * 1e9);
  outcome.notes.push_back(fmt::format(
      "bound by copies: {}, {}B/s up and {}B/s down ({}); join / bound {:.2f}", format_ns(*record.bound_ns),
      format_rate(rates.up_bytes_per_s), format_rate(rates.down_bytes_per_s), rates.pinned ? "pinned memory" : "staged",
      static_cast<double>(record.time.median_ns) / static_cast<double>(std::max<std::uint64_t>(*record.bound_ns, 1))));
  return {};
}

/// Adds the time that the run's points take by themselves. A group-by counts as one additive point a row.
Result<void> add_floor(OperatorRun const& run, Outcome& outcome) {
  using calibrate::PixelOrder;
  using calibrate::PointTarget;
  auto drawn = points_of_join(run.plan(), run.stats());
  if (auto const* const group_by = run.workload().group_by())
    drawn = {{"draw", PointTarget::add, PixelOrder::random, group_by->workload.rows}};
  auto record = outcome.record;
  GARUDA_TRY_ASSIGN(record.phases, raster_floor(record.device, drawn));
  record.op = "raster-floor";
  record.mode = to_string(Mode::resident);
  record.bytes = 0;
  for (auto const& phase : record.phases) record.bytes += phase.bytes;
  auto const ns = std::max<std::uint64_t>(total_ns(record.phases), 1);
  record.samples_ns.assign(record.samples_ns.size(), ns);
  outcome.ratios.emplace_back(fmt::format("{} / bare draws", outcome.record.op),
                              summarise_ratios(outcome.record.samples_ns, record.samples_ns));
  record.samples_ns = {ns};
  record.time = summarise(record.samples_ns);
  outcome.beside.push_back(std::move(record));
  return {};
}

/// Pairs of rows a second: all there are, whether they were compared or passed over.
void add_pair_rates(Outcome& outcome) {
  auto const& record = outcome.record;
  auto const pairs = static_cast<double>(*record.rows_left) * static_cast<double>(*record.rows_right);
  auto const rate = [&](std::uint64_t ns) { return format_rate(pairs / static_cast<double>(ns) * 1e9); };
  outcome.notes.push_back(fmt::format("pairs of rows: {}/s from call to result", rate(record.time.median_ns)));
  for (auto const& phase : record.phases)
    if (phase.name == "count" && phase.ns > 0)
      outcome.notes.push_back(
          fmt::format("pairs of rows: {}/s in phase count, {}", rate(phase.ns), format_ns(phase.ns)));
}

/// Adds to a run's outcome all that is known once every run is done.
Result<void> finish(OperatorRun const& run, OperatorRequest const& request, Contender& contender) {
  auto& outcome = contender.outcome;
  auto const& plan = run.plan();
  outcome.notes.push_back(fmt::format("plan: {}{}{}", plan.tuning, plan.tuning.empty() ? "" : "; ", plan.reason));
  if (request.memory == TableMemory::device) return {};
  GARUDA_TRY_ASSIGN(outcome.bandwidth, measure_bandwidth(plan));
  std::string counters;
  for (auto const& [name, value] : contender.timed.median().counters) counters += fmt::format(" {} {}", name, value);
  if (!counters.empty()) outcome.notes.push_back("counters:" + counters);
  // A plan that has decided on a placement has put the tables on the device whole.
  bool const streams = std::ranges::any_of(plan.details, [](auto const& d) { return d.first == "placement"; });
  if (run.workload().join() != nullptr && streams) GARUDA_TRY(add_bound(run.workload(), outcome));
  if (run.workload().non_equi() != nullptr) add_pair_rates(outcome);
  if (request.floor && plan.path == Path::graphics) GARUDA_TRY(add_floor(run, outcome));
  return {};
}

Result<OperatorOptions> options_of(Workload const& workload, OperatorRequest const& request, Choice const& choice,
                                   Query const& query) {
  GARUDA_TRY_ASSIGN(auto options, workload.parse_options(choice.tuning));
  auto& run = run_options(options);
  run.path = choice.path;
  if (choice.path != Path::cpu) run.device = request.device;
  run.threads = request.threads;
  run.control.cancelled = request.cancelled;
  // Bitmaps say which rows have a match, not with which.
  bool const has_pairs =
      !query.counts && query.kind != JoinKind::semi && query.kind != JoinKind::anti && query.kind != JoinKind::mark;
  auto* const join = std::get_if<JoinOptions>(&options);
  if (join != nullptr && has_pairs && request.queries.size() > 1 && join->tuning.method == JoinMethod::bitmap)
    join->tuning.method = JoinMethod::automatic;
  return options;
}

/// One path with the tables on its device.
struct DeviceRun {
  ResidentPath& path;
  std::vector<UploadedTable> tables;
  ResidentQuery query;
  std::function<Result<Sample>()> copy;

  /// `shared`: tables that another path uploaded, or null.
  Result<void> verify(Workload const& workload, Sharing sharing, std::vector<UploadedTable> const* shared,
                      Outcome& outcome) {
    auto const* const groups = workload.group_by();
    if (groups != nullptr && std::ranges::count(groups->functions, AggregateFunction::var) > 0)
      return fail(ErrorCode::usage, "resident group-bys are of count, sum, min, max and mean");
    for (std::size_t t = 0; t < workload.tables().size(); ++t) {
      GARUDA_TRY_ASSIGN(
          auto table, shared != nullptr ? path.open_shared((*shared)[t]) : path.upload(workload.tables()[t], sharing));
      tables.push_back(std::move(table));
    }
    auto const expected = workload.expected_rows();
    GARUDA_TRY_ASSIGN(query, workload.join() != nullptr
                                 ? path.join(tables[0], tables[1], expected)
                                 : path.group_by(tables[0], workload.group_by()->functions, expected));
    GARUDA_TRY(query.prepare());
    GARUDA_TRY_ASSIGN(auto const result, query.download());
    GARUDA_TRY(checked(workload.check(result.schema(), result.batches()), path.path(), path.device()));
    describe(outcome.record, path.path(), path.device(), path.driver(), Mode::resident);
    outcome.record.bytes = workload.bytes(result.schema());
    outcome.notes = {fmt::format("plan: {}; time: {}", query.describe(), path.clock())};
    GARUDA_TRY_ASSIGN(copy, path.copy(outcome.record.bytes));
    return {};
  }
};

}  // namespace

Result<void> checked(Result<void> result, Path path, std::string_view device) {
  if (result) return result;
  return tl::unexpected(
      std::move(result).error().wrap(fmt::format("wrong result of path {} on {}", to_string(path), device)));
}

Result<OperatorRun::Ran> OperatorRun::run(bool reads) {
  Ran ran;
  Stopwatch const watch;
  if (call_.query.counts) {
    GARUDA_TRY_ASSIGN(auto counted, workload_.count(engine_, call_.tables, call_.options, call_.query));
    ran.ns = watch.elapsed_ns();
    ran.rows = counted.rows;
    plan_ = std::move(counted.plan);
    stats_ = std::move(counted.stats);
    return ran;
  }
  GARUDA_TRY_ASSIGN(auto const result, workload_.start(engine_, call_.tables, call_.options, call_.query));
  if (!reads) {
    GARUDA_TRY_ASSIGN(ran.table, result->take_device_table());
  }
  while (reads) {
    GARUDA_TRY_ASSIGN(auto batch, result->next());
    if (!batch) break;
    ran.kept.batches.push_back(std::move(*batch));
  }
  ran.ns = watch.elapsed_ns();
  ran.kept.schema = result->schema();
  plan_ = result->plan();
  stats_ = result->stats();
  return ran;
}

Result<OperatorRun::Rows> OperatorRun::verify(Outcome& outcome) {
  if (call_.on_device) run_options(call_.options).expected_rows = workload_.expected_rows(call_.query);
  GARUDA_TRY_ASSIGN(auto ran, run(true));
  auto result = call_.query.counts ? workload_.check_count(ran.rows, call_.query)
                                   : workload_.check(ran.kept.schema, ran.kept.batches, call_.query);
  GARUDA_TRY(checked(std::move(result), plan_.path, plan_.device));
  auto& record = outcome.record;
  record.path = to_string(plan_.path);
  record.device = plan_.device;
  record.driver = driver_of(plan_, run_options(call_.options).threads);
  record.bytes = workload_.bytes(ran.kept.schema, call_.query);
  return std::move(ran.kept);
}

Result<Sample> OperatorRun::sample() {
  GARUDA_TRY_ASSIGN(auto const ran, run(!call_.on_device));
  return Sample{ran.ns, 0, stats_.phases, stats_.counters};
}

std::string_view to_string(Mode mode) noexcept { return word_of(kModes, mode); }
Result<Mode> parse_mode(std::string_view text) { return parse_word("mode", kModes, text); }

std::vector<Choice> choices_of(OperatorRequest const& request) {
  auto choices = request.choices;
  if (choices.empty())
    for (auto const path : request.paths) choices.push_back({path, request.tuning});
  return choices;
}

Result<std::vector<Choice>> parse_choices(std::string_view text) {
  std::vector<Choice> choices;
  while (!text.empty()) {
    auto const choice = text.substr(0, text.find(';'));
    auto const colon = std::min(choice.find(':'), choice.size());
    GARUDA_TRY_ASSIGN(auto const path, parse_path(choice.substr(0, colon)));
    choices.push_back({path, std::string(choice.substr(std::min(colon + 1, choice.size())))});
    text.remove_prefix(std::min(choice.size() + 1, text.size()));
  }
  return choices;
}

Result<std::vector<Result<Outcome>>> compare_end_to_end(Workload const& workload, OperatorRequest const& request,
                                                        OnFailure on_failure) {
  auto const choices = choices_of(request);
  EngineOptions engine_options;
  engine_options.vulkan = std::ranges::any_of(choices, [](auto const& choice) { return choice.path != Path::cpu; });
  GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
  DeviceTableOptions there;
  there.device = request.device;
  there.control.cancelled = request.cancelled;
  bool const on_device = request.memory == TableMemory::device;
  std::vector<Table> pinned;
  std::vector<DeviceTable> uploaded;
  auto views = views_of(workload.tables());
  if (request.memory == TableMemory::pinned) {
    GARUDA_TRY_ASSIGN(pinned, place(engine, workload, there, &Engine::pin));
    views = views_of(pinned);
  } else if (on_device) {
    GARUDA_TRY_ASSIGN(uploaded, place(engine, workload, there, &Engine::upload));
    views = views_of(uploaded);
  }
  std::vector<std::unique_ptr<OperatorRun>> runs;
  std::vector<Contender> contenders;
  for (auto const& choice : choices)
    for (auto const& query : request.queries) {
      GARUDA_TRY_ASSIGN(auto options, options_of(workload, request, choice, query));
      OperatorCall call{views, std::move(options), query, on_device};
      auto* const run = runs.emplace_back(std::make_unique<OperatorRun>(engine, workload, std::move(call))).get();
      auto& contender = contenders.emplace_back();
      contender.outcome.record = workload.record(query);
      contender.verify = [run, on_device](Outcome& outcome) -> Result<void> {
        GARUDA_TRY(run->verify(outcome));
        outcome.record.mode = to_string(on_device ? Mode::resident : Mode::end_to_end);
        if (on_device) outcome.record.choices = run->plan().tuning;
        return {};
      };
      contender.timed.run = [run, on_device]() -> Result<Sample> {
        GARUDA_TRY_ASSIGN(auto sample, run->sample());
        if (on_device) sample.host_ns = std::exchange(sample.ns, total_ns(sample.phases));
        return sample;
      };
      contender.warms_up = on_device || (request.warms_up && choice.path != Path::cpu);
    }
  GARUDA_TRY(measure(contenders, request, on_failure));
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].failure) continue;
    GARUDA_TRY(finish(*runs[i], request, contenders[i]));
    auto const& first = contenders[i - i % request.queries.size()];
    if (&first == &contenders[i] || first.failure) continue;
    contenders[i].outcome.ratios.emplace_back(
        fmt::format("{} / {}", contenders[i].outcome.record.op, first.outcome.record.op),
        summarise_ratios(contenders[i].timed.times(), first.timed.times()));
  }
  return outcomes_of(std::move(contenders));
}

Result<std::vector<Result<Outcome>>> compare_resident(Workload const& workload, OperatorRequest const& request,
                                                      std::span<ResidentPath* const> paths, OnFailure on_failure) {
  auto const sharing = request.share_tables ? Sharing::shared : Sharing::own;
  // Those who open tables go before who uploaded them: the first is destroyed last.
  std::vector<std::shared_ptr<DeviceRun>> runs;
  std::vector<Contender> contenders(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto const run = std::make_shared<DeviceRun>(DeviceRun{*paths[i], {}, {}, {}});
    auto const first = i > 0 && request.share_tables ? runs.front() : nullptr;
    contenders[i].outcome.record = workload.record();
    contenders[i].verify = [&workload, sharing, run, first](Outcome& outcome) -> Result<void> {
      if (first && first->tables.size() < workload.tables().size())
        return fail(ErrorCode::no_device, "the tables that it was to share are not there");
      return run->verify(workload, sharing, first ? &first->tables : nullptr, outcome);
    };
    contenders[i].before.push_back({[run] { return run->copy(); }, {}});
    contenders[i].timed.run = [run] { return run->query.run(); };
    contenders[i].warms_up = !paths[i]->is_software();
    runs.push_back(run);
  }
  auto const measured = measure(contenders, request, on_failure);
  for (auto& contender : contenders) {
    auto& outcome = contender.outcome;
    if (!contender.before.front().samples.empty())
      outcome.bandwidth = {"copying as many bytes,",
                           per_second(outcome.record.bytes, summarise(contender.before.front().times()).median_ns)};
  }
  auto outcomes = outcomes_of(std::move(contenders));
  while (!runs.empty()) runs.pop_back();
  GARUDA_TRY(measured);
  return outcomes;
}

Result<std::vector<Outcome>> run_operator_bench(OperatorRequest const& request) {
  GARUDA_TRY(check(request));
  std::vector<std::unique_ptr<ResidentPath>> opened;
  std::vector<ResidentPath*> paths;
  if (request.mode == Mode::resident) {
    for (auto& path : open_resident_paths(choices_of(request), request.device)) {
      if (!path) return tl::unexpected(std::move(path).error());
      opened.push_back(std::move(*path));
      paths.push_back(opened.back().get());
    }
  }
  GARUDA_TRY_ASSIGN(auto const workload, Workload::create(request.workload, request.seed, request.memory));
  GARUDA_TRY_ASSIGN(auto measured, request.mode == Mode::resident
                                       ? compare_resident(*workload, request, paths, OnFailure::stop)
                                       : compare_end_to_end(*workload, request, OnFailure::stop));
  std::vector<Outcome> outcomes;
  for (auto& outcome : measured) outcomes.push_back(std::move(*outcome));
  return outcomes;
}

}  // namespace garuda::bench
