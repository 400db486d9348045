// Reports side by side as a page.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/record.hpp"
#include "report/comparison.hpp"
#include "report/page/page.hpp"
#include "report/report_charts.hpp"
#include "report/suite.hpp"

namespace garuda::report {
namespace {

std::string path_of(ComparedRow const& row) { return row.path + (row.mode == "resident" ? ", resident" : ""); }

/// A space that keeps a sign on the line of its number.
constexpr std::string_view kNoBreak = "\u00a0";

Field field_of(Entry const& entry, bool is_first) {
  if (entry.result == nullptr) return {"–", "", "number"};
  auto const& result = *entry.result;
  Field field{bench::format_ns(median_of(result)), fmt::format("{}rows/s{}", rate_text(result), share_text(result)),
              "number"};
  if (!result.at("share").is_null()) field.share = result.at("share").get<double>();
  if (!is_first) field.text += fmt::format(" ({:.2f}{}×)", entry.times, kNoBreak);
  if (entry.change == Change::faster) field.text += fmt::format("{}▲", kNoBreak), field.style += " good";
  if (entry.change == Change::slower) field.text += fmt::format("{}▼", kNoBreak), field.style += " bad";
  if (entry.differs) {
    field.text += " OTHER BITS";
    field.style = "number bad";
  }
  return field;
}

/// Lines of rows a second by size, a side a line.
Json growth_chart(Comparison const& comparison, std::vector<NamedReport> const& reports, std::string const& op,
                  std::string const& path, std::string const& mode) {
  std::map<std::string, double> sizes;
  for (auto const& one : reports)
    for (auto const& cell : one.report.at("cells"))
      if (cell.at("series") == kGrowth && cell.at("op") == op) sizes[cell.at("id").get<std::string>()] = size_of(cell);
  auto series = Json::array();
  for (std::size_t s = 0; s < comparison.sides.size(); ++s) {
    auto points = Json::array();
    for (auto const& row : comparison.rows) {
      auto const* const result = row.entries[s].result;
      if (result == nullptr || row.path != path || row.mode != mode || !sizes.contains(row.cell)) continue;
      points.push_back({sizes[row.cell], result->at("rows_per_s"), bench::format_ns(median_of(*result))});
    }
    if (!points.empty())
      series.push_back({{"name", comparison.sides[s].title}, {"color", s}, {"points", std::move(points)}});
  }
  return lines_chart(kSizes, 2, "rows/s", std::move(series));
}

void add_sides(Page& page, Comparison const& comparison, std::vector<NamedReport> const& reports) {
  PageTable table{{"report", "garuda", "made", "processor", "devices"}, {}};
  for (auto const& one : reports) {
    Results const results(one.report);
    auto const devices = results.device_names(", ", false);
    table.rows.push_back({{one.name},
                          {one.report.at("garuda").get<std::string>()},
                          {one.report.at("date").get<std::string>()},
                          {one.report.at("host").at("processor").get<std::string>()},
                          {devices.empty() ? "none" : devices}});
  }
  page.table(table);
  if (auto const different = comparison.count_different_bits(); different > 0)
    page.paragraph(fmt::format("{} results have other bits than the first report's.", different), "bad");
  else
    page.paragraph("Every result that several reports have has the same bits.", "good");
  page.paragraph(fmt::format(
      "Beyond noise (4.5 errors of the medians, by what lies between visits; a tenth; 0.1 ms; the least times differ "
      "too) {} are faster ▲ and {} slower ▼ than the first that has them; × are times of its time. Bars: share of the "
      "ceiling that each machine measured of itself.",
      comparison.count(Change::faster), comparison.count(Change::slower)));
  if (auto const sentence = one_visit_sentence(comparison); !sentence.empty()) page.paragraph(sentence);
}

void add_charts(Page& page, Comparison const& comparison, std::vector<NamedReport> const& reports) {
  std::vector<std::pair<std::string, Json>> charts;
  for (auto const* const op : {"join", "group-by"})
    for (auto const& [path, mode] :
         {std::pair{"cpu", "end-to-end"}, std::pair{"graphics", "end-to-end"}, std::pair{"compute", "end-to-end"},
          std::pair{"compute", "resident"}, std::pair{"cuda", "end-to-end"}}) {
      auto chart = growth_chart(comparison, reports, op, path, mode);
      if (!chart.at("series").empty()) charts.emplace_back(fmt::format("{}, {}, {}", op, path, mode), std::move(chart));
    }
  page.charts(std::move(charts));
}

void add_rows(Page& page, Comparison const& comparison) {
  PageTable table{{"cell"}, {}};
  for (auto const& side : comparison.sides) table.header.push_back(side.title);
  for (auto const& row : comparison.rows) {
    std::vector<Field> fields{{row.title, path_of(row)}};
    bool is_first = true;
    for (auto const& entry : row.entries) {
      fields.push_back(field_of(entry, is_first));
      is_first = is_first && entry.result == nullptr;
    }
    table.rows.push_back(std::move(fields));
  }
  page.table(table);
}

}  // namespace

std::string to_page(Comparison const& comparison, std::vector<NamedReport> const& reports) {
  std::string names;
  for (auto const& one : reports) names += (names.empty() ? "" : ", ") + one.name;
  Page page;
  page.title("garuda reports side by side");
  add_sides(page, comparison, reports);
  page.heading("Growth");
  add_charts(page, comparison, reports);
  page.heading("All measurements");
  add_rows(page, comparison);
  return page.finish("garuda reports: " + names);
}

}  // namespace garuda::report
