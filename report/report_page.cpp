// One report as a page.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "bench/record.hpp"
#include "report/page/page.hpp"
#include "report/report.hpp"
#include "report/report_charts.hpp"
#include "report/results.hpp"

namespace garuda::report {
namespace {

using bench::format_ns;
using bench::format_rate;

std::string text_of(Json const& value) {
  if (value.is_null()) return "not known";
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string mebibytes(Json const& bytes) {
  return bytes.is_null() ? "not known" : fmt::format("{:.0f} MiB", bytes.get<double>() / (1 << 20));
}

/// Rates that bound an operator, and what they are called.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kCeilings{{
    {"copy", "copies, bytes copied"},
    {"streamed_bytes", "copies, bytes read and written"},
    {"random_reads", "random reads"},
    {"atomics", "atomic additions at random"},
    {"random_points", "points drawn at random"},
    {"ordered_points", "points drawn in order"},
    {"cleared_pixels", "fills"},
    {"team_upload", "bus, up"},
    {"team_download", "bus, down"},
}};

class ReportPage {
 public:
  explicit ReportPage(Json const& report) : report_(report), results_(report) {}

  std::string make() {
    top();
    growth();
    grid();
    ceilings();
    phases();
    planner();
    environment();
    left_out();
    return page_.finish(fmt::format("garuda report: {}", subject()));
  }

 private:
  /// The devices, or the processor where there are none.
  std::string subject() const {
    auto const names = results_.device_names(", ", results_.columns().size() == 1);
    return names.empty() ? "nothing measured" : names;
  }

  void top() {
    page_.title(subject());
    page_.paragraph(fmt::format("garuda {}, {}. {} report, suite {}, made in {:.0f} s.", text_of(report_.at("garuda")),
                                text_of(report_.at("date")), text_of(report_.at("thoroughness")),
                                report_.at("suite").get<int>(), report_.at("seconds").get<double>()),
                    "lead");
    auto const wrong = wrong_results(report_);
    for (auto const& one : wrong) page_.paragraph(one, "bad");
    if (wrong.empty())
      page_.paragraph(
          fmt::format("Same bits: {} results of {} joins and group-bys, each compared whole with a reference, "
                      "have the same digest on every path.",
                      report_.at("results").size(), report_.at("cells").size()),
          "good");
    bool const has_device =
        std::ranges::any_of(results_.columns(), [](Column const& column) { return column.device.has_value(); });
    if (!has_device) page_.paragraph("Only the CPU path was measured; all others need a GPU with a Vulkan driver.");
    std::vector<std::pair<std::string, std::string>> tiles;
    for (auto const* const op : {"join", "group-by"}) add_tiles(op, tiles);
    page_.tiles(tiles);
  }

  /// Rows a second at most, and against the CPU path.
  void add_tiles(std::string_view op, std::vector<std::pair<std::string, std::string>>& tiles) const {
    auto const* const best = results_.fastest(op);
    if (best == nullptr) return;
    tiles.emplace_back(rate_text(*best) + "rows/s", fmt::format("{}, {}", results_.title(text_of(best->at("cell"))),
                                                                results_.label(column_of(*best))));
    auto const* const cpu = results_.on_cpu(text_of(best->at("cell")));
    if (cpu != nullptr && cpu != best)
      tiles.emplace_back(
          fmt::format("{:.3g} ×", static_cast<double>(median_of(*cpu)) / static_cast<double>(median_of(*best))),
          "as fast as the CPU path there");
  }

  void growth() {
    page_.heading("Growth, and where a GPU pays");
    for (auto const& sentence : crossovers(results_)) page_.paragraph(sentence);
    page_.charts(growth_charts(results_));
  }

  void grid() {
    page_.heading("All cells");
    page_.paragraph(
        "Median ± median absolute deviation, or half of what lies between two visits where that is more; rows of all "
        "inputs a second; the share of what copying the same bytes "
        "would "
        "reach (bus: to and from the device), drawn below. The fastest is bold. Below the name: digest of the result.");
    page_.paragraph(visits_sentence());
    PageTable table{{"cell"}, {}};
    for (auto const& column : results_.columns()) table.header.push_back(results_.label(column));
    for (auto const& cell : report_.at("cells")) {
      auto const id = text_of(cell.at("id"));
      std::string digest;
      std::uint64_t best = 0;
      for (auto const& column : results_.columns()) {
        auto const* const result = results_.find(id, column);
        if (result == nullptr) continue;
        digest = text_of(result->at("digest"));
        best = best == 0 ? median_of(*result) : std::min(best, median_of(*result));
      }
      std::vector<Field> row{
          {text_of(cell.at("title")), fmt::format("{} rows, {}…", cell.at("rows_out").get<std::uint64_t>(),
                                                  digest.substr(digest.find(':') + 1, 8))}};
      for (auto const& column : results_.columns()) row.push_back(result_field(results_.find(id, column), best));
      table.rows.push_back(std::move(row));
    }
    page_.table(table);
    PageTable digests{{"cell", "result rows : digest"}, {}};
    std::map<std::string, bool> seen;
    for (auto const& result : report_.at("results"))
      if (seen.try_emplace(text_of(result.at("cell")), true).second)
        digests.rows.push_back({{text_of(result.at("cell"))}, {text_of(result.at("digest")), "", "code"}});
    page_.folded("Digests", digests);
  }

  std::string visits_sentence() const {
    auto const& results = report_.at("results");
    auto const once = std::ranges::count_if(results, [](Json const& result) { return visits_of(result) == 1; });
    if (once == 0) return "Each was measured twice, the second time after all others.";
    return fmt::format(
        "{} of {} were measured once: the time did not allow a second visit, so that drift of the machine is not in "
        "their noise.",
        once, results.size());
  }

  static Field result_field(Json const* result, std::uint64_t best) {
    if (result == nullptr) return {"–", "", "number"};
    Field field{fmt::format("{} ± {}", format_ns(median_of(*result)), format_ns(spread_of(*result))),
                fmt::format("{}rows/s{}", rate_text(*result), share_text(*result)),
                median_of(*result) == best ? "number best" : "number"};
    if (!result->at("share").is_null()) field.share = result->at("share").get<double>();
    return field;
  }

  void ceilings() {
    page_.heading("Ceilings");
    if (report_.at("ceilings").empty()) {
      page_.paragraph("Not measured; see what was left out.");
      return;
    }
    page_.paragraph("Each the fastest of some runs: what nothing on this machine can exceed.");
    auto const all = rates_table();
    PageTable named{all.header, {}};
    for (auto const& [rate, name] : kCeilings)
      for (auto row : all.rows)
        if (row.front().text == rate) {
          row.front() = {std::string(name)};
          named.rows.push_back(std::move(row));
        }
    page_.table(named);
    page_.folded("All rates that the planner prices with", all);
    page_.charts(rooflines(results_));
  }

  /// A row a rate, a column the host or a device.
  PageTable rates_table() const {
    PageTable table{{"rate"}, {}};
    std::map<std::string, std::size_t> rows;
    for (auto const& one : report_.at("ceilings")) {
      table.header.push_back(one.at("device").is_null() ? "host" : device_at(one.at("device")));
      for (auto const& [name, rate] : one.at("rates").items()) {
        auto const [row, is_new] = rows.try_emplace(name, table.rows.size());
        if (is_new) table.rows.push_back({{name}});
        auto& fields = table.rows[row->second];
        fields.resize(table.header.size(), Field{"–", "", "number"});
        auto const value = rate.at("value").get<double>();
        auto const unit = text_of(rate.at("unit"));
        fields.back() = {unit == "ns" ? format_ns(static_cast<std::uint64_t>(value)) : format_rate(value) + unit,
                         rate.contains("at") ? "at " + text_of(rate.at("at")) : "", "number"};
      }
    }
    for (auto& row : table.rows) row.resize(table.header.size(), Field{"–", "", "number"});
    return table;
  }

  std::string device_at(Json const& index) const {
    return text_of(report_.at("devices").at(index.get<std::size_t>()).at("name"));
  }

  void phases() {
    page_.heading("Phases");
    page_.paragraph("Time by phase, summed over what runs side by side, so that bars may be longer than the run.");
    page_.charts(phase_charts(results_));
  }

  void planner() {
    page_.heading("What the planner takes");
    page_.paragraph(
        "Regret: the time of its choice over that of the best path measured (CUDA, which asks for permission, aside).");
    PageTable table{{"cell", "choice", "estimate", "regret"}, {}};
    for (auto const& plan : report_.at("plans")) {
      bool const is_known = !plan.at("regret").is_null();
      auto const regret = is_known ? plan.at("regret").get<double>() : 0;
      table.rows.push_back(
          {{text_of(plan.at("cell"))},
           {text_of(plan.at("path")), plan.at("path") == "cpu" ? "" : text_of(plan.at("device"))},
           {format_ns(static_cast<std::uint64_t>(plan.at("estimated_ns").get<double>())), "", "number"},
           {is_known ? fmt::format("{:.2f}", regret) : "not measured", "", regret > 1.5 ? "number bad" : "number"}});
    }
    page_.table(table);
  }

  void environment() {
    page_.heading("Environment");
    PageTable host{{"host", ""}, {}};
    for (auto const& [name, value] : report_.at("host").items()) {
      auto const shown = name == "memory_bytes"                               ? mebibytes(value)
                         : name == "hottest_celsius" && value.at(0).is_null() ? "not known"
                                                                              : text_of(value);
      host.rows.push_back({{name}, {shown}});
    }
    page_.table(host);
    for (auto const& device : report_.at("devices")) {
      PageTable table{{fmt::format("device {}", device.at("index").get<int>()), text_of(device.at("name"))}, {}};
      for (auto const* const name : {"api", "api_version", "driver", "kind", "unified_memory", "usable", "reason"})
        table.rows.push_back({{name}, {text_of(device.at(name))}});
      table.rows.push_back({{"memory"}, {mebibytes(device.at("memory_bytes"))}});
      if (device.contains("heaps"))
        for (auto const& heap : device.at("heaps"))
          table.rows.push_back({{"heap"},
                                {fmt::format("{}{}, budget {}", mebibytes(heap.at("bytes")),
                                             heap.at("device_local").get<bool>() ? ", device-local" : "",
                                             mebibytes(heap.at("budget_bytes")))}});
      if (device.contains("subgroups"))
        table.rows.push_back(
            {{"subgroups"},
             {fmt::format("{} ({} to {})", text_of(device.at("subgroups").at("size")),
                          text_of(device.at("subgroups").at("least")), text_of(device.at("subgroups").at("most")))}});
      if (auto const us = longest_submission_us(device.at("index").get<std::size_t>()); us > 0)
        table.rows.push_back({{"longest submission"}, {bench::format_ns(us * 1000)}});
      for (auto const& missing : device.at("missing_optional")) table.rows.push_back({{"missing"}, {text_of(missing)}});
      page_.table(table);
      PageTable details{{"limit or feature", ""}, {}};
      for (auto const& [name, value] : device.at("traits").items()) details.rows.push_back({{name}, {text_of(value)}});
      if (device.contains("profile")) {
        auto const& profile = device.at("profile");
        for (auto const& [name, value] : profile.at("properties").at("VkPhysicalDeviceProperties").at("limits").items())
          details.rows.push_back({{name}, {text_of(value)}});
        for (auto const& [structure, features] : profile.at("features").items())
          for (auto const& [name, value] : features.items()) details.rows.push_back({{name}, {text_of(value)}});
      }
      page_.folded("Limits and features", details);
    }
  }

  std::uint64_t longest_submission_us(std::size_t device) const {
    std::uint64_t longest = 0;
    for (auto const& result : report_.at("results"))
      if (column_of(result).device == device)
        longest = std::max(longest, result.at("longest_submission_us").get<std::uint64_t>());
    return longest;
  }

  /// Reasons that concern all cells are shown, the rest when asked for.
  void left_out() {
    page_.heading("What was left out");
    if (report_.at("left_out").empty()) {
      page_.paragraph("Nothing.");
      return;
    }
    PageTable all{{"what", "why"}, {}};
    PageTable cells{{"cell", "why"}, {}};
    for (auto const& one : report_.at("left_out")) {
      auto const cell = one.at("cell").is_null() ? std::string() : text_of(one.at("cell"));
      auto const target = one.at("target").is_null() ? std::string() : text_of(one.at("target"));
      auto what = cell + (cell.empty() || target.empty() ? "" : ": ") + target;
      bool const failed = one.at("failed").get<bool>();
      auto& table = cell.empty() || failed ? all : cells;
      table.rows.push_back({{what.empty() ? "all" : what}, {text_of(one.at("reason")), "", failed ? "bad" : ""}});
    }
    if (!all.rows.empty()) page_.table(all);
    if (!cells.rows.empty()) page_.folded(fmt::format("{} measurements", cells.rows.size()), cells);
  }

  Json const& report_;
  Results results_;
  Page page_;
};

}  // namespace

std::string to_page(Json const& report) { return ReportPage(report).make(); }

}  // namespace garuda::report
