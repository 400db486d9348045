#include "report/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>

#include "bench/record.hpp"
#include "garuda/engine.hpp"
#include "operators/plan/path_choice.hpp"
#include "report/cell_runs.hpp"
#include "report/host_state.hpp"
#include "report/suite.hpp"

namespace garuda::report {
namespace {

using bench::Mode;
using Rates = std::map<std::string, double>;

/// A calibration takes some ten seconds: one that has less to spend leaves it out.
constexpr double kLeastSecondsWithRates = 30;
/// Host memory that a cell takes for a row: its columns, their partitions, its result.
constexpr std::uint64_t kBytesOfRow = 64;
/// Part of the time that is left which rates may take.
constexpr double kShareOfRates = 0.4;

/// Visits of a cell, each after all others had one: between them a machine drifts as it does between two reports.
constexpr std::size_t kVisits = 2;

Json or_null(std::optional<std::uint32_t> const& device) { return device ? Json(*device) : Json(nullptr); }

Json digest_text(bench::RowDigest const& digest) {
  return fmt::format("{}:{:016x}{:016x}", digest.rows, digest.high, digest.low);
}

std::string today() {
  auto const now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

bool wants_devices(ReportRequest const& request) {
  return request.paths.empty() || std::ranges::any_of(request.paths, [](Path path) { return path != Path::cpu; });
}

/// The bound that a result is compared with: the least time in which its bytes could be moved.
struct Ceiling {
  std::string name;
  double ns = 0;  ///< 0: not known
};

/// A cell measured on a target.
struct MeasuredCell {
  SuiteCell const* cell = nullptr;
  std::size_t target = 0;
  Measured measured;                               ///< of the first visit, the longest submission of all
  std::vector<std::vector<std::uint64_t>> visits;  ///< nanoseconds of their samples
};

class Report {
 public:
  Report(ReportRequest const& request, Engine& engine)
      : request_(request),
        engine_(engine),
        budget_(request.seconds > 0 ? request.seconds : seconds_of(request.thoroughness)),
        before_(read_host_state()) {}

  Result<Json> run() {
    GARUDA_TRY(find_targets());
    list_devices();
    touch_memory_of(suite_);
    GARUDA_TRY(measure_rates());
    for (std::size_t visit = 0; visit < kVisits; ++visit)
      for (std::size_t i = 0; i < suite_.size(); ++i) {
        if (request_.control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between workloads");
        if (request_.control.on_progress)
          request_.control.on_progress({suite_[i].title, visit * suite_.size() + i, kVisits * suite_.size(), 0});
        GARUDA_TRY(visit == 0 ? measure(suite_[i]) : measure_again(suite_[i]));
      }
    return finished();
  }

 private:
  bool wants(Path path) const {
    return request_.paths.empty() || std::ranges::find(request_.paths, path) != request_.paths.end();
  }

  /// The CPU path, then each device's.
  Result<void> find_targets() {
    if (wants(Path::cpu)) targets_.push_back({Path::cpu, Mode::end_to_end, std::nullopt});
    if (wants(Path::cuda))
      if (auto const cuda = engine_.find_cuda_devices(); !cuda) leave_out("path cuda: " + cuda.error().describe());
    auto const infos = engine_.devices();
    if (request_.device) {
      std::vector<DeviceInfo const*> all;
      for (auto const& info : infos) all.push_back(&info);
      GARUDA_TRY_ASSIGN(only_, plan::choose_device(all, *request_.device, DeviceApi::vulkan));
    }
    for (auto const& info : infos) {
      if (only_ && info.index != only_ && info.same_gpu != only_) continue;
      if (!info.usable) {
        leave_out(fmt::format("device {}, {}: {}", info.index, info.name, info.reason));
        continue;
      }
      for (auto const path : {Path::graphics, Path::compute, Path::cuda}) {
        if (!wants(path) || (path == Path::cuda) != (info.api == DeviceApi::cuda)) continue;
        targets_.push_back({path, Mode::end_to_end, info.index});
        if (path == Path::compute) targets_.push_back({path, Mode::resident, info.index});
      }
    }
    if (infos.empty() && wants_devices(request_))
      leave_out("no Vulkan device was found: everything but the CPU path needs one");
    if (targets_.empty()) return fail(ErrorCode::no_device, "no path that was asked for can run on this machine");
    return {};
  }

  void list_devices() {
    auto const profiles = vulkan_profiles();
    devices_ = Json::array();
    for (auto const& info : engine_.devices()) {
      auto device = device_json(info);
      if (info.api == DeviceApi::vulkan && profiles && info.index < profiles->size())
        device.update((*profiles)[info.index]);
      devices_.push_back(std::move(device));
    }
  }

  /// Touches as much memory as the largest cell takes, unless the report is to take a few seconds.
  void touch_memory_of(std::vector<SuiteCell> const& cells) {
    if (budget_.left() < kLeastSecondsWithRates) return;
    std::uint64_t most_rows = 0;
    for (auto const& cell : cells)
      if (cell.from <= request_.thoroughness) most_rows = std::max(most_rows, cell.rows());
    touch_host_memory(most_rows * kBytesOfRow);
    engine_.release_host_memory();
  }

  /// Measures the rates of the host and of the devices that are measured.
  Result<void> measure_rates() {
    std::vector<std::optional<std::uint32_t>> known;
    for (auto const& target : targets_) {
      auto const device = rated_device(target);
      if (std::ranges::find(known, device) == known.end()) known.push_back(device);
    }
    if (!known.front().has_value()) known.erase(known.begin());
    known.emplace_back();  // the host, which takes longest, last
    if (budget_.left() < kLeastSecondsWithRates) {
      leave_out(fmt::format("ceilings: they take about ten seconds of at least {:.0f}", kLeastSecondsWithRates));
      return {};
    }
    auto const least_left = budget_.left() * (1 - kShareOfRates);
    for (auto const& device : known) {
      auto const info = calibrate(device, least_left);
      if (request_.control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled among the ceilings");
      if (info) {
        add_rates(*info);
      } else {
        leave_out(fmt::format("ceilings of {}: {}", device ? fmt::format("device {}", *device) : "the host",
                              info.error().describe()));
      }
    }
    return {};
  }

  /// Calibrates the host if there is no device. Gives up once no more than `least_left` seconds are left.
  Result<CalibrationInfo> calibrate(std::optional<std::uint32_t> device, double least_left) {
    std::atomic<bool> is_late{false};
    CalibrateOptions options;
    options.device = device ? fmt::to_string(*device) : "host";
    options.control.cancelled = request_.control.cancelled;
    options.control.abandoned = &is_late;
    options.control.on_progress = [&](Progress const& progress) {
      if (request_.control.on_progress) request_.control.on_progress(progress);
      is_late = budget_.left() < least_left;
    };
    auto infos = engine_.calibrate(options);
    if (infos) return std::move(infos->front());
    if (is_late) return fail(ErrorCode::limit_exceeded, "they take too long for the time that is given");
    return tl::unexpected(std::move(infos).error());
  }

  /// CUDA's devices are rated as the same GPU's Vulkan device.
  std::optional<std::uint32_t> rated_device(Target const& target) const {
    if (!target.device) return std::nullopt;
    auto const& info = engine_.devices()[*target.device];
    return info.same_gpu ? info.same_gpu : target.device;
  }

  void add_rates(CalibrationInfo const& info) {
    auto& rates = rates_[info.device];
    auto shown = Json::object();
    for (auto const& rate : info.rates) {
      if (rate.points.empty() && rate.value <= 0) continue;
      auto const is_curve = !rate.points.empty();
      shown[rate.name] = {{"unit", rate.unit}, {"value", is_curve ? rate.points.back().second : rate.value}};
      if (is_curve) shown[rate.name]["at"] = fmt::format("{:.0f} {}", rate.points.back().first, rate.size);
      if (!is_curve) rates[rate.name] = rate.value;
    }
    ceilings_.push_back({{"device", or_null(info.device)}, {"rates", std::move(shown)}});
  }

  Result<void> measure(SuiteCell const& cell) {
    if (cell.from > request_.thoroughness) return {};
    if (auto const reason = budget_.tables_reason(cell); !reason.empty()) {
      leave_out(reason, cell.id);
      return {};
    }
    Stopwatch const making;
    auto const workload = bench::Workload::create(cell.workload, kSuiteSeed);
    if (!workload) {
      leave_out(workload.error().describe(), cell.id);
      return {};
    }
    budget_.took(Budget::kTables, cell, static_cast<double>(making.elapsed_ns()) / 1e9);
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (std::ranges::find(gone_, i) == gone_.end()) able.push_back(i);
    auto const allowed = budget_.allow(able, cell);
    for (auto const& [target, reason] : allowed.left_out) leave_out(reason, cell.id, &targets_[target]);
    if (allowed.targets.empty()) return {};
    Json shown{{"id", cell.id},         {"title", cell.title},
               {"series", cell.series}, {"op", cell.is_join() ? "join" : "group-by"},
               {"rows", cell.rows()},   {"rows_out", (*workload)->rows_out()}};
    cells_.push_back(std::move(shown));
    GARUDA_TRY(visit(cell, **workload, allowed));
    add_plan(cell, **workload);
    return {};
  }

  /// Where the time allows: a cell that was measured, on what it was measured on.
  Result<void> measure_again(SuiteCell const& cell) {
    std::vector<std::size_t> measured;
    for (auto const& one : measured_)
      if (one.cell == &cell && std::ranges::find(gone_, one.target) == gone_.end()) measured.push_back(one.target);
    if (measured.empty() || !budget_.tables_reason(cell).empty()) return {};
    auto const allowed = budget_.allow(measured, cell);
    if (allowed.targets.empty()) return {};
    auto const workload = bench::Workload::create(cell.workload, kSuiteSeed);
    // Memory that there was before may have been taken since: the first visit stands.
    if (!workload) return {};
    return visit(cell, **workload, allowed);
  }

  Result<void> visit(SuiteCell const& cell, bench::Workload const& workload, Budget::Allowed const& allowed) {
    std::vector<Target> chosen;
    for (auto const target : allowed.targets) chosen.push_back(targets_[target]);
    bench::Sampling sampling;
    sampling.repeat = kMostRepeats;
    sampling.most_ns = static_cast<std::uint64_t>(allowed.seconds / 2 / kVisits * 1e9);
    sampling.cancelled = request_.control.cancelled;
    GARUDA_TRY_ASSIGN(auto measured, measure_cell(engine_, workload, chosen, sampling));
    for (std::size_t i = 0; i < measured.size(); ++i) take(cell, allowed.targets[i], std::move(measured[i]));
    return {};
  }

  void take(SuiteCell const& cell, std::size_t target, Result<Measured> measured) {
    if (!measured) {
      auto const code = measured.error().code();
      // A device that cannot run at all need not be asked again.
      if (code == ErrorCode::no_device) gone_.push_back(target);
      leave_out(measured.error().describe(), code == ErrorCode::no_device ? std::string() : cell.id, &targets_[target],
                code == ErrorCode::device_failure);
      return;
    }
    budget_.took(target, cell, static_cast<double>(measured->record.time.median_ns) / 1e9);
    auto const known = std::ranges::find_if(
        measured_, [&](MeasuredCell const& one) { return one.cell == &cell && one.target == target; });
    if (known == measured_.end()) {
      auto samples = measured->record.samples_ns;
      measured_.push_back({&cell, target, *std::move(measured), {std::move(samples)}});
      return;
    }
    known->visits.push_back(std::move(measured->record.samples_ns));
    known->measured.longest_submission_us =
        std::max(known->measured.longest_submission_us, measured->longest_submission_us);
  }

  Json result_json(MeasuredCell const& one) const {
    auto const& record = one.measured.record;
    std::vector<std::uint64_t> samples;
    auto visits = Json::array();
    for (auto const& visit : one.visits) {
      samples.insert(samples.end(), visit.begin(), visit.end());
      auto const time = bench::summarise(visit);
      visits.push_back({{"median_ns", time.median_ns}, {"mad_ns", time.mad_ns}, {"samples", time.samples}});
    }
    auto const time = bench::summarise(samples);
    auto const median = static_cast<double>(time.median_ns);
    auto const ceiling = ceiling_of(targets_[one.target], one.measured);
    Json result{{"cell", one.cell->id},
                {"path", record.path},
                {"mode", record.mode},
                {"device", or_null(targets_[one.target].device)},
                {"median_ns", time.median_ns},
                {"mad_ns", time.mad_ns},
                {"min_ns", time.min_ns},
                {"max_ns", time.max_ns},
                {"samples", time.samples},
                {"visits", std::move(visits)},
                {"rows_per_s", std::round(static_cast<double>(one.cell->rows()) / std::max(median, 1.0) * 1e9)},
                {"bytes", record.bytes},
                {"ceiling", ceiling.ns > 0 ? Json(ceiling.name) : Json(nullptr)},
                {"share", ceiling.ns > 0 ? Json(std::round(ceiling.ns / median * 1e4) / 1e4) : Json(nullptr)},
                {"longest_submission_us", one.measured.longest_submission_us},
                {"digest", digest_text(one.measured.digest)},
                {"phases", Json::object()}};
    for (auto const& phase : record.phases) result["phases"][phase.name] = phase.ns;
    return result;
  }

  /// A copy reads and writes each byte, so what is read and written once goes twice as fast.
  Ceiling ceiling_of(Target const& target, Measured const& measured) const {
    auto const known = rates_.find(rated_device(target));
    if (known == rates_.end()) return {};
    auto const rate = [&](char const* name) {
      auto const found = known->second.find(name);
      return found == known->second.end() ? 0.0 : found->second;
    };
    auto const ns = [](std::uint64_t bytes, double per_s) {
      return per_s > 0 ? static_cast<double>(bytes) / per_s * 1e9 : 0;
    };
    auto const bytes = measured.bytes_in + measured.bytes_out;
    if (!target.device) return {"host copy", ns(bytes, 2 * rate("copy"))};
    if (target.mode == Mode::resident || engine_.devices()[*target.device].unified_memory)
      return {"device copy", ns(bytes, rate("streamed_bytes"))};
    return {"bus", std::max(ns(measured.bytes_in, rate("team_upload")), ns(measured.bytes_out, rate("team_download")))};
  }

  /// Adds the path that `auto` would take.
  void add_plan(SuiteCell const& cell, bench::Workload const& workload) {
    auto options = workload.parse_options("");
    if (!options) return;
    if (only_) bench::run_options(*options).device = fmt::to_string(*only_);
    auto const plan = workload.explain(engine_, *options);
    if (!plan) {
      leave_out("planning: " + plan.error().describe(), cell.id);
      return;
    }
    plans_.push_back({{"cell", cell.id},
                      {"path", to_string(plan->path)},
                      {"device", plan->device},
                      {"estimated_ns", std::round(plan->estimated_ns)}});
  }

  /// How much longer a plan's choice took than the best of what it could have taken; null where it was not measured.
  Json regret_of(Json const& plan, Json const& results) const {
    double best = 0;
    double chosen = 0;
    for (auto const& result : results) {
      if (result["cell"] != plan["cell"] || result["mode"] != "end-to-end" || result["path"] == "cuda") continue;
      auto const ns = result["median_ns"].get<double>();
      if (best == 0 || ns < best) best = ns;
      auto const& device = result["device"];
      bool const is_chosen = result["path"] == plan["path"] &&
                             (device.is_null() || devices_[device.get<std::size_t>()]["name"] == plan["device"]);
      if (is_chosen && chosen == 0) chosen = ns;
    }
    return chosen > 0 ? Json(std::round(chosen / best * 1e3) / 1e3) : Json(nullptr);
  }

  void leave_out(std::string const& reason, std::string const& cell = {}, Target const* target = nullptr,
                 bool failed = false) {
    left_out_.push_back({{"cell", cell.empty() ? Json(nullptr) : Json(cell)},
                         {"target", target == nullptr ? Json(nullptr) : Json(describe(*target))},
                         {"reason", without_paths(reason)},
                         {"failed", failed}});
  }

  Json finished() {
    auto results = Json::array();
    for (auto const& one : measured_) results.push_back(result_json(one));
    for (auto& plan : plans_) plan["regret"] = regret_of(plan, results);
    return {{"format", "garuda report"},
            {"format_version", kFormatVersion},
            {"suite", kSuiteVersion},
            {"garuda", GARUDA_VERSION},
            {"date", today()},
            {"thoroughness", to_string(request_.thoroughness)},
            {"seconds", std::round(budget_.spent() * 10) / 10},
            {"host", host_json(engine_.calibrations().front().name, before_)},
            {"devices", std::move(devices_)},
            {"ceilings", std::move(ceilings_)},
            {"cells", std::move(cells_)},
            {"results", std::move(results)},
            {"plans", std::move(plans_)},
            {"left_out", std::move(left_out_)}};
  }

  ReportRequest const& request_;
  Engine& engine_;
  Budget budget_;
  HostState before_;
  std::optional<std::size_t> only_;  ///< the one device that was asked for
  std::vector<SuiteCell> const suite_ = suite();
  std::vector<MeasuredCell> measured_;  ///< in the order of their first visits
  std::vector<Target> targets_;
  std::vector<std::size_t> gone_;  ///< of targets_: those that cannot run
  std::map<std::optional<std::uint32_t>, Rates> rates_;
  Json devices_ = Json::array();
  Json ceilings_ = Json::array();
  Json cells_ = Json::array();
  Json plans_ = Json::array();
  Json left_out_ = Json::array();
};

}  // namespace

Json device_json(DeviceInfo const& info) {
  Json device{{"index", info.index},
              {"api", to_string(info.api)},
              {"same_gpu", or_null(info.same_gpu)},
              {"name", info.name},
              {"driver", info.driver},
              {"api_version", info.api_version},
              {"kind", to_string(info.kind)},
              {"memory_bytes", info.memory_bytes},
              {"unified_memory", info.unified_memory},
              {"subgroup_size", info.subgroup_size},
              {"usable", info.usable},
              {"reason", info.reason},
              {"missing_optional", info.missing_optional},
              {"traits", Json::object()}};
  for (auto const& [name, value] : info.traits) device["traits"][name] = value;
  return device;
}

double seconds_of(Thoroughness thoroughness) noexcept {
  constexpr std::array<double, 3> kSeconds{55, 280, 1800};
  return kSeconds.at(static_cast<std::size_t>(thoroughness));
}

Result<Json> make_report(ReportRequest const& request) {
  EngineOptions options;
  options.vulkan = wants_devices(request);
  options.cuda = options.vulkan;
  options.calibration_folder = "";  // a report measures its own rates, and leaves nothing behind but its files
  GARUDA_TRY_ASSIGN(auto engine, Engine::create(options));
  return Report(request, engine).run();
}

std::string without_paths(std::string_view text) {
  std::string cleaned;
  char before = ' ';
  for (std::size_t i = 0; i < text.size(); before = text[i], ++i) {
    bool const begins = text[i] == '/' && std::string_view(" '\"(=:").find(before) != std::string_view::npos;
    if (!begins) {
      cleaned += text[i];
      continue;
    }
    cleaned += "…";
    i = std::min(text.find_first_of(" '\"),:;", i), text.size()) - 1;
  }
  return cleaned;
}

}  // namespace garuda::report
