#include "report/report_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bench/record.hpp"
#include "report/suite.hpp"

namespace garuda::report {
namespace {

using bench::format_ns;

constexpr std::array kOperators{"join", "group-by"};

int color_of(Results const& results, Column const& column) {
  return static_cast<int>(std::ranges::find(results.columns(), column) - results.columns().begin());
}

std::string id_of(Json const& cell) { return cell.at("id").get<std::string>(); }

/// The cells of an operator that differ by size alone.
std::vector<Json const*> growth_of(Results const& results, std::string_view op) {
  std::vector<Json const*> cells;
  for (auto const& cell : results.report().at("cells"))
    if (cell.at("op") == op && cell.at("series") == kGrowth) cells.push_back(&cell);
  return cells;
}

/// A line a column, of what `point` adds for (cell, result, result of the CPU path or null).
template <class Point>
Json lines(Results const& results, std::string_view op, Point const& point) {
  auto series = Json::array();
  for (auto const& column : results.columns()) {
    auto points = Json::array();
    for (auto const* const cell : growth_of(results, op))
      if (auto const* const result = results.find(id_of(*cell), column))
        point(*cell, *result, results.on_cpu(id_of(*cell)), points);
    if (!points.empty())
      series.push_back(
          {{"name", results.label(column)}, {"color", color_of(results, column)}, {"points", std::move(points)}});
  }
  return series;
}

Json rates_by_size(Results const& results, std::string_view op) {
  return lines(results, op, [](Json const& cell, Json const& result, Json const*, Json& points) {
    points.push_back({size_of(cell), result.at("rows_per_s"),
                      fmt::format("{}, {}rows/s", format_ns(median_of(result)), rate_text(result))});
  });
}

Json ratios_to_cpu(Results const& results, std::string_view op) {
  return lines(results, op, [](Json const& cell, Json const& result, Json const* cpu, Json& points) {
    if (cpu == nullptr || cpu == &result) return;
    auto const times = static_cast<double>(median_of(*cpu)) / static_cast<double>(median_of(result));
    points.push_back({size_of(cell), times, fmt::format("{:.3g} × the CPU path", times)});
  });
}

/// A level line at 1 over all sizes of `ratios`.
Json cpu_line(Json const& ratios) {
  double least = HUGE_VAL;
  double most = 0;
  for (auto const& one : ratios)
    for (auto const& point : one.at("points")) {
      least = std::min(least, point.at(0).get<double>());
      most = std::max(most, point.at(0).get<double>());
    }
  return {{"name", "the CPU path"}, {"color", 0}, {"style", "rule"}, {"points", {{least, 1}, {most, 1}}}};
}

/// The first size from which on all points are above 1; 0 for none.
double crossover_of(Json const& points) {
  double from = 0;
  for (auto const& point : points) {
    bool const is_faster = point.at(1).get<double>() > 1;
    if (!is_faster) from = 0;
    if (is_faster && from == 0) from = point.at(0).get<double>();
  }
  return from;
}

/// A bound: its rate among the ceilings, and whether rows a second are that over bytes a row, or over one.
struct Roof {
  char const* rate;
  char const* name;
  int color;
  double factor;
  bool slopes;
};
constexpr std::array<Roof, 6> kRoofs{{{"copy", "copies", 5, 2, true},
                                      {"streamed_bytes", "copies on the device", 5, 1, true},
                                      {"team_upload", "upload", 6, 1, true},
                                      {"random_reads", "one random read a row", 7, 1, false},
                                      {"random_points", "one random point a row", 1, 1, false},
                                      {"atomics", "one atomic a row", 4, 1, false}}};

/// One dot a cell.
Json dots_of(Results const& results, Column const& column) {
  auto points = Json::array();
  for (auto const& cell : results.report().at("cells"))
    if (auto const* const result = results.find(id_of(cell), column))
      points.push_back({result->at("bytes").get<double>() / cell.at("rows").get<double>(), result->at("rows_per_s"),
                        fmt::format("{}, {}rows/s", cell.at("title").get<std::string>(), rate_text(*result))});
  return {{"name", results.label(column)},
          {"color", color_of(results, column)},
          {"style", "dots"},
          {"points", std::move(points)}};
}

/// The largest cell of those that most columns have; null without cells.
Json const* shared_cell(Results const& results, std::string_view op) {
  Json const* chosen = nullptr;
  std::ptrdiff_t most = 0;
  for (auto const* const cell : growth_of(results, op)) {
    auto const count = std::ranges::count_if(
        results.columns(), [&](Column const& column) { return results.find(id_of(*cell), column) != nullptr; });
    if (count < most) continue;
    most = count;
    chosen = cell;
  }
  return chosen;
}

/// The phases that take most of all columns together, each with its colour; the others share the last one.
std::map<std::string, int> colors_of_phases(std::vector<Json const*> const& found) {
  constexpr std::size_t kMostShown = 7;
  std::map<std::string, double> totals;
  for (auto const* const result : found)
    for (auto const& [name, ns] : result->at("phases").items()) totals[name] += ns.get<double>();
  std::vector<std::pair<double, std::string>> order;
  for (auto const& [name, ns] : totals) order.emplace_back(-ns, name);
  std::ranges::sort(order);
  std::map<std::string, int> colors;
  for (std::size_t i = 0; i < std::min(order.size(), kMostShown); ++i)
    colors[order[i].second] = static_cast<int>(i) + 1;
  return colors;
}

Json phases_of(Json const& result, std::map<std::string, int> const& colors) {
  constexpr double kNsPerMs = 1e6;
  auto parts = Json::array();
  double others = 0;
  for (auto const& [name, ns] : result.at("phases").items()) {
    auto const color = colors.find(name);
    if (color == colors.end()) {
      others += ns.get<double>() / kNsPerMs;
    } else {
      parts.push_back({name, ns.get<double>() / kNsPerMs, color->second});
    }
  }
  if (others > 0) parts.push_back({"others", others, 0});
  return parts;
}

}  // namespace

Json lines_chart(std::string_view x, int x_log, std::string_view y, Json series) {
  return {{"kind", "lines"},
          {"x", {{"label", x}, {"log", x_log}}},
          {"y", {{"label", y}, {"log", 10}}},
          {"series", std::move(series)}};
}

double size_of(Json const& cell) { return cell.at("rows").get<double>() / (cell.at("op") == "join" ? 2 : 1); }

Charts growth_charts(Results const& results) {
  Charts charts;
  for (auto const* const op : kOperators) {
    if (auto rates = rates_by_size(results, op); !rates.empty())
      charts.emplace_back(fmt::format("{}: rows a second by size", op),
                          lines_chart(kSizes, 2, "rows/s", std::move(rates)));
    auto ratios = ratios_to_cpu(results, op);
    if (ratios.empty()) continue;
    ratios.push_back(cpu_line(ratios));
    charts.emplace_back(fmt::format("{}: times as fast as the CPU path", op),
                        lines_chart(kSizes, 2, "×", std::move(ratios)));
  }
  return charts;
}

std::vector<std::string> crossovers(Results const& results) {
  std::vector<std::string> sentences;
  for (auto const* const op : kOperators) {
    std::string text;
    for (auto const& one : ratios_to_cpu(results, op)) {
      auto const from = crossover_of(one.at("points"));
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", one.at("name").get<std::string>(),
                          from == 0 ? "never" : fmt::format("from 2^{:.0f} rows on", std::log2(from)));
    }
    if (!text.empty()) sentences.push_back(fmt::format("Faster than the CPU path, {}: {}.", op, text));
  }
  return sentences;
}

Charts rooflines(Results const& results) {
  Charts charts;
  for (auto const& ceiling : results.report().at("ceilings")) {
    std::optional<std::size_t> device;
    if (!ceiling.at("device").is_null()) device = ceiling.at("device").get<std::size_t>();
    auto series = Json::array();
    double least = HUGE_VAL;
    double most = 0;
    std::string name = "the CPU path";
    for (auto const& column : results.columns()) {
      if (column.device != device) continue;
      if (device) name = results.device_name(column);
      series.push_back(dots_of(results, column));
      for (auto const& point : series.back().at("points")) {
        least = std::min(least, point.at(0).get<double>());
        most = std::max(most, point.at(0).get<double>());
      }
    }
    if (series.empty()) continue;
    for (auto const& roof : kRoofs) {
      if (!ceiling.at("rates").contains(roof.rate)) continue;
      auto const rate = ceiling.at("rates").at(roof.rate).at("value").get<double>() * roof.factor;
      series.push_back(
          {{"name", roof.name},
           {"color", roof.color},
           {"style", "rule"},
           {"points", {{least, roof.slopes ? rate / least : rate}, {most, roof.slopes ? rate / most : rate}}}});
    }
    charts.emplace_back(fmt::format("Roofline of {}", name),
                        lines_chart("bytes of input and result a row", 2, "rows/s", std::move(series)));
  }
  return charts;
}

Charts phase_charts(Results const& results) {
  Charts charts;
  for (auto const* const op : kOperators) {
    auto const* const cell = shared_cell(results, op);
    if (cell == nullptr) continue;
    std::vector<Json const*> found;
    for (auto const& column : results.columns())
      if (auto const* const result = results.find(id_of(*cell), column)) found.push_back(result);
    auto const colors = colors_of_phases(found);
    auto rows = Json::array();
    for (auto const* const result : found)
      if (auto parts = phases_of(*result, colors); !parts.empty())
        rows.push_back({{"name", results.label(column_of(*result))}, {"parts", std::move(parts)}});
    charts.emplace_back(cell->at("title").get<std::string>(),
                        Json{{"kind", "bars"}, {"unit", "ms"}, {"stacked", true}, {"rows", std::move(rows)}});
  }
  return charts;
}

}  // namespace garuda::report
