#include "report/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/record.hpp"
#include "report/report.hpp"
#include "report/suite.hpp"

namespace garuda::report {

Column column_of(Json const& result) {
  Column column{result.at("path").get<std::string>(), result.at("mode").get<std::string>(), std::nullopt};
  if (!result.at("device").is_null()) column.device = result.at("device").get<std::size_t>();
  return column;
}

std::uint64_t median_of(Json const& result) { return result.at("median_ns").get<std::uint64_t>(); }

std::size_t visits_of(Json const& result) { return result.contains("visits") ? result.at("visits").size() : 1; }

std::uint64_t spread_of(Json const& result) {
  auto const deviation = result.at("mad_ns").get<std::uint64_t>();
  if (visits_of(result) == 1) return deviation;
  std::vector<std::uint64_t> medians;
  for (auto const& visit : result.at("visits")) medians.push_back(median_of(visit));
  auto const [least, most] = std::ranges::minmax(medians);
  return std::max(deviation, (most - least) / 2);
}

std::string rate_text(Json const& result) { return bench::format_rate(result.at("rows_per_s").get<double>()); }

std::string share_text(Json const& result) {
  if (result.at("share").is_null()) return {};
  return fmt::format(", {:.0f} % of {}", 100 * result.at("share").get<double>(),
                     result.at("ceiling").get<std::string>());
}

Results::Results(Json const& report) : report_(report) {
  for (auto const& result : report.at("results")) {
    auto column = column_of(result);
    if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(std::move(column));
  }
  std::ranges::stable_sort(columns_, {}, [](Column const& column) { return column.device ? *column.device + 1 : 0; });
  for (auto const& column : columns_)
    has_several_devices_ = has_several_devices_ || (column.device && column.device != columns_.back().device);
}

Json const* Results::find(std::string_view cell, Column const& column) const {
  for (auto const& result : report_.at("results"))
    if (result.at("cell") == cell && column_of(result) == column) return &result;
  return nullptr;
}

Json const* Results::fastest(std::string_view op) const {
  Json const* best = nullptr;
  for (auto const& cell : report_.at("cells")) {
    if (cell.at("op") != op || cell.at("series") != kGrowth) continue;
    for (auto const& column : columns_) {
      auto const* const result = find(cell.at("id").get<std::string>(), column);
      bool const is_better = result != nullptr && (best == nullptr || result->at("rows_per_s").get<double>() >
                                                                          best->at("rows_per_s").get<double>());
      if (is_better) best = result;
    }
  }
  return best;
}

std::string Results::title(std::string_view cell) const {
  for (auto const& one : report_.at("cells"))
    if (one.at("id") == cell) return one.at("title").get<std::string>();
  return std::string(cell);
}

std::string Results::label(Column const& column) const {
  auto text = column.path + (column.is_resident() ? ", resident" : "");
  return column.device && has_several_devices_ ? fmt::format("{} #{}", text, *column.device) : text;
}

std::string Results::device_name(Column const& column) const {
  if (!column.device) return report_.at("host").at("processor").get<std::string>();
  return report_.at("devices").at(*column.device).at("name").get<std::string>();
}

std::string Results::device_names(std::string_view separator, bool with_host) const {
  std::vector<std::string> names;
  for (auto const& column : columns_)
    if (auto name = device_name(column); (column.device || with_host) && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  return fmt::format("{}", fmt::join(names, separator));
}

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
