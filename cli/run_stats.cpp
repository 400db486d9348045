#include "cli/run_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace garuda::cli {
namespace {

std::string milliseconds(std::uint64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1e6); }

std::string throughput(PhaseStats const& phase) {
  // Bytes per nanosecond are gigabytes per second.
  if (phase.ns == 0 || phase.bytes == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(phase.bytes) / static_cast<double>(phase.ns));
}

/// The planner's estimate of a phase, nullopt when it made none.
std::optional<double> estimate_of(Plan const& plan, std::string_view phase) {
  for (auto const& [name, ns] : plan.estimated.phases_ns)
    if (name == phase) return ns;
  return std::nullopt;
}

std::string estimate_text(std::optional<double> ns) { return ns ? fmt::format("{:.3f}", *ns / 1e6) : "-"; }

}  // namespace

std::string stats_table(RunStats const& stats, Plan const& plan, FileTimes const& times) {
  auto text = fmt::format("path    {} on {}{}{}\n", to_string(stats.path), stats.device,
                          stats.driver.empty() ? "" : ", ", stats.driver);
  if (stats.rows)
    text += fmt::format("rows    {} in, {} out\n", *stats.rows, stats.rows_out);
  else
    text += fmt::format("rows    {} left, {} right, {} out\n", stats.rows_left, stats.rows_right, stats.rows_out);
  text += fmt::format("time    {} ms; files: read {} ms, write {} ms; in all {} ms\n", milliseconds(stats.total_ns),
                      milliseconds(times.read_ns), milliseconds(times.write_ns), milliseconds(times.elapsed_ns));
  text +=
      fmt::format("estimated {} ms, without reading and writing files\n", estimate_text(plan.estimated.estimated_ns));
  text += fmt::format("{:<16}{:>14}{:>14}{:>16}{:>16}{:>10}\n", "phase", "ms", "estimated", "items", "bytes", "GB/s");
  for (auto const& phase : stats.phases) {
    text += fmt::format("{:<16}{:>14}{:>14}{:>16}{:>16}{:>10}\n", phase.name, milliseconds(phase.ns),
                        estimate_text(estimate_of(plan, phase.name)), phase.items, phase.bytes, throughput(phase));
  }
  for (auto const& [name, ns] : plan.estimated.phases_ns)
    if (std::ranges::find(stats.phases, name, &PhaseStats::name) == stats.phases.end())
      text += fmt::format("{:<16}{:>14}{:>14}\n", name, "-", estimate_text(ns));
  for (auto const& [name, value] : stats.counters) text += fmt::format("{:<16}{:>14}\n", name, value);
  return text;
}

std::string stats_json(RunStats const& stats, Plan const& plan, FileTimes const& times) {
  using Json = nlohmann::ordered_json;
  auto phases = Json::array();
  for (auto const& phase : stats.phases) {
    phases.push_back(Json{{"name", phase.name}, {"ns", phase.ns}, {"bytes", phase.bytes}});
  }
  auto counters = Json::object();
  for (auto const& [name, value] : stats.counters) counters[name] = value;
  Json object{{"path", to_string(stats.path)}, {"device", stats.device}, {"driver", stats.driver}};
  if (stats.rows) {
    object["rows"] = *stats.rows;
  } else {
    object["rows_left"] = stats.rows_left;
    object["rows_right"] = stats.rows_right;
  }
  object["rows_out"] = stats.rows_out;
  object["total_ns"] = stats.total_ns;
  object["phases"] = std::move(phases);
  auto estimates = Json::array();
  for (auto const& [name, ns] : plan.estimated.phases_ns) estimates.push_back(Json{{"name", name}, {"ns", ns}});
  object["plan"] = Json::parse(to_json(plan));
  object["counters"] = std::move(counters);
  object["estimated"] = Json{{"total_ns", plan.estimated.estimated_ns}, {"phases", std::move(estimates)}};
  object["read_ns"] = times.read_ns;
  object["write_ns"] = times.write_ns;
  object["elapsed_ns"] = times.elapsed_ns;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace garuda::cli
