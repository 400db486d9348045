// The summary of a report in a line.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/record.hpp"
#include "report/report.hpp"
#include "report/results.hpp"

namespace garuda::report {
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

std::vector<std::string> left_out_everywhere(Json const& report) {
  std::vector<std::string> reasons;
  for (auto const& one : report.at("left_out"))
    if (one.at("cell").is_null() && one.at("target").is_null()) reasons.push_back(one.at("reason").get<std::string>());
  return reasons;
}

std::string to_markdown(Json const& report) {
  Results const results(report);
  std::string line =
      fmt::format("| garuda {}, suite {} |", report.at("garuda").get<std::string>(), report.at("suite").get<int>());
  auto devices = " " + results.device_names("; ", true);
  std::ranges::replace(devices, '|', '/');
  line += devices + " |";
  for (auto const* const op : {"join", "group-by"}) {
    auto const* const best = results.fastest(op);
    if (best == nullptr) {
      line += " – |";
      continue;
    }
    auto const cell = best->at("cell").get<std::string>();
    line += fmt::format(" {}: {}rows/s, {}{}", results.title(cell), rate_text(*best), results.label(column_of(*best)),
                        share_text(*best));
    line += " |";
  }
  auto const wrong = wrong_results(report).size();
  return line + (wrong == 0 ? fmt::format(" {} results, same bits |", report.at("results").size())
                            : fmt::format(" {} WRONG RESULTS |", wrong));
}

}  // namespace garuda::report
