// `garuda report`: makes the report of a machine, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/device_info.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "report/suite.hpp"

namespace garuda::report {

using Json = nlohmann::ordered_json;

/// Version of the JSON's format, which docs/report.schema.json describes.
inline constexpr int kFormatVersion = 2;
/// The format before, in which each cell was visited once. Comparing reads it.
inline constexpr int kFormatOfOneVisit = 1;

struct ReportRequest {
  Thoroughness thoroughness = Thoroughness::standard;
  double seconds = 0;                 ///< that all may take; 0: seconds_of(thoroughness)
  std::vector<Path> paths;            ///< empty: all
  std::optional<std::string> device;  ///< as RunOptions::device; nullopt: every usable one
  Control control;
};

/// Seconds that a report takes at most, about: 55, 280, 1800.
double seconds_of(Thoroughness thoroughness) noexcept;

/// Measures the host, the devices and the suite on every path and device that was asked for, the suite twice where the
/// time allows, so that what a machine does minutes later is in the noise of a cell. A cell that would take too
/// long for what is left of the time is left out, and what cannot run is, each with its reason. Nothing in the report
/// names the machine, its user or its files. Blocks. Errors: no_device, usage for a device that is not there, or where
/// no path can be measured; cancelled. A wrong result is no error: see wrong_results().
Result<Json> make_report(ReportRequest const& request);

/// A device, as reports and `garuda devices --json` list it.
Json device_json(DeviceInfo const& info);

/// Cells whose results differ from the reference or between paths, and runs that failed on a device: one sentence each.
std::vector<std::string> wrong_results(Json const& report);

/// Why paths, devices or ceilings are nowhere in the report: one sentence each.
std::vector<std::string> left_out_everywhere(Json const& report);

/// A report as a page: a file of HTML.
std::string to_page(Json const& report);

/// One line of Markdown: the machine, and its fastest join and group-by.
std::string to_markdown(Json const& report);

/// `text` without names of files: what begins with a slash is cut out.
std::string without_paths(std::string_view text);

}  // namespace garuda::report
