// The charts of one report, as the page's script takes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/results.hpp"

namespace garuda::report {

/// Captions and charts.
using Charts = std::vector<std::pair<std::string, Json>>;

/// Rows of one side of a join, rows of a group-by.
double size_of(Json const& cell);

/// The label of axes of sizes.
inline constexpr std::string_view kSizes = "rows (of each side of a join)";

/// A chart of lines with a logarithmic y axis; `x_log`: base of the x axis, 0 where it is linear.
Json lines_chart(std::string_view x, int x_log, std::string_view y, Json series);

/// Rows a second by size, and times as fast as the CPU path.
Charts growth_charts(Results const& results);

/// The sizes from which on each path is faster than the CPU path: a sentence an operator that has another path.
std::vector<std::string> crossovers(Results const& results);

/// Rows a second against bytes a row, one chart a measured device and the host: below a sloping line where bytes bound,
/// below a level one where accesses do.
Charts rooflines(Results const& results);

/// Time by phase of the largest join and group-by that most columns have.
Charts phase_charts(Results const& results);

}  // namespace garuda::report
