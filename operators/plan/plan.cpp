// Printing of plans, and of what runs took.
#include "garuda/plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "operators/contract/offers/path_row.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda {
namespace {

constexpr std::string_view kAutomatic = "auto";

std::string milliseconds(double ns) { return fmt::format("{:.3f} ms", ns * 1e-6); }

/// Path, device, time, choices and reason on a line.
std::string line_of(Candidate const& candidate) {
  auto const time = candidate.estimated_ns > 0 ? milliseconds(candidate.estimated_ns) : "-";
  return fmt::format("  {:>14}  {:<9} {:<24} {}{}{}\n", time, to_string(candidate.path), candidate.device,
                     candidate.choices, candidate.choices.empty() ? "" : "; ", candidate.reason);
}

/// An operator and, indented below it, its inputs.
std::string tree_of(Plan const& plan, std::string_view title, std::size_t depth = 0) {
  auto text = fmt::format("{:<12}{:{}}{}", title, "", 2 * depth, plan.operation);
  if (!plan.device.empty()) text += fmt::format(" on {}", plan.device);
  if (!plan.choices.empty()) text += fmt::format(": {}", plan.choices);
  if (plan.rows) {
    auto const estimated = fmt::format("{:.0f}", plan.estimated_rows);
    text += fmt::format("; {} rows{} in {}", *plan.rows,
                        estimated == std::to_string(*plan.rows) ? "" : fmt::format(", about {} expected,", estimated),
                        milliseconds(static_cast<double>(plan.ns)));
  } else if (plan.estimated_rows > 0)
    text += fmt::format("; about {:.0f} rows", plan.estimated_rows);
  if (plan.estimated_ns > 0)
    text += fmt::format(", {}{}", plan.rows ? "estimated " : "", milliseconds(plan.estimated_ns));
  if (depth > 0 && !plan.reason.empty()) text += fmt::format("; {}", plan.reason);  // the root has lines of its own
  text += '\n';
  for (auto const& input : plan.inputs) text += tree_of(input, "", depth + 1);
  return text;
}

std::string details_of(Plan const& plan) {
  std::string text;
  for (auto const& [name, value] : plan.details) text += fmt::format("{:<11} {}\n", name, value);
  return text;
}

/// How a join or a group-by runs, and what else it might have done.
std::string choices_of(Plan const& plan) {
  auto text =
      fmt::format("keys        {}{} partitions", plan.key_bits == 0 ? "" : fmt::format("{} bits, ", plan.key_bits),
                  std::uint64_t{1} << plan.radix_bits);
  if (plan.radix_bits > 0)
    text += plan.mixed_digit ? ", digit from a mixed hash" : fmt::format(", digit from key bit {}", plan.radix_shift);
  text += fmt::format("\nwork        slices of at most {} rows of a table, {} in flight, chunks of {} rows\n",
                      plan.slice_rows, plan.lanes, plan.chunk_rows);
  text += fmt::format("memory      {} bytes on the device, {} bytes on the host beside the inputs\n", plan.device_bytes,
                      plan.host_bytes);
  text += fmt::format("tuning      {}\n", plan.tuning.empty() ? "auto" : plan.tuning);
  text += details_of(plan);
  text += "candidates\n";
  for (auto const& candidate : plan.candidates) text += line_of(candidate);
  return text;
}

nlohmann::ordered_json json_of(std::vector<std::pair<std::string, std::string>> const& details) {
  auto json = nlohmann::ordered_json::object();
  for (auto const& [name, value] : details) json[name] = value;
  return json;
}

nlohmann::ordered_json json_trees_of(std::vector<Plan> const& plans);

nlohmann::ordered_json json_tree_of(Plan const& plan) {
  nlohmann::ordered_json json{{"operator", plan.operation}};
  if (!plan.device.empty()) json["device"] = plan.device;
  if (!plan.device.empty() && !plan.inputs.empty()) json["path"] = to_string(plan.path);
  if (!plan.choices.empty()) {  // a table has no strategy
    json["strategy"] = plan.choices;
    json["estimated_ns"] = plan.estimated_ns;
  }
  json["estimated_rows"] = plan.estimated_rows;
  if (plan.rows) {
    json["rows"] = *plan.rows;
    json["ns"] = plan.ns;
  }
  if (!plan.reason.empty()) json["reason"] = plan.reason;
  if (!plan.details.empty()) json["details"] = json_of(plan.details);
  if (!plan.notes.empty()) json["notes"] = plan.notes;
  json["inputs"] = json_trees_of(plan.inputs);
  return json;
}

nlohmann::ordered_json json_trees_of(std::vector<Plan> const& plans) {
  auto json = nlohmann::ordered_json::array();
  for (auto const& plan : plans) json.push_back(json_tree_of(plan));
  return json;
}

/// Names come from drivers and files: bytes that are not UTF-8 are replaced, never thrown on.
std::string text_of(nlohmann::ordered_json const& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string_view to_string(Path path) noexcept {
  if (path == Path::automatic) return kAutomatic;
  auto const* const row = plan::find_path(path);
  return row != nullptr ? row->name : "unknown";
}

Result<Path> parse_path(std::string_view text) {
  if (text == kAutomatic) return Path::automatic;
  std::string names(kAutomatic);
  auto const rows = plan::paths();
  for (auto const* row : rows) {
    if (row->name == text) return row->path;
    names += fmt::format("{}{}", row == rows.back() ? " or " : ", ", row->name);
  }
  return fail(ErrorCode::usage, fmt::format("path must be {}: {}", names, text));
}

std::string to_string(Plan const& plan) {
  std::string text = fmt::format("path        {} on {}{}\n", to_string(plan.path), plan.device,
                                 plan.driver.empty() ? "" : fmt::format(" ({})", plan.driver));
  if (!plan.reason.empty()) text += fmt::format("because     {}\n", plan.reason);
  for (auto const& written : plan.written) text += tree_of(written, "query");
  text += tree_of(plan, "plan");
  // The operators of a query decide for themselves.
  text += plan.slice_rows > 0 || !plan.candidates.empty() ? choices_of(plan) : details_of(plan);
  for (auto const& note : plan.notes) text += fmt::format("note        {}\n", note);
  return text;
}

std::string to_json(Plan const& plan) {
  nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
  for (auto const& candidate : plan.candidates) {
    nlohmann::ordered_json phases = nlohmann::ordered_json::array();
    for (auto const& [phase, ns] : candidate.phases_ns) phases.push_back({{"name", phase}, {"ns", ns}});
    candidates.push_back({{"path", to_string(candidate.path)},
                          {"device", candidate.device},
                          {"choices", candidate.choices},
                          {"estimated_ns", candidate.estimated_ns},
                          {"reason", candidate.reason},
                          {"phases", phases}});
  }
  nlohmann::ordered_json const json{{"path", to_string(plan.path)},
                                    {"device", plan.device},
                                    {"driver", plan.driver},
                                    {"reason", plan.reason},
                                    {"key_bits", plan.key_bits},
                                    {"radix_bits", plan.radix_bits},
                                    {"radix_shift", plan.radix_shift},
                                    {"mixed_digit", plan.mixed_digit},
                                    {"slice_rows", plan.slice_rows},
                                    {"lanes", plan.lanes},
                                    {"chunk_rows", plan.chunk_rows},
                                    {"tuning", plan.tuning},
                                    {"device_bytes", plan.device_bytes},
                                    {"host_bytes", plan.host_bytes},
                                    {"estimated_ns", plan.estimated_ns},
                                    {"tree", json_tree_of(plan)},
                                    {"written", json_trees_of(plan.written)},
                                    {"candidates", candidates},
                                    {"details", json_of(plan.details)},
                                    {"notes", plan.notes}};
  return text_of(json);
}

std::string to_json(RunStats const& stats) {
  nlohmann::ordered_json json{{"path", to_string(stats.path)}, {"device", stats.device}, {"driver", stats.driver}};
  if (stats.rows) {
    json["rows"] = *stats.rows;
  } else {
    json["rows_left"] = stats.rows_left;
    json["rows_right"] = stats.rows_right;
  }
  json["rows_out"] = stats.rows_out;
  json["total_ns"] = stats.total_ns;
  json["phases"] = nlohmann::ordered_json::array();
  for (auto const& phase : stats.phases)
    json["phases"].push_back({{"name", phase.name}, {"ns", phase.ns}, {"bytes", phase.bytes}});
  json["counters"] = nlohmann::ordered_json::object();
  for (auto const& [name, value] : stats.counters) json["counters"][name] = value;
  return text_of(json);
}

}  // namespace garuda
