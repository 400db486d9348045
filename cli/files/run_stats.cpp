#include "cli/files/run_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace garuda::cli {
namespace {

std::string milliseconds(std::uint64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1e6); }

std::string throughput(PhaseStats const& phase) {
  // Bytes per nanosecond are gigabytes per second.
  if (phase.ns == 0 || phase.bytes == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(phase.bytes) / static_cast<double>(phase.ns));
}

/// Steps that are estimated together, as one phase, where they are not by themselves.
struct Step {
  std::string_view name;
  std::string_view phase;
};
constexpr std::array kSteps{
    // of group-bys
    Step{"partition", "group"}, Step{"hash", "group"}, Step{"map", "group"}, Step{"prefix", "group"},
    Step{"range", "group"}, Step{"ranges", "aggregate"}, Step{"values", "aggregate"}, Step{"count", "aggregate"},
    Step{"windows", "aggregate"}, Step{"sum", "aggregate"}, Step{"extremes", "aggregate"}, Step{"fold", "aggregate"},
    // of joins
    Step{"tasks", "join"}, Step{"count", "join"}, Step{"prefix", "join"}, Step{"probe", "join"}, Step{"match", "join"},
    Step{"mark", "join"}, Step{"count", "probe"}, Step{"mark", "probe"}, Step{"histogram", "device partition"},
    Step{"scatter", "device partition"}};

/// A phase of a run, as it was estimated and as it was: either may lack.
struct Phase {
  std::string name;
  std::optional<double> estimated_ns;
  std::vector<PhaseStats> steps;

  PhaseStats total() const {
    PhaseStats sum{name, 0, 0, 0};
    for (auto const& step : steps) {
      sum.ns += step.ns;
      sum.bytes += step.bytes;
      sum.items += step.items;
    }
    return sum;
  }
};

/// Phases in the order of the estimate, then those that were not estimated.
std::vector<Phase> phases_of(RunStats const& stats, Plan const& plan) {
  std::vector<Phase> phases;
  for (auto const& [name, ns] : plan.phases_ns) phases.push_back({name, ns, {}});
  auto const find = [&](std::string_view name) { return std::ranges::find(phases, name, &Phase::name); };
  for (auto const& measured : stats.phases) {
    auto found = find(measured.name);
    for (auto const& step : kSteps)
      if (found == phases.end() && step.name == measured.name) found = find(step.phase);
    if (found == phases.end()) found = phases.insert(found, {measured.name, std::nullopt, {}});
    found->steps.push_back(measured);
  }
  return phases;
}

std::string estimate_text(std::optional<double> ns) { return ns ? fmt::format("{:.3f}", *ns / 1e6) : "-"; }

}  // namespace

std::string stats_table(RunStats const& stats, Plan const& plan, FileTimes const& times) {
  auto text = fmt::format("path    {} on {}{}{}\n", to_string(stats.path), stats.device,
                          stats.driver.empty() ? "" : ", ", stats.driver);
  for (auto const& [name, value] : plan.details)
    if (name == "kind") text += fmt::format("join    {}\n", value);
  if (stats.rows)
    text += fmt::format("rows    {} in, {} out\n", *stats.rows, stats.rows_out);
  else
    text += fmt::format("rows    {} left, {} right, {} out\n", stats.rows_left, stats.rows_right, stats.rows_out);
  text += fmt::format("time    {} ms; files: read {} ms, write {} ms; in all {} ms\n", milliseconds(stats.total_ns),
                      milliseconds(times.read_ns), milliseconds(times.write_ns), milliseconds(times.elapsed_ns));
  text += fmt::format("library for files loaded in {} ms\n", milliseconds(times.library_ns));
  text +=
      fmt::format("engine  made in {} ms, device opened in {} ms, {} ms waited for\n", milliseconds(times.engine_ns),
                  milliseconds(times.device_open_ns), milliseconds(times.engine_wait_ns));
  text += fmt::format("estimated {} ms, without reading and writing files\n", estimate_text(plan.estimated_ns));
  text += fmt::format("{:<16}{:>14}{:>14}{:>16}{:>16}{:>10}\n", "phase", "ms", "estimated", "items", "bytes", "GB/s");
  auto const add_row = [&](std::string const& name, PhaseStats const& measured, std::string const& estimated) {
    text += fmt::format("{:<16}{:>14}{:>14}{:>16}{:>16}{:>10}\n", name, milliseconds(measured.ns), estimated,
                        measured.items, measured.bytes, throughput(measured));
  };
  add_row("read files", {"", times.read_ns, times.read_bytes, 0}, "-");
  for (auto const& phase : phases_of(stats, plan)) {
    if (phase.steps.empty()) {
      text += fmt::format("{:<16}{:>14}{:>14}\n", phase.name, "-", estimate_text(phase.estimated_ns));
      continue;
    }
    add_row(phase.name, phase.total(), estimate_text(phase.estimated_ns));
    if (phase.steps.size() == 1 && phase.steps.front().name == phase.name) continue;
    for (auto const& step : phase.steps) add_row("  " + step.name, step, "");
  }
  add_row("write files", {"", times.write_ns, times.write_bytes, 0}, "-");
  for (auto const& [name, value] : stats.counters) text += fmt::format("{:<16}{:>14}\n", name, value);
  return text;
}

std::string stats_json(RunStats const& stats, Plan const& plan, FileTimes const& times) {
  using Json = nlohmann::ordered_json;
  auto object = Json::parse(to_json(stats));
  auto estimates = Json::array();
  for (auto const& phase : phases_of(stats, plan))
    if (phase.estimated_ns)
      estimates.push_back(Json{{"name", phase.name}, {"ns", *phase.estimated_ns}, {"measured_ns", phase.total().ns}});
  object["plan"] = Json::parse(to_json(plan));
  object["estimated"] = Json{{"total_ns", plan.estimated_ns}, {"phases", std::move(estimates)}};
  object["engine_ns"] = times.engine_ns;
  object["device_open_ns"] = times.device_open_ns;
  object["engine_wait_ns"] = times.engine_wait_ns;
  object["library_ns"] = times.library_ns;
  object["read_ns"] = times.read_ns;
  object["read_bytes"] = times.read_bytes;
  object["write_ns"] = times.write_ns;
  object["write_bytes"] = times.write_bytes;
  object["elapsed_ns"] = times.elapsed_ns;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace garuda::cli
