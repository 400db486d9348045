// Printing of plans.
#include "garuda/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace garuda {
namespace {

constexpr std::array<std::pair<Path, std::string_view>, 5> kPathNames{{{Path::automatic, "auto"},
                                                                       {Path::graphics, "graphics"},
                                                                       {Path::compute, "compute"},
                                                                       {Path::cuda, "cuda"},
                                                                       {Path::cpu, "cpu"}}};

std::string milliseconds(double ns) { return fmt::format("{:.3f} ms", ns * 1e-6); }

}  // namespace

std::string_view to_string(Path path) noexcept {
  for (auto const& [value, name] : kPathNames)
    if (value == path) return name;
  return "unknown";
}

Result<Path> parse_path(std::string_view text) {
  for (auto const& [value, name] : kPathNames)
    if (name == text) return value;
  return fail(ErrorCode::usage, fmt::format("path must be auto, graphics, compute, cuda or cpu: {}", text));
}

std::string to_string(Plan const& plan) {
  std::string text = fmt::format("path        {} on {}{}\n", to_string(plan.path), plan.device,
                                 plan.driver.empty() ? "" : fmt::format(" ({})", plan.driver));
  text += fmt::format("because     {}\n", plan.reason);
  text += fmt::format("keys        {}{} partitions", plan.key_bits == 0 ? "" : fmt::format("{} bits, ", plan.key_bits),
                      std::uint64_t{1} << plan.radix_bits);
  if (plan.radix_bits > 0)
    text += plan.mixed_digit ? ", digit from a mixed hash" : fmt::format(", digit from key bit {}", plan.radix_shift);
  text += fmt::format("\nwork        slices of at most {} rows of a table, {} in flight, chunks of {} rows\n",
                      plan.slice_rows, plan.lanes, plan.chunk_rows);
  text += fmt::format("memory      {} bytes on the device, {} bytes on the host beside the inputs\n", plan.device_bytes,
                      plan.host_bytes);
  text += fmt::format("tuning      {}\n", plan.tuning.empty() ? "auto" : plan.tuning);
  for (auto const& [name, value] : plan.details) text += fmt::format("{:<11} {}\n", name, value);
  text += "candidates\n";
  for (auto const& candidate : plan.candidates) {
    text += fmt::format("  {:<9} {:<32} {:>14}  {}\n", to_string(candidate.path), candidate.device,
                        candidate.estimated_ns > 0 ? milliseconds(candidate.estimated_ns) : "-", candidate.reason);
    if (!candidate.choices.empty()) text += fmt::format("    {}\n", candidate.choices);
    for (auto const& [phase, ns] : candidate.phases_ns)
      text += fmt::format("    {:<12} {:>14}\n", phase, milliseconds(ns));
  }
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
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
  for (auto const& [name, value] : plan.details) details[name] = value;
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
                                    {"estimated_ns", plan.estimated.estimated_ns},
                                    {"candidates", candidates},
                                    {"details", details},
                                    {"notes", plan.notes}};
  // Names come from drivers and files: bytes that are not UTF-8 are replaced, never thrown on.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace garuda
