// What of a report is said in a line.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "bench/record.hpp"
#include "report/report.hpp"
#include "report/results.hpp"

namespace garuda::report {
namespace {

/// The fastest measured result of the operation among the cells that differ by size alone, or null.
Json const* fastest(Results const& results, std::string_view op) {
  Json const* best = nullptr;
  for (auto const& cell : results.report().at("cells")) {
    if (cell.at("op") != op || cell.at("series") != kGrowth) continue;
    for (auto const& column : results.columns())
      if (auto const* const result = results.find(cell.at("id").get<std::string>(), column))
        if (best == nullptr || result->at("rows_per_s").get<double>() > best->at("rows_per_s").get<double>())
          best = result;
  }
  return best;
}

std::string title_of(Json const& report, std::string_view cell) {
  for (auto const& one : report.at("cells"))
    if (one.at("id") == cell) return one.at("title").get<std::string>();
  return std::string(cell);
}

}  // namespace

std::vector<std::string> wrong_results(Json const& report) {
  std::vector<std::string> wrong;
  std::map<std::string, std::string> digests;
  for (auto const& result : report.at("results")) {
    auto const cell = result.at("cell").get<std::string>();
    auto const digest = result.at("digest").get<std::string>();
    if (auto const [first, is_new] = digests.try_emplace(cell, digest); !is_new && first->second != digest)
      wrong.push_back(fmt::format("the results of {} differ between paths", cell));
  }
  for (auto const& one : report.at("left_out"))
    if (one.at("failed").get<bool>())
      wrong.push_back(fmt::format("{} on {}: {}", one.at("cell").get<std::string>(),
                                  one.at("target").get<std::string>(), one.at("reason").get<std::string>()));
  return wrong;
}

std::string to_markdown(Json const& report) {
  Results const results(report);
  std::string line =
      fmt::format("| garuda {}, suite {} |", report.at("garuda").get<std::string>(), report.at("suite").get<int>());
  std::string devices;
  for (auto const& column : results.columns()) {
    auto const name = results.device_name(column);
    if (devices.find(name) == std::string::npos) devices += (devices.empty() ? " " : "; ") + name;
  }
  std::ranges::replace(devices, '|', '/');
  line += devices + " |";
  for (auto const* const op : {"join", "group-by"}) {
    auto const* const best = fastest(results, op);
    if (best == nullptr) {
      line += " – |";
      continue;
    }
    auto const cell = best->at("cell").get<std::string>();
    line += fmt::format(" {}: {}rows/s, {}", title_of(report, cell), rate_text(*best), results.label(column_of(*best)));
    if (!best->at("share").is_null())
      line += fmt::format(", {:.0f} % of {}", 100 * best->at("share").get<double>(),
                          best->at("ceiling").get<std::string>());
    line += " |";
  }
  auto const wrong = wrong_results(report).size();
  return line + (wrong == 0 ? fmt::format(" {} results, same bits |", report.at("results").size())
                            : fmt::format(" {} WRONG RESULTS |", wrong));
}

}  // namespace garuda::report
